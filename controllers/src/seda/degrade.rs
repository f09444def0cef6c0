//! Service degradation in place of, or before, refusals (USITS'03, sections 3.4 and 4.5).

use crate::{
    Ctx, Effect, Entry, Gauge, Machine, Offer, Place, Policy, PolicyEvent, Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, Given, Preset, Source, choice, count, number, params},
};

use super::{
    params::{DIRECT, SedaParams},
    quality::{Change, Quality},
    response_time::ResponseTime,
};

/// Lowers the quality of service while response times exceed the target, and can refuse jobs when quality is at its
/// floor.
#[derive(Debug)]
struct Degrade {
    /// Measures always; refuses only while admission control is on.
    controller: ResponseTime,
    quality: Quality,
    params: DegradeParams,
    /// Requests since the last check.
    seen: u32,
    /// Consecutive checks at the floor with response times over the target.
    at_floor: u64,
    /// True once the host was told the quality.
    told: bool,
}

/// The condition that switches admission control on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Admission {
    /// The lowest quality does not suffice.
    AtFloor,
    Off,
    /// As `AtFloor`, and at any quality when response times are far over the target.
    AsCoded,
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
        if self.params.admission == Admission::Off {
            return;
        }
        match change {
            Change::Lowered => {
                let at_once = self.params.admission == Admission::AsCoded && ratio > self.params.at_once_above;
                // As coded, checks that switch admission control on at once do not count for the floor.
                if self.quality.is_at_floor() && !at_once {
                    self.at_floor += 1;
                }
                if at_once || self.at_floor >= u64::from(self.params.floor_checks) {
                    self.controller.set_admission(cx, true);
                }
            }
            Change::Kept => {}
            Change::Raised => {
                self.at_floor = 0;
                if self.quality.now >= self.params.admission_off_at {
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
            if self.seen >= self.params.check_every {
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

params! {
    struct DegradeParams {
        admission: Admission =
            choice(("at-floor", Admission::AtFloor), &[("off", Admission::Off), ("as-coded", Admission::AsCoded)]),
            "whether admission control is switched on when the lowest quality does not help",
            "USITS'03 section 4.5, figures 12 (off) and 13 (at-floor); as-coded also at once when far over the target";
        check_every: u32 = count(1..=1_000_000, 100), "requests between checks of the quality", CODE;
        quality_floor: f64 = number(0.0001..=1.0, 0.01), "lowest quality", CODE;
        quality_step: f64 = number(0.0001..=1.0, 0.01),
            "added to the quality when response times are well below the target", CODE;
        quality_factor: f64 = number(1.001..=100.0, 2.0),
            "divides the quality when response times are above the target", CODE;
        quality_up_below: f64 = number(0.01..=1.0, 0.8),
            "ratio of response time to target below which quality rises", CODE;
        quality_down_above: f64 = number(1.0..=100.0, 1.1),
            "ratio of response time to target above which quality falls", CODE;
        floor_checks: u32 = count(1..=1_000_000, 10),
            "checks at the lowest quality with too long response times until admission control is switched on",
            "the published code's bottleneck stage; the paper says that response times continue to exceed the target";
        at_once_above: f64 = number(1.0..=100.0, 1.5),
            "as-coded: ratio of response time to target above which admission control is switched on at once", CODE;
        admission_off_at: f64 = number(0.0..=1.0, 0.2),
            "quality at which a rise switches admission control off again", CODE;
        seda: SedaParams;
    }
}

/// The settings of the preset `degrade-as-coded`: the direct controller with the admission rule of its stage.
const AS_CODED: [(&str, Given); 1 + DIRECT.len()] = {
    let mut all = [("admission", Given::Text("as-coded")); 1 + DIRECT.len()];
    let (_, direct) = all.split_at_mut(1);
    direct.copy_from_slice(&DIRECT);
    all
};

/// Quality doubles below this ratio of response time to target, which means no load.
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
    samples: &[],
    roles: &[CompositionRole::Inflow],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(
            |params: &DegradeParams| params.seda.clashes(),
            |params, site| {
                let mut controller = params.seda.controller(site);
                controller.admission = false;
                Box::new(Degrade {
                    controller,
                    quality: Quality {
                        now: 1.0,
                        floor: params.quality_floor,
                        step: params.quality_step,
                        factor: params.quality_factor,
                        double_below: DOUBLE_BELOW,
                        raise_below: params.quality_up_below,
                        lower_above: params.quality_down_above,
                    },
                    params: params.clone(),
                    seen: 0,
                    at_floor: 0,
                    told: false,
                })
            },
        )
    }),
};
