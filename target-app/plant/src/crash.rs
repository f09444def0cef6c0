//! The crash of a task, at a set time or when its memory passes its limit, and its restart with an empty memory (Google SRE, chapter 21,
//! Conclusions: "tasks eventually run out of memory and crash").

use controllers::{JobId, Outcome};
use service_core::{load_report::LoadMeter, request::LedgerEnding, synthetic::TokenBatch};
use spec::plant::{PlantSpec, ms};
use workloads::sim::SimRequest;

use super::{
    context::PlantContext,
    cpu::Task,
    event::Event,
    fault::Crashes,
    in_flight::{PlannedAnswer, PolicingQueue, is_check},
    listener::State,
    world::Plant,
};

impl Plant {
    /// The memory in use, thousands of bytes: of open connections, and of requests from their reading to their answer.
    pub(super) fn memory_kb(&self) -> f64 {
        let PlantSpec { connection_kb, request_kb, .. } = self.costs;
        let requests = self.requests.in_flight.len().saturating_sub(self.crashes().lost);
        self.listener.conns.len() as f64 * connection_kb + requests as f64 * request_kb
    }

    pub(super) fn crashes(&self) -> &Crashes {
        &self.faults.crashes
    }

    /// Lets the task die if its memory has passed the limit.
    pub(super) fn look_at_memory(&mut self, cx: &mut dyn PlantContext) {
        let PlantSpec { memory_mb, restart_ms, .. } = self.costs;
        if restart_ms > 0.0 && memory_mb > 0.0 && !self.crashes().is_down() && self.memory_kb() > memory_mb * 1e3 {
            self.crash(cx);
            cx.plan(cx.now() + ms(restart_ms), Event::Restart);
        }
    }

    /// Lets the task die at the beginning of a fault, and be back at its end.
    pub(super) fn crash_fault(&mut self, begins: bool, cx: &mut dyn PlantContext) {
        if begins { self.crash(cx) } else { self.restart(cx) }
    }

    /// All connections break, all work is lost. Requests that wait for a worker end by way of their sites, so that these
    /// count each job once. A task that is down stays down until the last of its causes is over.
    fn crash(&mut self, cx: &mut dyn PlantContext) {
        self.faults.crashes.causes += 1;
        if self.crashes().causes > 1 {
            return;
        }
        self.faults.crashes.many += 1;
        let PolicingQueue { waiting, .. } = std::mem::take(&mut self.requests.policing);
        let read = self.cpu.clear(cx.now()).into_iter().filter_map(|task| match task {
            Task::Read(asked) | Task::Policing(asked) => Some(asked),
            Task::Job(_) | Task::Batch | Task::Refusal(_) | Task::Upkeep => None,
        });
        read.chain(waiting).for_each(|asked| self.lose_unread(&asked));
        self.batch.iter_mut().for_each(TokenBatch::clear);
        self.break_connections(cx);
        let ids: Vec<JobId> = self.requests.in_flight.ids().collect();
        self.faults.crashes.lost = ids.len();
        for &id in &ids {
            if let Some(request) = self.requests.in_flight.get_mut(id) {
                request.gone = true;
                request.answer = PlannedAnswer::Lost;
                request.entry.take().into_iter().for_each(|entry| entry.close(LedgerEnding::Failed));
            }
        }
        // The cluster around it ends the calls of the process that died.
        cx.crashed();
        for id in ids {
            self.lose(id, cx);
        }
    }

    fn break_connections(&mut self, cx: &mut dyn PlantContext) {
        self.listener.kernel.clear();
        if let Some(offer) = self.listener.pending.take() {
            self.sites.accept.leave(cx.now(), offer.id);
        }
        for (conn, broken) in std::mem::take(&mut self.listener.conns) {
            cx.reset(conn);
            broken.unread.iter().for_each(|asked| self.lose_unread(asked));
            let State::Open(permit) = broken.state else { continue };
            self.books(conn).disconnected();
            if let Some(permit) = permit {
                self.sites.accept.ended(cx.now(), permit, Outcome::Abandoned, None, None);
            }
        }
        self.turn_accept(cx);
    }

    /// Counts a request that had not been read whole when the process died, or arrived after that.
    pub(super) fn lose_unread(&self, asked: &SimRequest) {
        if !is_check(&asked.call) {
            self.books(asked.conn).open(asked.number).close(LedgerEnding::Failed);
        }
    }

    /// Ends a lost job, unless a stage's queue or calls to other services still have it.
    fn lose(&mut self, id: JobId, cx: &mut dyn PlantContext) {
        let Some(request) = self.requests.in_flight.get(id) else { return };
        if request.work.is_some_and(|work| !work.is_calling) {
            self.job_done(id, cx);
        } else {
            self.leave_before_stage(id, cx);
        }
    }

    /// The task is back, and knows nothing of the process before it.
    pub(super) fn restart(&mut self, cx: &mut dyn PlantContext) {
        self.faults.crashes.causes = self.crashes().causes.saturating_sub(1);
        if self.crashes().is_down() {
            return;
        }
        self.requests.load = self.requests.load.as_ref().map(|_| LoadMeter::new(cx.now()));
        self.renew(cx);
        cx.restarted();
    }
}
