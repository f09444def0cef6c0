//! Session-based admission: a user who is inside is served to the end, and nobody new comes in while the processors are busy.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    Ctx, Entry, Gauge, LoadSample, Machine, Offer, Place, Policy, Reason, Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, SampleKind, Sampling, Source, count, ms, number, params, s, time},
};

params! {
    struct SessionsParams {
        threshold: f64 = number(0.01..=1.0, 0.95), "CPU share over which no session begins", "HPL-98-119: 95 %";
        weight: f64 = number(0.01..=1.0, 1.0), "weight of the last interval in the share that is expected: 1 is responsive, 0.1 is stable", "HPL-98-119: k = 1";
        interval: Duration = time(ms(100)..=s(3600), s(1)), "the share is measured anew so often", "HPL-98-119: one second";
        idle: Duration = time(s(1)..=s(86_400), s(300)), "a session ends after as long without a request", "the lab's choice";
        sessions: u32 = count(1..=10_000_000, 100_000), "most sessions remembered: one more ends the one that is idle longest", "the lab's choice";
    }
}

/// Admits every request of a session that was let in, and the first of a new one unless the CPU share expected is over the threshold.
#[derive(Debug)]
struct Sessions {
    params: SessionsParams,
    /// The last request of each.
    last: BTreeMap<u64, Timestamp>,
    by_age: BTreeSet<(Timestamp, u64)>,
    /// The end of the interval.
    until: Timestamp,
    /// The sum and the number of the interval's samples.
    measured: (f64, u32),
    expected: f64,
}

impl Sessions {
    fn new(params: &SessionsParams) -> Self {
        let (last, by_age) = (BTreeMap::new(), BTreeSet::new());
        Self { params: params.clone(), last, by_age, until: Timestamp::default(), measured: (0.0, 0), expected: 0.0 }
    }

    fn measures(&mut self, share: f64, now: Timestamp) {
        let (sum, samples) = &mut self.measured;
        (*sum, *samples) = (*sum + share, *samples + 1);
        if now >= self.until {
            let (sum, samples) = std::mem::take(&mut self.measured);
            self.expected += self.params.weight * (sum / f64::from(samples) - self.expected);
            self.until = now + self.params.interval;
        }
    }

    /// Ends those that were idle for too long, and the one that is idle longest where too many are remembered.
    fn expire(&mut self, now: Timestamp) {
        while let Some(&(last, user)) = self.by_age.first()
            && (now.since(last) > self.params.idle || self.last.len() > self.params.sessions as usize)
        {
            self.by_age.pop_first();
            self.last.remove(&user);
        }
    }

    fn admits(&mut self, user: u64, now: Timestamp) -> bool {
        self.expire(now);
        let admitted = self.expected <= self.params.threshold || (user != 0 && self.last.contains_key(&user));
        if admitted && user != 0 {
            self.goes_on(user, now);
        }
        admitted
    }

    fn goes_on(&mut self, user: u64, now: Timestamp) {
        if let Some(before) = self.last.insert(user, now) {
            self.by_age.remove(&(before, user));
        }
        self.by_age.insert((now, user));
        self.expire(now);
    }
}

impl Machine for Sessions {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        if let Seen::Load(LoadSample::Cpu(share)) = seen {
            self.measures(*share, cx.now);
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("sessions"), self.last.len() as f64);
        visit(Gauge::of("cpu_share"), self.expected);
    }
}

impl Policy for Sessions {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        Verdict::admit_if(self.admits(job.tags.user, cx.now), Reason::Utilization)
    }
}

pub(crate) const SESSIONS: Entry = Entry {
    name: "sessions",
    about: "session-based admission: who is inside is served, nobody new comes in while the CPU share is over a threshold",
    caution: "those inside are never refused: too many at once, or sessions that grow, overload the service all the same; blind where the CPU is not what is short",
    source: Source {
        title: "Cherkasova and Phaal, Session Based Admission Control, HPL-98-119, 1998",
        place: "the mechanism; named in USITS'03, section 5.2",
    },
    deviations: &[
        "A session is a user's requests until a pause; there it ends with its last page, which the server knows.",
        "Where the host knows no users, each request is a session of its own.",
    ],
    places: &[Place::Stage, Place::Single],
    presets: &[],
    samples: &[Sampling { what: SampleKind::Cpu, period: Duration::from_millis(200) }],
    roles: &[CompositionRole::Inflow],
    kind: EntryKind::Policy(|reader| reader.make(|params: &SessionsParams, _| Box::new(Sessions::new(params)))),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, settings};

    fn sessions(settings: &crate::Settings) -> Sessions {
        Sessions::new(&testing::params(settings))
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::default() + Duration::from_millis(ms)
    }

    #[test]
    fn the_share_expected_is_the_mean_of_the_last_interval_by_its_weight() {
        let mut of = sessions(&settings([("weight", 0.5.into())]));
        of.measures(0.8, at(0));
        assert!((of.expected - 0.4).abs() < 1e-12, "half of 0.8");
        [(200, 1.0), (600, 0.6)].into_iter().for_each(|(ms, share)| of.measures(share, at(ms)));
        assert!((of.expected - 0.4).abs() < 1e-12, "within the interval");
        of.measures(0.8, at(1000));
        assert!((of.expected - 0.6).abs() < 1e-12, "0.4 + 0.5 × (0.8 - 0.4), the mean of 1.0, 0.6 and 0.8");
    }

    #[test]
    fn who_is_inside_is_served_and_nobody_new_comes_in_while_it_is_busy() {
        let mut of = sessions(&settings([]));
        assert!(of.admits(1, at(0)) && of.admits(0, at(0)));
        of.measures(0.96, at(1000));
        assert_eq!([1, 2, 0].map(|user| of.admits(user, at(1500))), [true, false, false]);
        of.measures(0.95, at(2000));
        assert_eq!([1, 2, 0].map(|user| of.admits(user, at(2500))), [true; 3], "up to the threshold");
        of.measures(1.0, at(3000));
        assert_eq!([1, 2, 0].map(|user| of.admits(user, at(3500))), [true, true, false]);
        assert!(!of.admits(1, at(303_501)), "300 s without a request: a session of its own");
    }

    #[test]
    fn a_session_ends_after_a_pause_and_the_idlest_makes_room() {
        let mut of = sessions(&settings([("sessions", 2.into()), ("idle", "10s".into())]));
        [(1, 0), (2, 1000), (1, 2000)].into_iter().for_each(|(user, ms)| of.goes_on(user, at(ms)));
        of.goes_on(3, at(3000));
        assert_eq!(of.last.keys().copied().collect::<Vec<_>>(), [1, 3], "2 was idle longest");
        of.expire(at(12_000));
        assert_eq!(of.last.len(), 2, "10 s after the last of user 1");
        of.expire(at(12_001));
        assert_eq!(of.last.keys().copied().collect::<Vec<_>>(), [3]);
        assert_eq!(of.by_age.len(), 1);
    }
}
