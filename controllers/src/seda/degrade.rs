//! Degrading service instead of, or before, refusing it (USITS'03, sections 3.4 and 4.5).

use crate::{
    Ctx, Effect, Entry, Gauge, Machine, Offer, Policy, PolicyEvent, Seen, Timestamp, Verdict,
    catalogue::{Given, Make, Param, ParamKind, Place, Preset, Source},
};

use super::{
    params::{self, DIRECT, PARAMS},
    quality::{Change, Quality},
    response_time::ResponseTime,
};

/// Lowers the quality of service while response times are too long, and may refuse when quality is at its floor.
#[derive(Debug)]
struct Degrade {
    /// Measures all the time; refuses only while switched on.
    controller: ResponseTime,
    quality: Quality,
    /// Requests between checks.
    every: u64,
    seen: u64,
    admission: Admission,
    /// Checks in a row at the floor that found response times too long.
    at_floor: u64,
    /// Told the host of its quality yet.
    told: bool,
}

/// When admission control is switched on and off.
#[derive(Debug, Clone, Copy)]
struct Admission {
    allowed: bool,
    /// Checks at the floor until it is switched on.
    floor_checks: u64,
    /// As coded: switched on at once above this ratio of response time to target, whatever the quality. `None`: never.
    at_once_above: Option<f64>,
    /// Switched off when quality has risen to this.
    off_at_quality: f64,
}

impl Degrade {
    fn check(&mut self, cx: &mut Ctx<'_>) {
        let (seconds, target) = self.controller.published();
        let ratio = seconds / target;
        let before = self.quality.now;
        let change = self.quality.check(ratio);
        if self.quality.now != before || !self.told {
            self.told = true;
            cx.effects.push(Effect::Quality(self.quality.now));
            cx.event(&PolicyEvent::Quality { before, after: self.quality.now });
        }
        self.switch(change, ratio, cx);
    }

    fn switch(&mut self, change: Change, ratio: f64, cx: &mut Ctx<'_>) {
        if !self.admission.allowed {
            return;
        }
        match change {
            Change::Lowered => {
                let at_once = self.admission.at_once_above.is_some_and(|above| ratio > above);
                // As coded, checks that switch on at once do not count towards the floor's.
                if self.quality.is_at_floor() && !at_once {
                    self.at_floor += 1;
                }
                if at_once || self.at_floor >= self.admission.floor_checks {
                    self.controller.set_admission(cx, true);
                }
            }
            Change::Kept => {}
            Change::Raised => {
                self.at_floor = 0;
                if self.quality.now >= self.admission.off_at_quality {
                    self.controller.set_admission(cx, false);
                }
            }
            Change::Doubled => {
                self.at_floor = 0;
                self.controller.set_admission(cx, false);
            }
        }
    }
}

impl Machine for Degrade {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        self.controller.observe(seen, cx);
        if matches!(seen, Seen::Ended { .. }) {
            self.seen += 1;
            if self.seen >= self.every {
                self.seen = 0;
                self.check(cx);
            }
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.controller.next_wake()
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.controller.wake(cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("quality"), self.quality.now);
        self.controller.gauges(visit);
    }
}

impl Policy for Degrade {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.controller.offer(job, cx)
    }
}

const CODE: &str = "the published code's bottleneck stage";

const OWN: [Param; 10] = [
    Param {
        name: "admission",
        about: "whether admission control is switched on when the lowest quality does not help",
        kind: ParamKind::Choice { words: &["at-floor", "off", "as-coded"] },
        source: "USITS'03 section 4.5, figures 12 (off) and 13 (at-floor); as-coded also at once when far over the target",
    },
    Param {
        name: "check_every",
        about: "requests between checks of the quality",
        kind: ParamKind::Count { min: 1, max: 1_000_000, default: 100 },
        source: CODE,
    },
    Param {
        name: "quality_floor",
        about: "lowest quality",
        kind: ParamKind::Number { min: 0.0001, max: 1.0, default: 0.01, unit: "" },
        source: CODE,
    },
    Param {
        name: "quality_step",
        about: "added to the quality when response times are well below the target",
        kind: ParamKind::Number { min: 0.0001, max: 1.0, default: 0.01, unit: "" },
        source: CODE,
    },
    Param {
        name: "quality_factor",
        about: "divides the quality when response times are above the target",
        kind: ParamKind::Number { min: 1.001, max: 100.0, default: 2.0, unit: "" },
        source: CODE,
    },
    Param {
        name: "quality_up_below",
        about: "ratio of response time to target below which quality rises",
        kind: ParamKind::Number { min: 0.01, max: 1.0, default: 0.8, unit: "" },
        source: CODE,
    },
    Param {
        name: "quality_down_above",
        about: "ratio of response time to target above which quality falls",
        kind: ParamKind::Number { min: 1.0, max: 100.0, default: 1.1, unit: "" },
        source: CODE,
    },
    Param {
        name: "floor_checks",
        about: "checks at the lowest quality with too long response times until admission control is switched on",
        kind: ParamKind::Count { min: 1, max: 1_000_000, default: 10 },
        source: "the published code's bottleneck stage; the paper says that response times continue to exceed the target",
    },
    Param {
        name: "at_once_above",
        about: "as-coded: ratio of response time to target above which admission control is switched on at once",
        kind: ParamKind::Number { min: 1.0, max: 100.0, default: 1.5, unit: "" },
        source: CODE,
    },
    Param {
        name: "admission_off_at",
        about: "quality at which a rise switches admission control off again",
        kind: ParamKind::Number { min: 0.0, max: 1.0, default: 0.2, unit: "" },
        source: CODE,
    },
];

const ALL: [Param; OWN.len() + PARAMS.len()] = joined();

const fn joined() -> [Param; OWN.len() + PARAMS.len()] {
    let mut all = [params::TARGET; OWN.len() + PARAMS.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < OWN.len() { OWN[i] } else { PARAMS[i - OWN.len()] };
        i += 1;
    }
    all
}

/// Settings of the preset `degrade-as-coded`: those of the direct controller, and admission as its stage has it.
const AS_CODED: [(&str, Given); 1 + DIRECT.len()] = {
    let mut all = [("admission", Given::Text("as-coded")); 1 + DIRECT.len()];
    let (_, direct) = all.split_at_mut(1);
    direct.copy_from_slice(&DIRECT);
    all
};

/// Quality doubles below this ratio of response time to target: the load is gone altogether.
const DOUBLE_BELOW: f64 = 0.0001;

pub(crate) const DEGRADE: Entry = Entry {
    name: "degrade",
    about: "lowers the quality of service while response times are over the target, and may refuse once it is lowest",
    caution: "for services that have a quality knob; without one it only measures",
    source: Source {
        title: "Adaptive Overload Control for Busy Internet Servers, USITS'03",
        place: "sections 3.4 and 4.5, figures 12 and 13",
    },
    deviations: &[
        "The quality law's constants are the published code's: the paper gives none.",
        "A band of the code's quality law that cannot be reached (response time under half the target, tested after 0.8) is left out.",
        "Switching admission control off and on leaves its rate alone, as in the code's direct controller; in the code's multiclass controller switching does not work.",
    ],
    places: &[Place::Stage, Place::Single],
    params: &ALL,
    presets: &[
        Preset {
            name: "degrade-published",
            about: "refuses at the floor only, with the published controller",
            given: &[],
        },
        Preset {
            name: "degrade-as-coded",
            about: "as the published code switches, with its direct controller",
            given: &AS_CODED,
        },
        Preset { name: "degrade-only", about: "never refuses", given: &[("admission", Given::Text("off"))] },
    ],
    clashes: params::clashes,
    samples: &[],
    make: Make::Policy(|values, site| {
        let floor = values.number("quality_floor");
        let mut controller = params::controller(values, site);
        controller.admission = false;
        Box::new(Degrade {
            controller,
            quality: Quality {
                now: 1.0,
                floor,
                step: values.number("quality_step"),
                factor: values.number("quality_factor"),
                double_below: DOUBLE_BELOW,
                raise_below: values.number("quality_up_below"),
                lower_above: values.number("quality_down_above"),
            },
            every: values.count("check_every"),
            seen: 0,
            admission: Admission {
                allowed: values.word("admission") != "off",
                floor_checks: values.count("floor_checks"),
                at_once_above: (values.word("admission") == "as-coded").then(|| values.number("at_once_above")),
                off_at_quality: values.number("admission_off_at"),
            },
            at_floor: 0,
            told: false,
        })
    }),
};
