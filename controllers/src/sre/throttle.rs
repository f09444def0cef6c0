//! Adaptive throttling: a sender with many refusals holds requests back itself ("Client-Side Throttling").

use std::time::Duration;

use crate::{
    Criticality, Ctx, Entry, Gauge, Machine, Offer, Outcome, Place, Reason, Refusal, Seen,
    entry::{Choice, CompositionRole, EntryKind, Given, ParamDeclaration, Preset, choice, flag, number, params},
    estimate::WindowCounts,
};

use super::{
    chapter::{WINDOW, section},
    guard::{Guard, Guarded},
};

/// Refuses with the probability max(0, (requests − K × accepts) / (requests + 1)), over a window, for each criticality.
///
/// Requests are all requests of the sender, sent or held back; accepts are requests that the service did not refuse. A
/// request that reached no service is never an accept. A pending request counts as neither, unless `count_pending` is
/// set.
#[derive(Debug)]
pub(super) struct Throttle {
    rules: ThrottleRules,
    /// Counts by level of criticality, or one for all levels.
    levels: Vec<WindowCounts<2>>,
}

const REQUESTS: usize = 0;
const ACCEPTS: usize = 1;

impl Throttle {
    pub(super) fn new(rules: &ThrottleRules, window: Duration) -> Self {
        let levels = if rules.per_criticality { Criticality::ALL.len() } else { 1 };
        Self { rules: rules.clone(), levels: vec![WindowCounts::new(window); levels] }
    }

    fn level(&mut self, criticality: Criticality) -> &mut WindowCounts<2> {
        let level = if self.rules.per_criticality { criticality.level() } else { 0 };
        &mut self.levels[level]
    }

    fn is_accept(&self, outcome: Outcome) -> bool {
        match outcome {
            // No service received the request.
            Outcome::Overloaded { .. } | Outcome::Unavailable => false,
            Outcome::Failed => self.rules.failures,
            Outcome::TimedOut => self.rules.timeouts,
            Outcome::Abandoned => self.rules.abandoned,
            Outcome::Served | Outcome::Ignored => true,
        }
    }
}

/// The probability of a refusal. The `+ 1` admits some requests even if none was ever accepted.
fn probability(k: f64, [requests, accepts]: [u64; 2]) -> f64 {
    let (requests, accepts) = (requests as f64, accepts as f64);
    ((requests - k * accepts) / (requests + 1.0)).max(0.0)
}

impl Machine for Throttle {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        let Seen::Ended { tags, outcome, .. } = seen else { return };
        let (accept, pending) = (self.is_accept(*outcome), self.rules.count_pending);
        let counts = self.level(tags.criticality);
        if !pending {
            counts.count(cx.now, REQUESTS);
        }
        if accept {
            counts.count(cx.now, ACCEPTS);
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        const BY_LEVEL: [&str; 4] = [
            "reject_probability_sheddable",
            "reject_probability_sheddable_plus",
            "reject_probability_critical",
            "reject_probability_critical_plus",
        ];
        let names = if self.rules.per_criticality { &BY_LEVEL[..] } else { &["reject_probability"] };
        for (name, counts) in names.iter().zip(&self.levels) {
            visit(Gauge::of(name), probability(self.rules.k, counts.last_totals()));
        }
    }
}

impl Guard for Throttle {
    fn refusal(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Option<Refusal> {
        let (k, pending) = (self.rules.k, self.rules.count_pending);
        let counts = self.level(job.tags.criticality);
        let probability = probability(k, counts.totals(cx.now));
        let refused = probability > 0.0 && cx.random.uniform() < probability;
        if refused || pending {
            counts.count(cx.now, REQUESTS);
        }
        refused.then_some(Refusal::new(Reason::Throttled))
    }
}

const fn accepted(about: &'static str, source: &'static str) -> ParamDeclaration<Choice<bool>> {
    ParamDeclaration { kind: choice(("accepted", true), &[("refused", false)]), about, source }
}

params! {
    /// The rules without the window. `failures`, `timeouts`, `abandoned`: true if such a request counts as accepted.
    pub(super) struct ThrottleRules {
        k: f64 = number(1.0..=1000.0, 2.0),
            "requests let go for each that the other side accepts: lower holds back more, and is slower to see relief",
            "K, chapter 21: generally 2; 1.1 where a refusal costs as much as an answer";
        per_criticality: bool = flag(true), "whether each level of criticality has counts of its own",
            "chapter 21, Criticality: separate stats for each criticality";
        failures: bool = accepted(
            "whether a request that was answered with an error was accepted",
            "the lab's choice: it was not rejected for overload; the book speaks of requests accepted by the backend",
        );
        timeouts: bool = accepted(
            "whether a request that was not answered in time was accepted",
            "the lab's choice: the book counts the refusals that the backend sends",
        );
        abandoned: bool = accepted(
            "whether a request whose user left before the answer was accepted",
            "the lab's choice, as for timeouts",
        );
        count_pending: bool = flag(false),
            "whether requests on their way count before their answer is there: many at once then look refused",
            "the lab's choice: the book says that normally requests and accepts are equal";
    }
}

/// Definitions of requests and accepts.
pub(super) const PRESETS: [Preset; 2] = [
    Preset {
        name: "when-answered",
        about: "a request counts when its answer is there; whatever reached the backend and was not refused is an accept",
        given: &[],
    },
    Preset {
        name: "as-in-the-book",
        about: "an attempt counts when it is made; an accept is what the backend answered and did not refuse",
        given: &[
            ("count_pending", Given::Flag(true)),
            ("timeouts", Given::Text("refused")),
            ("abandoned", Given::Text("refused")),
        ],
    },
];

params! {
    struct ThrottleParams {
        window: Duration = WINDOW;
        rules: ThrottleRules;
    }
}

pub(crate) const THROTTLE: Entry = Entry {
    name: "throttle",
    about: "adaptive throttling: a sender that is refused often holds back part of its requests itself",
    caution: "a sender of few requests learns too little; needs refusals, and sees none where overload shows as waiting",
    source: section("Client-Side Throttling"),
    deviations: &[
        "A request counts when its answer is there (or when it is held back), not when it is sent: else a hundred first requests at once look like a hundred refusals (`count_pending`; the preset `as-in-the-book` counts attempts as they are made).",
        "What reached the backend and was not refused because of load is an accept, unless `failures`, `timeouts` and `abandoned` say otherwise; the book does not speak of these. A request without a connection, or whose connection broke, never is.",
        "The window is a ring of 60 buckets: what happened is forgotten up to a sixtieth of the window early.",
    ],
    places: &[Place::Client, Place::Proxy],
    presets: &PRESETS,
    samples: &[],
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &ThrottleParams, _| {
            Box::new(Guarded::new(vec![Box::new(Throttle::new(&params.rules, params.window))]))
        })
    }),
};
