//! A monitor of the process's CPU and memory that signals overload to stages (USITS'03, section 2.3).

use std::time::Duration;

use crate::{
    Ctx, Effect, Entry, Gauge, LoadSample, Machine, Place, PolicyEvent, Seen,
    entry::{EntryKind, Problem, SampleKind, Sampling, Source, number, params},
    estimate::Ewma,
};

/// Asks the watched sites to shed load, by the resource that exceeds its mark most.
#[derive(Debug)]
struct Monitor {
    cpu: Watch,
    memory: Watch,
    pressed: bool,
}

/// One resource: overloaded from `high`, relieved below `low`.
#[derive(Debug)]
struct Watch {
    share: Ewma,
    high: f64,
    low: f64,
    pressed: bool,
}

/// The smallest reported level, since 0 means relief.
const LEAST_LEVEL: f64 = 0.01;

impl Watch {
    fn new(old_weight: f64, high: f64, band: f64) -> Self {
        Self { share: Ewma::from_first(old_weight), high, low: high - band, pressed: false }
    }

    fn add(&mut self, share: f64) {
        let share = self.share.add(share);
        self.pressed = share >= if self.pressed { self.low } else { self.high };
    }

    /// The level: 0 without overload, else the position between the mark and the limit, up to 1.
    fn level(&self) -> f64 {
        if !self.pressed {
            return 0.0;
        }
        ((self.share.current() - self.high) / (1.0 - self.high)).clamp(LEAST_LEVEL, 1.0)
    }
}

impl Machine for Monitor {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match *seen {
            Seen::Load(LoadSample::Cpu(share)) => self.cpu.add(share),
            Seen::Load(LoadSample::Memory(share)) => self.memory.add(share),
            _ => return,
        }
        let level = self.cpu.level().max(self.memory.level());
        let pressed = level > 0.0;
        // Repeated while overload lasts, since receivers drop old reports.
        if pressed || self.pressed {
            cx.effects.push(Effect::Shed { to: None, level });
            cx.event(&PolicyEvent::Pressure { level });
        }
        self.pressed = pressed;
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("cpu_share"), self.cpu.share.current());
        visit(Gauge::of("memory_share"), self.memory.share.current());
        visit(Gauge::of("pressure"), self.cpu.level().max(self.memory.level()));
    }
}

params! {
    struct MonitorParams {
        cpu_high: f64 = number(0.01..=0.999, 0.95), "share of the CPU from which stages are asked for less",
            "the lab's choice";
        memory_high: f64 = number(0.01..=0.999, 0.9), "share of the memory limit from which stages are asked for less",
            "the lab's choice";
        band: f64 = number(0.0..=0.9, 0.1), "how far below its mark a share must fall for relief",
            "the lab's choice: no flapping at the mark";
        smoothing: f64 = number(0.0..=0.999, 0.7), "weight of the old share in its moving average",
            "alpha of USITS'03 figure 4";
    }
}

fn clashes(params: &MonitorParams) -> Vec<Problem> {
    let band = params.band;
    let marks = [("cpu_high", params.cpu_high), ("memory_high", params.memory_high)];
    let message = format!("must be more than band ({band}), or there is no relief");
    marks.into_iter().filter(|(_, high)| *high <= band).map(|(mark, _)| Problem::new(mark, message.as_str())).collect()
}

pub(crate) const MONITOR: Entry = Entry {
    name: "monitor",
    about: "asks the policies that it watches for less while the process is short of CPU or memory",
    caution: "a busy CPU is no overload by itself, and two loops on one resource read each other's shedding as their own",
    source: Source {
        title: "Adaptive Overload Control for Busy Internet Servers, USITS'03",
        place: "section 2.3, overload signals; the law is the lab's",
    },
    deviations: &["The paper measures response times only; marks, band and smoothing are the lab's choices."],
    places: &[Place::Single],
    presets: &[],
    samples: &[
        Sampling { what: SampleKind::Cpu, period: Duration::from_secs(1) },
        Sampling { what: SampleKind::Memory, period: Duration::from_secs(1) },
    ],
    roles: &[],
    kind: EntryKind::Machine(|reader| {
        reader.make_unless(clashes, |params: &MonitorParams, _| {
            let watch = |high| Watch::new(params.smoothing, high, params.band);
            Box::new(Monitor { cpu: watch(params.cpu_high), memory: watch(params.memory_high), pressed: false })
        })
    }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MachineBench, settings};

    fn level(effects: &[Effect]) -> Option<f64> {
        effects.iter().find_map(|effect| match effect {
            Effect::Shed { to: None, level } => Some(*level),
            _ => None,
        })
    }

    #[test]
    fn it_asks_for_less_from_the_mark_until_below_the_band() {
        let mut bench = MachineBench::new("monitor", &settings([("smoothing", 0.0.into())]));
        assert_eq!(level(&bench.load(1000, LoadSample::Cpu(0.94))), None);
        // (0.975 − 0.95) / 0.05 = 0.5
        let half = level(&bench.load(2000, LoadSample::Cpu(0.975))).unwrap();
        assert!((half - 0.5).abs() < 1e-9, "{half}");
        // Still within the band of 0.1: the least level. Below it: relief, said once.
        assert_eq!(level(&bench.load(3000, LoadSample::Cpu(0.86))), Some(0.01));
        assert_eq!(level(&bench.load(4000, LoadSample::Cpu(0.84))), Some(0.0));
        assert_eq!(level(&bench.load(5000, LoadSample::Cpu(0.5))), None);
    }

    #[test]
    fn the_scarcest_resource_speaks() {
        let mut bench = MachineBench::new("monitor", &settings([("smoothing", 0.0.into())]));
        bench.load(1000, LoadSample::Cpu(0.96));
        // Memory: (0.98 − 0.9) / 0.1 = 0.8; the CPU's 0.2 is less.
        let most = level(&bench.load(1000, LoadSample::Memory(0.98))).unwrap();
        assert!((most - 0.8).abs() < 1e-9, "{most}");
    }
}
