//! Saturation of a service that generates tokens: what waits there, and its memory.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use crate::{
    Criticality, Ctx, Effect, Entry, Gauge, Grant, JobId, LoadSample, Machine, Offer, Place, Policy, Reason, Refusal,
    Seen, Verdict,
    entry::{EntryKind, SampleKind, Sampling, Source, count, number, params},
    estimate::RunningJobs,
    primitives::JobQueue,
};

const CONFIG: &str = "saturationdetector/config.go";

params! {
    struct SaturationParams {
        queue: u32 = count(0..=1_000_000, 5), "saturated if more requests wait at the service", CONFIG;
        memory: f64 = number(0.01..=1.0, 0.8), "saturated if a larger share of its memory is in use", CONFIG;
    }
}

/// While the service is saturated, refuses what may be shed, and keeps the rest until it is not.
#[derive(Debug)]
struct Saturation {
    params: SaturationParams,
    running: RunningJobs,
    /// As of the last sample.
    saturated: bool,
    /// The more important first.
    held: BTreeMap<Reverse<Criticality>, JobQueue<JobId>>,
}

impl Saturation {
    fn sampled(&mut self, memory: f64, cx: &mut Ctx<'_>) {
        self.saturated = self.running.waiting(cx.in_flight) > self.params.queue || memory > self.params.memory;
        self.release(cx);
    }

    /// Lets in who waits, unless the service is saturated. One that has nothing to do is not, whatever its memory is full of.
    fn release(&mut self, cx: &mut Ctx<'_>) {
        self.saturated &= cx.in_flight > 0;
        if self.saturated {
            return;
        }
        for queue in std::mem::take(&mut self.held).into_values() {
            queue.into_jobs().for_each(|id| cx.effects.push(Effect::Release(id, Grant::default())));
        }
    }

    fn forget(&mut self, id: JobId) {
        self.held.values_mut().for_each(|queue| _ = queue.remove(id));
    }
}

impl Machine for Saturation {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        self.running.observe(seen);
        match seen {
            Seen::Load(LoadSample::Memory(share)) => self.sampled(*share, cx),
            Seen::Ended { .. } | Seen::Freed(_) | Seen::Room(_) if cx.in_flight == 0 => self.release(cx),
            Seen::Left(id) => self.forget(*id),
            _ => {}
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("saturated"), f64::from(u8::from(self.saturated)));
    }
}

impl Policy for Saturation {
    fn offer(&mut self, job: &Offer, _: &mut Ctx<'_>) -> Verdict {
        let criticality = job.tags.criticality;
        if !self.saturated {
            return Verdict::Admit(Grant::default());
        }
        if criticality < Criticality::Critical {
            return Verdict::Refuse(Refusal::new(Reason::Utilization));
        }
        self.held.entry(Reverse(criticality)).or_default().push(job.id, job.id);
        Verdict::Hold
    }
}

pub(crate) const SATURATION: Entry = Entry {
    name: "saturation",
    about: "for servers of language models: while requests wait there or its memory is full, what may be shed is refused and the rest is kept back",
    caution: "keeps important requests back for as long as it takes, so that in a long overload all of them are late",
    source: Source {
        title: "Kubernetes Gateway API Inference Extension, 2025",
        place: "pkg/epp/saturationdetector, pkg/epp/requestcontrol/admission.go",
    },
    deviations: &[
        "Priority below 0 is criticality below CRITICAL.",
        "One server: with several, the pool is saturated if all of them are.",
        "A sample is never stale (there, one older than 200 ms counts as saturated), and what is kept back has neither time-out nor bound.",
        "Memory is that of a plant's tokens; in other services it is the process's. With no request inside a service is not saturated, else a process with much memory would never be asked again.",
    ],
    places: &[Place::Stage, Place::Single],
    presets: &[],
    samples: &[Sampling { what: SampleKind::Memory, period: Duration::from_millis(50) }],
    roles: &[],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &SaturationParams, _| {
            Box::new(Saturation {
                params: params.clone(),
                running: RunningJobs::default(),
                saturated: false,
                held: BTreeMap::new(),
            })
        })
    }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Next, Seat, SiteId, Tags, Timestamp, testing};

    const AT: Timestamp = Timestamp::ZERO;

    fn offer(seat: &mut Seat<()>, id: u64, criticality: Criticality) -> &'static str {
        let tags = Tags { criticality, ..Tags::default() };
        match seat.offer(AT, &Offer { id: JobId(id), tags, entered: AT, note: None }) {
            Verdict::Admit(_) => "in",
            Verdict::Refuse(_) => "out",
            Verdict::Hold => "held",
            Verdict::ComeBack(_) => "back",
        }
    }

    fn sample(seat: &mut Seat<()>, memory: f64) -> Vec<u64> {
        seat.observe(AT, &Seen::Load(LoadSample::Memory(memory)));
        let released = std::iter::from_fn(|| match seat.poll(AT) {
            Next::Release(held, _) => Some(held.offer.id.0),
            _ => None,
        });
        released.collect()
    }

    #[test]
    fn what_may_be_shed_is_refused_and_the_rest_waits_by_importance() {
        let policy = testing::policy("saturation", &crate::Settings::new(), Duration::from_secs(1));
        let mut seat = Seat::<()>::new(SiteId(1), policy, 1, Box::new(()));
        let all = [Criticality::Sheddable, Criticality::Critical, Criticality::CriticalPlus];
        assert!(sample(&mut seat, 1.0).is_empty(), "nothing is inside");
        let mut id = 0;
        let mut offers = |seat: &mut Seat<()>| {
            all.map(|criticality| {
                id += 1;
                offer(seat, id, criticality)
            })
        };
        assert_eq!([offers(&mut seat), offers(&mut seat)], [["in"; 3]; 2], "until the next sample");
        // Six wait.
        sample(&mut seat, 0.1);
        assert_eq!([offers(&mut seat), offers(&mut seat)], [["out", "held", "held"]; 2]);
        seat.observe(AT, &Seen::Started { id: JobId(1), waited: Duration::ZERO });
        assert!(sample(&mut seat, 0.81).is_empty());
        assert_eq!(sample(&mut seat, 0.8), [9, 12, 8, 11]);
        assert_eq!(offers(&mut seat), ["in"; 3]);
    }
}
