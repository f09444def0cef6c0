//! What the chapter's mechanisms have in common, and how they become one policy.

use crate::{Ctx, Gauge, Grant, Machine, Offer, Policy, Refusal, Seen, Timestamp, Verdict};

/// A mechanism that says no, or nothing.
pub(super) trait Guard: Machine {
    /// Why the job may not come in; `None`: as far as this guard goes, it may.
    fn refusal(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Option<Refusal>;

    /// No guard had anything against the job. What is written into the grant comes back with its end.
    fn admitted(&mut self, job: &Offer, grant: &mut Grant, cx: &mut Ctx<'_>) {
        let _ = (job, grant, cx);
    }
}

/// Guards in order: the first that says no decides, and those after it are not asked.
#[derive(Debug)]
pub(super) struct Guarded {
    guards: Vec<Box<dyn Guard>>,
}

impl Guarded {
    /// These, in this order. Without any, everything comes in.
    pub(super) fn new(guards: Vec<Box<dyn Guard>>) -> Self {
        Self { guards }
    }
}

impl Machine for Guarded {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        for guard in &mut self.guards {
            guard.observe(seen, cx);
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.guards.iter().filter_map(|guard| guard.next_wake()).min()
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        for guard in &mut self.guards {
            if guard.next_wake().is_some_and(|at| at <= cx.now) {
                guard.wake(cx);
            }
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        for guard in &self.guards {
            guard.gauges(visit);
        }
    }
}

impl Policy for Guarded {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        for guard in &mut self.guards {
            if let Some(refusal) = guard.refusal(job, cx) {
                return Verdict::Refuse(refusal);
            }
        }
        let mut grant = Grant::default();
        for guard in &mut self.guards {
            guard.admitted(job, &mut grant, cx);
        }
        Verdict::Admit(grant)
    }
}
