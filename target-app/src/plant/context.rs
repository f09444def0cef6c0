use controllers::{JobId, PeerReport, Timestamp};
use workloads::sim::{ConnId, Cx, Response};

use super::world::Event;

/// What lies around a plant: the host itself, or a cluster of plants that carries everything on.
pub(super) trait PlantContext {
    /// Now.
    fn now(&self) -> Timestamp;
    /// Plans an event of the plant.
    fn plan(&mut self, at: Timestamp, event: Event);
    /// Sends an answer.
    fn reply(&mut self, conn: ConnId, response: Response);
    /// Closes a connection from the service's side.
    fn close(&mut self, conn: ConnId);
    /// Takes a report to other sites. Alone, a plant has none.
    fn report(&mut self, _: PeerReport) {}
    /// The work on a job is done but for calls to other services: true if there are any, and the job waits for them
    /// ([`super::Plant::calls_ended`]). Alone, a plant calls nobody.
    fn calls(&mut self, _: JobId) -> bool {
        false
    }
}

impl PlantContext for Cx<'_, Event> {
    fn now(&self) -> Timestamp {
        Cx::now(self)
    }

    fn plan(&mut self, at: Timestamp, event: Event) {
        Cx::plan(self, at, event);
    }

    fn reply(&mut self, conn: ConnId, response: Response) {
        Cx::reply(self, conn, response);
    }

    fn close(&mut self, conn: ConnId) {
        Cx::close(self, conn);
    }
}
