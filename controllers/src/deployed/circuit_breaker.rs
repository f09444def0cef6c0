//! Circuit breakers as libraries have them: closed, open for a time, then half open for a few trials.

use std::{collections::VecDeque, time::Duration};

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Outcome, Place, Policy, Reason, Refusal, Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, Given, Preset, Source, count, ms, number, params, s, time},
    estimate::WindowCounts,
};

const R4J: &str = "CircuitBreakerConfig.java, the default";

params! {
    struct CircuitBreakerParams {
        failure_ratio: f64 = number(0.001..=1.0, 0.5), "share of failures from which on it opens", R4J;
        calls: u32 = count(0..=100_000, 100), "requests that are looked back at; 0: those of the window", R4J;
        window: Duration = time(ms(100)..=s(3600), s(10)), "time that is looked back at, where calls is 0", "metrics.rollingStats of Hystrix";
        least_calls: u32 = count(1..=100_000, 100), "requests below which it does not open", R4J;
        open_for: Duration = time(ms(1)..=s(3600), s(60)), "time for which it is open", R4J;
        trials: u32 = count(1..=100_000, 10), "requests of a trial after that time", R4J;
    }
}

/// Ends that a closed breaker looks back at: true is a failure.
#[derive(Debug)]
enum Lookback {
    Calls(VecDeque<bool>),
    Time(Box<WindowCounts<2>>),
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed,
    Open {
        until: Timestamp,
    },
    /// Trials that were let go, and that have ended, failures among them.
    HalfOpen {
        begun: u32,
        ended: u32,
        failed: u32,
    },
}

#[derive(Debug)]
struct CircuitBreaker {
    state: State,
    lookback: Lookback,
    /// Counts the states, so that ends of requests from an earlier one say nothing.
    era: u64,
    params: CircuitBreakerParams,
}

impl CircuitBreaker {
    fn new(params: &CircuitBreakerParams) -> Self {
        Self { state: State::Closed, lookback: Lookback::new(params), era: 0, params: params.clone() }
    }

    fn enter(&mut self, state: State) {
        (self.state, self.era) = (state, self.era + 1);
        self.lookback = Lookback::new(&self.params);
    }

    fn ended(&mut self, failed: bool, now: Timestamp) {
        match &mut self.state {
            State::Closed => {
                let [all, failures] = self.lookback.add(failed, now, self.params.calls);
                let enough = all >= u64::from(self.params.least_calls);
                if enough && failures as f64 >= self.params.failure_ratio * all as f64 {
                    self.enter(State::Open { until: now + self.params.open_for });
                }
            }
            State::HalfOpen { ended, failed: failures, .. } => {
                *ended += 1;
                *failures += u32::from(failed);
                let (ended, failures) = (*ended, *failures);
                if ended >= self.params.trials {
                    let opens = f64::from(failures) >= self.params.failure_ratio * f64::from(ended);
                    let open = State::Open { until: now + self.params.open_for };
                    self.enter(if opens { open } else { State::Closed });
                }
            }
            State::Open { .. } => {}
        }
    }
}

impl Lookback {
    fn new(params: &CircuitBreakerParams) -> Self {
        match params.calls {
            0 => Self::Time(Box::new(WindowCounts::new(params.window))),
            _ => Self::Calls(VecDeque::new()),
        }
    }

    /// All ends and the failures among them, with this one.
    fn add(&mut self, failed: bool, now: Timestamp, calls: u32) -> [u64; 2] {
        match self {
            Self::Calls(ends) => {
                ends.push_back(failed);
                if ends.len() > calls as usize {
                    ends.pop_front();
                }
                [ends.len() as u64, ends.iter().filter(|failed| **failed).count() as u64]
            }
            Self::Time(counts) => {
                counts.count(now, 0);
                if failed {
                    counts.count(now, 1);
                }
                counts.totals(now)
            }
        }
    }
}

impl Machine for CircuitBreaker {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        let Seen::Ended { outcome, grant, .. } = seen else { return };
        if grant.cookie != self.era {
            return;
        }
        match outcome {
            Outcome::Served => self.ended(false, cx.now),
            Outcome::Failed | Outcome::TimedOut | Outcome::Overloaded { .. } | Outcome::Unavailable => {
                self.ended(true, cx.now);
            }
            // Nothing is known: a trial is given back.
            Outcome::Abandoned | Outcome::Ignored => {
                if let State::HalfOpen { begun, .. } = &mut self.state {
                    *begun = begun.saturating_sub(1);
                }
            }
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        let state = match self.state {
            State::Closed => 0.0,
            State::HalfOpen { .. } => 0.5,
            State::Open { .. } => 1.0,
        };
        visit(Gauge::of("open"), state);
    }
}

impl Policy for CircuitBreaker {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        if matches!(self.state, State::Open { until } if until <= cx.now) {
            self.enter(State::HalfOpen { begun: 0, ended: 0, failed: 0 });
        }
        let lets_go = match &mut self.state {
            State::Closed => true,
            State::Open { .. } => false,
            State::HalfOpen { begun, .. } => {
                let room = *begun < self.params.trials;
                *begun += u32::from(room);
                room
            }
        };
        if lets_go { Verdict::Admit(Grant::new(self.era)) } else { Verdict::Refuse(Refusal::new(Reason::Throttled)) }
    }
}

pub(crate) const CIRCUIT_BREAKER: Entry = Entry {
    name: "circuit-breaker",
    about: "a circuit breaker: opens when too many requests fail, and tries a few again after a time",
    caution: "turns a part that fails into a whole that does; where half of the servers fail it is open for all; blind to slowness without time-outs",
    source: Source {
        title: "resilience4j 2.2; Hystrix 1.5 and Polly 8 as presets",
        place: "CircuitBreakerStateMachine.java",
    },
    deviations: &[
        "A failure is an error, a refusal, a time-out or a connection that failed; the libraries are told which exceptions are.",
        "An end of a request that was let go in an earlier state says nothing.",
        "Slow calls are not counted: at the default of resilience4j they are those of a minute and more.",
        "Windows of time are rings of 60 buckets; Hystrix has 10.",
    ],
    places: &[Place::Client, Place::Proxy],
    presets: &[
        Preset { name: "resilience4j", about: "the last hundred requests, half of which fail", given: &[] },
        Preset {
            name: "hystrix",
            about: "twenty requests in 10 s of which half fail; one trial after 5 s",
            given: &[
                ("calls", Given::Number(0.0)),
                ("window", Given::Text("10s")),
                ("least_calls", Given::Number(20.0)),
                ("open_for", Given::Text("5s")),
                ("trials", Given::Number(1.0)),
            ],
        },
        Preset {
            name: "polly",
            about: "a hundred requests in 30 s of which a tenth fail; one trial after 5 s",
            given: &[
                ("failure_ratio", Given::Number(0.1)),
                ("calls", Given::Number(0.0)),
                ("window", Given::Text("30s")),
                ("least_calls", Given::Number(100.0)),
                ("open_for", Given::Text("5s")),
                ("trials", Given::Number(1.0)),
            ],
        },
    ],
    samples: &[],
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &CircuitBreakerParams, _| Box::new(CircuitBreaker::new(params)))
    }),
};
