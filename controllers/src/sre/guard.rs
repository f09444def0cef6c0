//! The interface of the chapter's mechanisms, and their combination to a policy.

use crate::{Ctx, Gauge, Grant, Machine, Offer, Policy, Refusal, RetryHint, Seen, Timestamp, Verdict};

use super::attempts::Attempts;

/// A mechanism that refuses a job or abstains.
pub trait Guard: Machine {
    /// The refusal of a job; `None`: the guard abstains.
    fn refusal(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Option<Refusal>;

    /// Reports that no guard refused the job. The grant returns with the job's end.
    fn admitted(&mut self, job: &Offer, grant: &mut Grant, cx: &mut Ctx<'_>) {
        let _ = (job, grant, cx);
    }
}

/// A sequence of guards: the first refusal decides, and later guards are not called.
#[derive(Debug)]
pub struct Guarded {
    guards: Vec<Box<dyn Guard>>,
    /// The source of advice on retrying, for refusals without any.
    attempts: Option<Attempts>,
}

impl Guarded {
    /// Creates the sequence. Without guards every job is admitted.
    pub fn new(guards: Vec<Box<dyn Guard>>) -> Self {
        Self { guards, attempts: None }
    }

    /// Adds advice on retrying to refusals that have none.
    pub fn advising(self, attempts: Attempts) -> Self {
        Self { attempts: Some(attempts), ..self }
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
        if let Some(attempts) = &self.attempts {
            attempts.gauges(visit);
        }
    }
}

impl Policy for Guarded {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        if let Some(attempts) = &mut self.attempts {
            attempts.count(cx.now, job);
        }
        for guard in &mut self.guards {
            if let Some(mut refusal) = guard.refusal(job, cx) {
                if let (RetryHint::Unsaid, Some(attempts)) = (refusal.retry, &mut self.attempts) {
                    refusal.retry = attempts.advice(cx.now);
                }
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
