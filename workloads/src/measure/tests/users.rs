//! What the recorder tells of users: who got what, and how they came.

use super::*;
use crate::plan::ArrivalLaw;

#[test]
fn users_that_are_refused_every_time_show_in_fairness() {
    let mut recorder = recorder();
    for user in 0..10 {
        for n in 0..4 {
            let fate = if user == 3 { Fate::Rejected } else { Fate::Served };
            request(&mut recorder, user, 0, at(1000 * n), fate, ms(10));
        }
    }
    // Late is as good as nothing, and of another phase.
    request(&mut recorder, 0, 0, at(11_000), Fate::Served, ms(10));
    request(&mut recorder, 1, 0, at(11_000), Fate::Served, ms(1500));
    let report = finish(recorder);
    let calm = report.phases[0].fairness.expect("ten users");
    assert_eq!((calm.users, calm.worst_tenth), (10, 0.0));
    assert!((calm.jain - 0.9).abs() < 1e-12, "{calm:?}");
    assert_eq!(report.phases[1].fairness.expect("two users").jain, 0.5);
    assert_eq!(report.part("calm", 0.0..0.5).expect("a part").fairness, None, "users are counted for whole phases");
}

#[test]
fn a_want_that_is_met_by_a_retry_is_one_want() {
    let mut recorder = recorder();
    for user in 0..2 {
        request(&mut recorder, user, 0, at(1000), Fate::Rejected, ms(10));
        let mut again = recorder.plan(user, &call(0, 0, at(1000), 1), at(1100));
        recorder.sent(&mut again, at(1100));
        recorder.end(again, Fate::Served, at(1200));
    }
    let found = finish(recorder).phases[0].fairness.expect("two users");
    assert_eq!((found.users, found.jain, found.worst_tenth), (2, 1.0, 1.0));
}

/// One phase of 20 s with 100 requests a second, let in as planned or in heaps.
fn dispersion(late: impl Fn(u64) -> u64) -> Dispersion {
    let mut plan = plan();
    plan.phases.truncate(1);
    plan.phases[0].duration = Duration::from_secs(20);
    plan.phases[0].loads =
        vec![Load::Requests { from_per_s: 100.0, to_per_s: 100.0, law: ArrivalLaw::Poisson, class: Class(0) }];
    let mut recorder = Recorder::new(&plan, &["read"]);
    let mut user = 0;
    for event in crate::Schedule::new(&plan) {
        if !matches!(event.what, crate::schedule::ScheduleChange::Arrive(_)) {
            continue;
        }
        let mut ticket = recorder.plan(user, &call(0, 0, event.at, 0), event.at);
        let now = event.at + ms(late(event.at.as_nanos() / 1_000_000));
        recorder.sent(&mut ticket, now);
        recorder.end(ticket, Fate::Served, now + ms(1));
        // A second request of the same user is no arrival.
        request(&mut recorder, user, 0, event.at + ms(1), Fate::Served, ms(1));
        user += 1;
    }
    finish(recorder).phases[0].arrivals.expect("open arrivals at one rate")
}

#[test]
fn arrivals_that_are_let_in_as_planned_vary_as_they_should() {
    let found = dispersion(|_| 0);
    assert_eq!(found.windows, 200);
    assert!((8.0..12.0).contains(&found.per_window), "{found:?}");
    assert!((0.70..1.36).contains(&found.index), "{found:?}");
}

#[test]
fn a_generator_that_works_in_bursts_shows_as_bunches() {
    // Nothing in the first 400 ms of every half second.
    let found = dispersion(|at| 400_u64.saturating_sub(at % 500));
    assert!(found.index > 5.0, "{found:?}");
}

#[test]
fn closed_users_have_no_arrivals_to_judge() {
    let mut recorder = recorder();
    request(&mut recorder, 0, 0, at(0), Fate::Served, ms(10));
    assert_eq!(finish(recorder).phases[0].arrivals, None);
}
