//! Adaptive throttling: a sender that is refused often holds requests back itself ("Client-Side Throttling").

use std::time::Duration;

use crate::{
    Criticality, Ctx, Entry, Gauge, Machine, Offer, Outcome, Reason, Refusal, Seen,
    catalogue::{Given, Make, NO_CLASHES, Param, ParamKind, Place, Preset, Values},
    estimate::WindowCounts,
};

use super::{Guard, Guarded, joined, section};

/// Refuses with the probability max(0, (requests − K × accepts) / (requests + 1)), over a window, for each criticality.
///
/// Requests are what its side wanted to send, whether it was let go or not; accepts are those that the other side did
/// not refuse; one that reached nobody is never an accept. A request on its way is neither yet, unless `count_pending` is set.
#[derive(Debug)]
pub(super) struct Throttle {
    k: f64,
    per_criticality: bool,
    count_pending: bool,
    /// Whether a request was accepted that was answered with an error, not in time, or not before its user left.
    accepts_failures: bool,
    accepts_timeouts: bool,
    accepts_abandoned: bool,
    /// By level of criticality, or the first alone.
    levels: Vec<WindowCounts<2>>,
}

const REQUESTS: usize = 0;
const ACCEPTS: usize = 1;

impl Throttle {
    pub(super) fn new(values: &Values) -> Self {
        let per_criticality = values.flag("per_criticality");
        let levels = if per_criticality { Criticality::ALL.len() } else { 1 };
        Self {
            k: values.number("k"),
            per_criticality,
            count_pending: values.flag("count_pending"),
            accepts_failures: values.word("failures") == "accepted",
            accepts_timeouts: values.word("timeouts") == "accepted",
            accepts_abandoned: values.word("abandoned") == "accepted",
            levels: vec![WindowCounts::new(values.time("window")); levels],
        }
    }

    fn level(&mut self, criticality: Criticality) -> &mut WindowCounts<2> {
        let level = if self.per_criticality { criticality.level() } else { 0 };
        &mut self.levels[level]
    }

    fn is_accept(&self, outcome: Outcome) -> bool {
        match outcome {
            // Nobody was there who could have accepted it.
            Outcome::Overloaded { .. } | Outcome::Unavailable => false,
            Outcome::Failed => self.accepts_failures,
            Outcome::TimedOut => self.accepts_timeouts,
            Outcome::Abandoned => self.accepts_abandoned,
            Outcome::Served | Outcome::Ignored => true,
        }
    }
}

/// The formula. The `+ 1` lets a request through now and then even if none was ever accepted.
fn probability(k: f64, [requests, accepts]: [u64; 2]) -> f64 {
    let (requests, accepts) = (requests as f64, accepts as f64);
    ((requests - k * accepts) / (requests + 1.0)).max(0.0)
}

impl Machine for Throttle {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        let Seen::Ended { tags, outcome, .. } = seen else { return };
        let (accept, pending) = (self.is_accept(*outcome), self.count_pending);
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
        let names = if self.per_criticality { &BY_LEVEL[..] } else { &["reject_probability"] };
        for (name, counts) in names.iter().zip(&self.levels) {
            visit(Gauge::of(name), probability(self.k, counts.last_totals()));
        }
    }
}

impl Guard for Throttle {
    fn refusal(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Option<Refusal> {
        let (k, pending) = (self.k, self.count_pending);
        let counts = self.level(job.tags.criticality);
        let probability = probability(k, counts.totals(cx.now));
        let refused = probability > 0.0 && cx.random.uniform() < probability;
        if refused || pending {
            counts.count(cx.now, REQUESTS);
        }
        refused.then_some(Refusal::new(Reason::Throttled))
    }
}

pub(super) const WINDOW: Param = Param {
    name: "window",
    about: "how far back requests are counted, to a sixtieth of it",
    kind: ParamKind::Time {
        min: Duration::from_millis(100),
        max: Duration::from_secs(3600),
        default: Some(Duration::from_secs(120)),
    },
    source: "chapter 21, Client-Side Throttling: the last two minutes of its history",
};

/// All but the window.
pub(super) const PARAMS: [Param; 6] = [
    Param {
        name: "k",
        about: "requests let go for each that the other side accepts: lower holds back more, and is slower to see relief",
        kind: ParamKind::Number { min: 1.0, max: 1000.0, default: 2.0, unit: "" },
        source: "K, chapter 21: generally 2; 1.1 where a refusal costs as much as an answer",
    },
    Param {
        name: "per_criticality",
        about: "whether each level of criticality has counts of its own",
        kind: ParamKind::Flag { default: true },
        source: "chapter 21, Criticality: separate stats for each criticality",
    },
    accepted(
        "failures",
        "whether a request that was answered with an error was accepted",
        "the lab's choice: it was not rejected for overload; the book speaks of requests accepted by the backend",
    ),
    accepted(
        "timeouts",
        "whether a request that was not answered in time was accepted",
        "the lab's choice: the book counts the refusals that the backend sends",
    ),
    accepted(
        "abandoned",
        "whether a request whose user left before the answer was accepted",
        "the lab's choice, as for timeouts",
    ),
    Param {
        name: "count_pending",
        about: "whether requests on their way count before their answer is there: many at once then look refused",
        kind: ParamKind::Flag { default: false },
        source: "the lab's choice: the book says that normally requests and accepts are equal",
    },
];

const fn accepted(name: &'static str, about: &'static str, source: &'static str) -> Param {
    Param { name, about, kind: ParamKind::Choice { words: &["accepted", "refused"] }, source }
}

/// When a request counts, and what an accept is.
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
    params: &joined::<7>(&[&[WINDOW], &PARAMS]),
    presets: &PRESETS,
    clashes: NO_CLASHES,
    samples: &[],
    make: Make::Policy(|values, _| Box::new(Guarded::new(vec![Box::new(Throttle::new(values))]))),
};
