use controllers::{JobId, PeerReport, Timestamp};
use workloads::sim::{ConnId, Cx, Response};

use super::event::Event;

/// The host of a plant: the simulation itself, or a cluster that passes everything on to it.
pub trait PlantContext {
    /// The current time.
    fn now(&self) -> Timestamp;
    /// Schedules an event of the plant.
    fn plan(&mut self, at: Timestamp, event: Event);
    /// Sends an answer.
    fn reply(&mut self, conn: ConnId, response: Response);
    /// Closes a connection from the service's side.
    fn close(&mut self, conn: ConnId);
    /// Breaks a connection, as a process does that dies.
    fn reset(&mut self, conn: ConnId);
    /// Delivers a report to other plants. A plant by itself has none.
    fn report(&mut self, _: PeerReport) {}
    /// Begins the calls of a job whose own work is done. True if there are any: the job waits for `Plant::calls_ended`. A plant
    /// by itself makes no calls.
    fn calls(&mut self, _: JobId) -> bool {
        false
    }
    /// The task has crashed: its calls are to be ended, and senders to leave it out. A plant by itself has neither.
    fn crashed(&mut self) {}
    /// The task takes connections again.
    fn restarted(&mut self) {}
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

    fn reset(&mut self, conn: ConnId) {
        Cx::reset(self, conn);
    }
}
