//! Figures of users: fairness and arrivals.

use super::*;

#[test]
fn users_that_are_refused_every_time_show_in_fairness() {
    let mut recorder = recorder();
    for user in 0..10 {
        for n in 0..4 {
            let fate = if user == 3 { Fate::Rejected } else { Fate::Served };
            request(&mut recorder, user, 0, at(1000 * n), fate, ms(10));
        }
    }
    // Late answers count as none, and this is another phase.
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
        let mut again = recorder.plan(user, intent(0, 0, at(1000), 1), at(1100));
        recorder.sent(&mut again, at(1100));
        recorder.end(again, Fate::Served, at(1200));
    }
    let found = finish(recorder).phases[0].fairness.expect("two users");
    assert_eq!((found.users, found.jain, found.worst_tenth), (2, 1.0, 1.0));
}

#[test]
fn closed_users_have_no_arrivals_to_judge() {
    let mut recorder = recorder();
    request(&mut recorder, 0, 0, at(0), Fate::Served, ms(10));
    assert_eq!(finish(recorder).phases[0].arrivals, None);
}
