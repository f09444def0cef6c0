//! The nucleus of a server (WWW'05, sections 2.1 and 3.5): what the server tells its sentry.

use std::time::Duration;

use crate::{
    Ctx, Effect, Entry, Gauge, LoadSample, Machine, PeerReport, Place, Seen, Timestamp,
    entry::{EntryKind, SampleKind, Sampling, Source, ms, params, s, time},
};

/// How often a nucleus looks at its server.
const LOOK: Duration = ms(100);

/// Counts what waits and what is in service at a server, and reports it.
#[derive(Debug)]
struct Nucleus {
    every: Duration,
    /// Waits of the requests whose service has begun since the last report: their number and sum.
    begun: u32,
    waited: Duration,
    last_report: Option<Timestamp>,
    /// What was reported last.
    queueing: Duration,
    in_service: u32,
}

impl Nucleus {
    fn report(&mut self, in_service: u32, cx: &mut Ctx<'_>) {
        self.queueing = self.waited.checked_div(self.begun).unwrap_or_default();
        self.in_service = in_service;
        (self.begun, self.waited, self.last_report) = (0, Duration::ZERO, Some(cx.now));
        let (from, queueing) = (cx.site, self.queueing);
        cx.effects.push(Effect::Tell(PeerReport::Nucleus { from, queueing, in_service }));
    }
}

impl Machine for Nucleus {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match *seen {
            Seen::Started { waited, .. } => {
                self.begun += 1;
                self.waited += waited;
            }
            Seen::Load(LoadSample::Stage { workers, idle, .. })
                if self.last_report.is_none_or(|last| cx.now.since(last) >= self.every) =>
            {
                self.report(workers.saturating_sub(idle), cx);
            }
            _ => {}
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("in_service"), self.in_service.into());
        visit(Gauge::of("queueing_ms"), self.queueing.as_secs_f64() * 1e3);
    }
}

params! {
    struct NucleusParams {
        every: Duration = time(LOOK..=s(60), s(1)), "time between two reports", "section 3.5: periodically, without a value";
    }
}

pub(crate) const NUCLEUS: Entry = Entry {
    name: "nucleus",
    about: "tells the sentry of a server how many requests are in service there, and how long they waited for it",
    caution: "only a sentry of a platform hears it: app: tree with a platform",
    source: Source {
        title: "Urgaonkar & Shenoy, Cataclysm: Policing Extreme Overloads in Internet Applications, WWW'05",
        place: "sections 2.1 and 3.5",
    },
    deviations: &[
        "A request's wait ends when a worker takes it from the stage's queue; the paper instruments the kernel's accept.",
    ],
    places: &[Place::Stage],
    presets: &[],
    samples: &[Sampling { what: SampleKind::Stage, period: LOOK }],
    roles: &[],
    kind: EntryKind::Machine(|reader| {
        reader.make(|params: &NucleusParams, _| {
            Box::new(Nucleus {
                every: params.every,
                begun: 0,
                waited: Duration::ZERO,
                last_report: None,
                queueing: Duration::ZERO,
                in_service: 0,
            })
        })
    }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JobId, Settings, testing::MachineBench};

    #[test]
    fn it_reports_the_mean_wait_and_who_is_in_service_once_a_period() {
        let mut bench = MachineBench::new("nucleus", &Settings::new());
        let started = |id, waited| Seen::Started { id: JobId(id), waited: ms(waited) };
        let look = |idle| LoadSample::Stage { queue: 3, workers: 8, idle, completed: 0 };
        let said = |effects: Vec<Effect>| -> Vec<(Duration, u32)> {
            let of = |effect| match effect {
                Effect::Tell(PeerReport::Nucleus { queueing, in_service, .. }) => (queueing, in_service),
                other => panic!("{other:?}"),
            };
            effects.into_iter().map(of).collect()
        };
        // 10 and 30 ms: 20 ms; 8 - 3 are busy.
        bench.see(0, &started(1, 10));
        bench.see(0, &started(2, 30));
        assert_eq!(said(bench.load(0, look(3))), [(ms(20), 5)]);
        assert_eq!(said(bench.load(900, look(0))), [], "a second has not passed");
        assert_eq!(said(bench.load(1000, look(8))), [(ms(0), 0)], "nothing has begun since");
    }
}
