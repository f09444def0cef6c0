//! The law before a service in figures: without noise each step has a value that is worked by hand.

use super::*;

const OBJECTIVE: f64 = 0.2;
const SERVICE: f64 = 0.02;

/// Servers that take [`SERVICE`] each: n jobs inside make min(n, servers) / S answers a second, and take n / X.
struct Servers(f64);

impl Servers {
    /// A window with this number inside.
    fn window(&self, jobs: f64, limited: bool) -> DoorFigures {
        let pace = jobs.min(self.0) / SERVICE;
        let time = jobs / pace;
        DoorFigures {
            took: 0.4,
            ends: 0.4 * pace,
            pace,
            in_time: if time > OBJECTIVE { 0.0 } else { pace },
            time,
            spread: 0.0,
            quick: None,
            late: f64::from(u8::from(time > OBJECTIVE)),
            jobs,
            refused: if limited { 0.5 } else { 0.0 },
            limited,
        }
    }

    /// Limited windows with their ends, each with as many inside as the limit in force.
    fn windows(&self, law: &mut HeadwayLaw, how_many: u32) {
        for _ in 0..how_many {
            let seen = self.window(f64::from(law.limit()), true);
            ends(law, &seen);
            law.window(&seen);
        }
    }
}

fn ends(law: &mut HeadwayLaw, seen: &DoorFigures) {
    (0..seen.ends as u32).for_each(|_| law.end(seen.time, true));
}

/// A law whose start is over, at this limit.
fn started(limit: f64) -> HeadwayLaw {
    HeadwayLaw { limit, start: None, ..HeadwayLaw::new(OBJECTIVE) }
}

/// The same, when the service has been seen in health.
fn healthy(limit: f64) -> HeadwayLaw {
    let mut law = started(limit);
    law.window(&Servers(4.0).window(2.0, false));
    law
}

#[test]
fn the_limit_rests_at_the_knee_from_below_and_from_above() {
    for from in [1.0, 2.0, 4.0, 8.0, 16.0, 30.0] {
        for servers in [4.0, 16.0, 64.0] {
            let mut law = healthy(from);
            Servers(servers).windows(&mut law, 60);
            // p is 1/2: at rest 1.2 times the healthy time is spent inside, give or take a step.
            let inside = law.limit / servers;
            assert!((1.0..1.6).contains(&inside), "from {from} to {} for {servers} servers", law.limit);
            assert!((law.healthy_time() - SERVICE).abs() < 1e-3, "{}", law.healthy_time());
        }
    }
}

#[test]
fn a_law_that_never_saw_health_finds_the_knee_from_above() {
    for from in [6.0, 12.0, 30.0] {
        let mut law = started(from);
        Servers(4.0).windows(&mut law, 120);
        assert!((3.0..7.0).contains(&law.limit), "from {from} to {}", law.limit);
    }
}

#[test]
fn a_limit_that_the_start_left_far_below_the_knee_is_left_within_three_pairs() {
    let mut law = started(4.0);
    Servers(40.0).windows(&mut law, 1);
    assert_eq!(law.limit(), 8, "bold, since the time inside is not known");
    // 160 and 80 ends: e = 1 with a variance of (1/160 + 1/80) / ln² 2 = 0.039 for 0.14: 0.35 + 0.78 × 0.65 = 0.86.
    Servers(40.0).windows(&mut law, 2);
    assert!((law.limit - 8.0).abs() < 1e-9 && !law.healthy.is_confirmed(), "a claim");
    Servers(40.0).windows(&mut law, 4);
    assert!(law.healthy.is_confirmed() && law.limit >= 40.0, "{}", law.limit);
}

#[test]
fn a_descent_before_a_slower_service_ends_where_its_time_does_not_follow() {
    let mut law = healthy(9.0);
    // 70 ms for 20: far over 1.5 × 24. Two steps of 0.7, and the time has stayed: it is that of the service.
    for (jobs, limit) in [(9.0, 6.3), (6.3, 4.41)] {
        law.lower(PairFigures { time: 0.07, jobs, late: 0.0 });
        assert!((law.limit - limit).abs() < 1e-9, "{}", law.limit);
    }
    law.hear_witness(PairFigures { time: 0.07, jobs: 5.9, late: 0.0 });
    assert!((law.limit - 4.41 * 1.5_f64.sqrt()).abs() < 1e-9 && law.floor == law.limit, "9 / 5.9 > 1.5");
    assert_eq!(law.healthy_time(), 0.07);
}

#[test]
fn long_overload_does_not_raise_the_healthy_time() {
    let mut law = healthy(5.0);
    Servers(4.0).windows(&mut law, 5000);
    assert!((law.healthy_time() - SERVICE).abs() < 1e-9 && law.limit < 6.5, "{}", law.limit);
}

#[test]
fn a_refuted_claim_takes_the_limit_back_below_and_pauses() {
    let mut law = healthy(6.0);
    let pair = PairFigures { time: 0.03, jobs: 6.0, late: 0.0 };
    // Crowded at once: 30 ms of 20. The raise to 7.8 is a claim, and the next to 10.14 is heard with half as many more.
    law.raise(pair, true);
    law.raise(PairFigures { time: 0.039, jobs: 7.8, late: 0.0 }, true);
    assert!((law.limit - 10.14).abs() < 1e-9 && (law.floor - 7.8).abs() < 1e-9);
    law.hear_witness(PairFigures { time: 0.0507, jobs: 10.14, late: 0.0 });
    assert!((law.limit - 6.76).abs() < 1e-9, "10.14 / 1.5");
    assert!(law.floor == 1.0 && law.witness.is_refuted());
    law.pair(PairFigures { time: 0.03, jobs: 6.0, late: 0.0 });
    assert!((law.limit - 6.084).abs() < 1e-9, "a tenth less a pair, whatever the experiment says");
    law.pair(PairFigures { time: 0.02, jobs: 4.0, late: 0.0 });
    assert!(!law.witness.is_refuted(), "not crowded any more");
}

#[test]
fn a_slower_service_is_believed_once_its_time_stays_while_more_are_inside() {
    let mut law = healthy(4.0);
    // Twice as long each, and three jobs more for the same: the claim holds.
    law.raise(PairFigures { time: 0.04, jobs: 4.0, late: 0.0 }, true);
    law.hear_witness(PairFigures { time: 0.042, jobs: 6.1, late: 0.1 });
    assert_eq!((law.healthy_time(), law.healthy.late(), law.floor), (0.042, 0.1, 5.2));
}

#[test]
fn an_emergency_cuts_to_what_is_done_in_two_fifths_of_the_objective() {
    let late = |pace| DoorFigures { pace, time: 0.3, late: 0.5, ..Servers(4.0).window(40.0, true) };
    let mut law = healthy(40.0);
    law.emergency(&late(400.0));
    assert!((law.limit - 32.0).abs() < 1e-9, "400/s × 80 ms");
    law.emergency(&late(100.0));
    assert!((law.limit - 19.2).abs() < 1e-9, "8, but at most two fifths less a window");
    // A service of which 45 % are late in health has no emergency at 50 %.
    law.healthy.suppose(&PairFigures { time: 0.1, jobs: 2.0, late: 0.45 });
    law.emergency(&late(100.0));
    assert!((law.limit - 19.2).abs() < 1e-9);
}

/// Doors before one service see 1 - 1/N where the service has no more to give.
#[test]
fn doors_that_race_are_stopped_by_what_they_have_in_common() {
    for doors in [2_u32, 4, 8] {
        let servers = Servers(16.0);
        let mut laws: Vec<HeadwayLaw> = (0..doors).map(|_| healthy(16.0 / f64::from(doors))).collect();
        // Every second door is raised while the others are not, or they would see what is true: that all together gain nothing.
        laws.iter_mut().step_by(2).for_each(|law| servers.windows(law, 1));
        for _ in 0..400 {
            let shares: Vec<f64> = laws.iter().map(|law| f64::from(law.limit())).collect();
            let all = servers.window(shares.iter().sum(), true);
            for (law, share) in laws.iter_mut().zip(&shares) {
                let of_all = share / all.jobs;
                let (pace, in_time) = (all.pace * of_all, all.in_time * of_all);
                let seen = DoorFigures { pace, in_time, ends: all.ends * of_all, jobs: *share, ..all };
                ends(law, &seen);
                law.window(&seen);
            }
        }
        let inside: f64 = laws.iter().map(|law| law.limit).sum();
        // A door that goes down alone sees a time that does not follow, and takes it for the service's: eight end at three times the knee.
        let most = if doors < 8 { 40.0 } else { 52.0 };
        assert!((14.0..most).contains(&inside), "{doors} doors with {inside} inside");
    }
}
