//! Envoy's admission control: refuses at random, the more the fewer requests succeed.

use std::time::Duration;

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Outcome, Place, Policy, Reason, Seen, Verdict,
    entry::{CompositionRole, EntryKind, Source, number, params, s, time},
    estimate::WindowCounts,
};

const API: &str = "admission_control.proto, the default";

params! {
    struct AdmissionParams {
        window: Duration = time(s(1)..=s(3600), s(30)), "time over which requests are counted", API;
        sr_threshold: f64 = number(1.0..=100.0, 95.0), "percent of successes below which some are refused", API;
        aggression: f64 = number(1.0..=100.0, 1.0), "1: as many are refused as the formula says; more: sooner more", API;
        rps_threshold: f64 = number(0.0..=1e6, 0.0).in_unit("/s"), "rate below which nothing is refused", API;
        max_rejection: f64 = number(0.0..=100.0, 80.0), "most percent that are refused", API;
    }
}

const ALL: usize = 0;
const SUCCESSES: usize = 1;

#[derive(Debug)]
struct AdmissionControl {
    counts: WindowCounts<2>,
    params: AdmissionParams,
}

/// Share to refuse: ((n − s / threshold) / (n + 1)) to the power of 1 / aggression.
fn probability(params: &AdmissionParams, [all, successes]: [u64; 2]) -> f64 {
    let (all, successes) = (all as f64, successes as f64);
    if all / params.window.as_secs_f64() < params.rps_threshold {
        return 0.0;
    }
    let short = ((all - successes / (params.sr_threshold / 100.0)) / (all + 1.0)).max(0.0);
    libm::pow(short, 1.0 / params.aggression).min(params.max_rejection / 100.0)
}

impl Machine for AdmissionControl {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        let Seen::Ended { outcome, .. } = seen else { return };
        if *outcome == Outcome::Ignored {
            return;
        }
        self.counts.count(cx.now, ALL);
        if *outcome == Outcome::Served {
            self.counts.count(cx.now, SUCCESSES);
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("reject_probability"), probability(&self.params, self.counts.last_totals()));
    }
}

impl Policy for AdmissionControl {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        let probability = probability(&self.params, self.counts.totals(cx.now));
        let refused = probability > 0.0 && cx.random.uniform() < probability;
        if refused {
            return Verdict::Refuse(crate::Refusal::new(Reason::Throttled));
        }
        Verdict::Admit(Grant::default())
    }
}

pub(crate) const ADMISSION_CONTROL: Entry = Entry {
    name: "admission-control",
    about: "Envoy's admission control: refuses at random, the more the fewer requests succeed",
    caution: "sees errors alone: a service that only becomes slow is not protected until its callers' time-outs are failures",
    source: Source { title: "Envoy 1.40, admission control filter", place: "admission_control.cc" },
    deviations: &[
        "A request whose sender has left counts as a failure, as in Envoy, where the filter is destroyed before an answer.",
        "The window is a ring of 60 buckets, Envoy's one of a second each.",
        "Shares are exact, Envoy's are in steps of 1/10 000.",
    ],
    places: &[Place::Single, Place::Client, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &AdmissionParams, _| {
            Box::new(AdmissionControl { counts: WindowCounts::new(params.window), params: params.clone() })
        })
    }),
};
