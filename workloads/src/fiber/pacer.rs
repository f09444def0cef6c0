use std::{
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use controllers::Timestamp;

use super::{News, Watched, squad::Squad};
use crate::{
    health::{GapMeter, MachineSample, ThreadMeter},
    host::{Crew, Cut, StopFlag},
    plan::LoadPlan,
};

/// Wake-ups are gathered to multiples of this: one for each of 70 000 requests a second would take a core by itself.
const QUANTUM: Duration = Duration::from_micros(100);

/// A run that is stopped from outside drains for at most this long.
const STOP_DRAIN: Duration = Duration::from_secs(10);

/// The fiber that makes things happen when they are due.
#[derive(Debug)]
pub(super) struct Pacer {
    squad: Arc<Squad>,
    stop: StopFlag,
    tell: Sender<News>,
    drain: Duration,
}

impl Pacer {
    pub(super) fn new(squad: Arc<Squad>, plan: &LoadPlan, stop: StopFlag, tell: Sender<News>) -> Self {
        Self { squad, stop, tell, drain: plan.drain }
    }

    pub(super) fn run(self) {
        let thread = ThreadMeter::of_this_thread();
        let began = thread.sample();
        let mut gaps = GapMeter::new(began, MachineSample::take());
        let mut drain_until = None;
        let mut swept = Timestamp::ZERO;
        loop {
            let now = self.squad.clock.now();
            self.squad.crew(|crew| crew.advance(now));
            self.squad.man();
            if now.since(swept) >= GapMeter::HEARTBEAT {
                swept = now;
                self.squad.sweep(now);
                if self.close_windows(now, &mut gaps) {
                    gaps.refresh_machine(MachineSample::take());
                }
                gaps.refresh(thread.sample());
            }
            if self.is_done(now, &mut drain_until) {
                break;
            }
            self.sleep(now, &mut gaps, &thread);
        }
        self.send_home();
        // The caller may have gone; then nobody wants to know.
        let _ = self.tell.send(News::Done(Watched { began, ended: thread.sample(), gaps }));
    }

    fn sleep(&self, now: Timestamp, gaps: &mut GapMeter, thread: &ThreadMeter) {
        let heartbeat = now + GapMeter::HEARTBEAT;
        let due = self.squad.crew(Crew::next_due).unwrap_or(heartbeat);
        let at = next_quantum(due.max(now)).min(heartbeat);
        self.squad.ring_at(at, now);
        self.squad.alarm.wait();
        let rang = self.squad.rang();
        gaps.woke(rang, self.squad.clock.now(), || (thread.sample(), MachineSample::take()));
    }

    /// Whether all is over: arrivals stop with the plan or the stop flag, then what is in flight may drain, then it is cut.
    fn is_done(&self, now: Timestamp, drain_until: &mut Option<Timestamp>) -> bool {
        let cut = self.stop.cut();
        if cut > Cut::RunOn {
            self.squad.crew(Crew::end);
        }
        if !self.squad.crew(|crew| crew.is_over()) {
            return false;
        }
        let drain = if cut > Cut::RunOn { self.drain.min(STOP_DRAIN) } else { self.drain };
        let until = *drain_until.get_or_insert(now + drain);
        self.squad.crew(|crew| crew.is_drained()) || now >= until || cut == Cut::Now
    }

    /// True if a second has ended.
    fn close_windows(&self, now: Timestamp, gaps: &mut GapMeter) -> bool {
        let mut any = false;
        while let Some(mut window) = self.squad.crew(|crew| crew.next_window(now)) {
            any = true;
            window.loop_gap_ms = Some(gaps.take_recent().as_secs_f64() * 1e3);
            // The caller may have gone, as above.
            let _ = self.tell.send(News::Window(window));
        }
        any
    }

    /// Cuts off what is left in flight, and waits until every fiber has gone.
    fn send_home(&self) {
        self.squad.cut();
        self.squad.dismiss();
        while self.squad.workers() > 0 {
            let now = self.squad.clock.now();
            self.squad.ring_at(now + Duration::from_millis(1), now);
            self.squad.alarm.wait();
            // A fiber may have begun a new wait between the cut and its end.
            self.squad.cut();
        }
    }
}

fn next_quantum(at: Timestamp) -> Timestamp {
    let quantum = u64::try_from(QUANTUM.as_nanos()).unwrap_or(u64::MAX);
    Timestamp::from_nanos(at.as_nanos().div_ceil(quantum).saturating_mul(quantum))
}
