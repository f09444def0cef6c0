use std::{collections::BTreeMap, time::Duration};

use controllers::{Class, Kind, Timestamp};

use super::*;

mod all_requests;
mod balance;
mod distribution;
mod undelayed;
mod users;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Phases "calm" (0 to 10 s) and "spike" (10 to 20 s), classes 0 and 1, objective 1 s, time-out 60 s.
fn plan() -> RecorderPlan {
    let phase = |name: &str, users| RecorderPhase {
        name: name.to_owned(),
        duration: Duration::from_secs(10),
        users: Some(users),
        independent: false,
    };
    RecorderPlan {
        shard: None,
        phases: vec![phase("calm", 6), phase("spike", 1000)],
        classes: vec![Class(0), Class(1)],
        timeout: Duration::from_secs(60),
        objective: Duration::from_secs(1),
        class_objectives: BTreeMap::new(),
        replays: false,
    }
}

fn intent(kind: u16, class: u8, wanted_at: Timestamp, attempt: u8) -> Intent {
    Intent { kind: Kind(kind), class: Class(class), wanted_at, attempt }
}

fn recorder() -> Recorder {
    Recorder::new(plan(), &["read", "write"])
}

/// A request of user `user` that is begun and written at once, and ends with this fate after this time.
fn request(recorder: &mut Recorder, user: u64, kind: u16, start: Timestamp, fate: Fate, took: Duration) {
    let mut ticket = recorder.plan(user, intent(kind, 0, start, 0), start);
    recorder.begin(&mut ticket, start);
    if !matches!(fate, Fate::ConnectTimedOut | Fate::ConnectFailed | Fate::RefusedLocally | Fate::Unsent) {
        recorder.sent(&mut ticket, start);
    }
    recorder.end(ticket, fate, start + took);
}

fn finish(recorder: Recorder) -> Report {
    let report = recorder.finish(at(30_000), Health::default());
    assert_eq!(report.faults, Vec::<String>::new());
    report
}

#[test]
fn an_answer_that_streams_counts_from_the_time_that_its_host_names() {
    let mut recorder = recorder();
    for (readable, ended) in [(900, 5000), (1100, 1200)] {
        let mut ticket = recorder.plan(1, intent(0, 0, at(0), 0), at(0));
        recorder.sent(&mut ticket, at(100));
        recorder.streamed(&mut ticket, at(readable));
        recorder.end(ticket, Fate::Served, at(ended));
    }
    let measured = finish(recorder).total.measured;
    assert_eq!((measured.served, measured.served_late), (1, 1));
    let max = [&measured.response_time_ms, &measured.response_time_all_ms, &measured.service_time_ms].map(|of| of.max);
    assert_eq!(max.map(|max| max.map(f64::round)), [Some(1100.0), Some(1100.0), Some(4900.0)]);
}

#[test]
fn a_class_may_have_an_objective_of_its_own() {
    let class_objectives = [(Class(1), Duration::from_secs(3))].into();
    let mut recorder = Recorder::new(RecorderPlan { class_objectives, ..plan() }, &["read", "write"]);
    for (kind, class, takes) in [(0, 0, 2), (0, 1, 2), (1, 1, 3), (1, 1, 4), (1, 0, 1)] {
        let mut ticket = recorder.plan(1, intent(kind, class, at(0), 0), at(0));
        recorder.sent(&mut ticket, at(0));
        recorder.end(ticket, Fate::Served, at(takes * 1000));
    }
    let found = recorder.finish(at(20_000), Health::default()).total.measured;
    assert_eq!((found.served, found.served_late), (3, 2), "of class 0 in 1 s, of class 1 in 3 s");
}

#[test]
fn every_fate_has_its_line() {
    let mut recorder = recorder();
    for (user, (fate, took)) in [
        (Fate::Served, 1000),
        (Fate::Served, 1001),
        (Fate::Rejected, 5),
        (Fate::TimedOut, 60_000),
        (Fate::Failed, 5),
        (Fate::Broken, 5),
        (Fate::Elsewhere, 5),
        (Fate::Abandoned, 8000),
        (Fate::InFlight, 9000),
        (Fate::ConnectTimedOut, 10_000),
        (Fate::ConnectFailed, 1),
        (Fate::RefusedLocally, 0),
        (Fate::Unsent, 0),
    ]
    .into_iter()
    .enumerate()
    {
        request(&mut recorder, user as u64, 0, at(1000), fate, ms(took));
    }
    let report = finish(recorder);
    let found = &report.phases[0].measured;
    let expected = Measured {
        planned: 13,
        unsent: 1,
        refused_locally: 1,
        connect_failed: 2,
        connect_timed_out: 1,
        sent: 9,
        served: 1,
        served_late: 1,
        rejected: 1,
        timed_out: 1,
        failed: 3,
        abandoned: 1,
        in_flight: 1,
        retries: 0,
        resent: 0,
        elsewhere: 1,
        hops: 0,
        clients: 13,
        clients_with_connect_timeout: 1.0 / 13.0,
        ..found.clone()
    };
    assert_eq!((found, &report.phases[1].measured), (&expected, &Measured::default()));
    assert_eq!((report.total.measured.planned, report.total.measured.imbalance()), (13, None));
    assert!((found.offered_per_s - 1.3).abs() < 1e-9);
    assert!((found.goodput_per_s - 0.1).abs() < 1e-9);
    assert!((found.reject_fraction - 1.0 / 9.0).abs() < 1e-9);
}

/// The service is gone for a quarter of the time, or breaks connections; and answers quickly with errors for as long.
#[test]
fn what_was_lost_is_longer_than_anything_that_was_answered_and_an_error_is_an_answer() {
    for lost in [Fate::ConnectFailed, Fate::Broken] {
        let mut recorder = recorder();
        for user in 0..300 {
            let fate = if user % 4 == 0 { lost } else { Fate::Served };
            request(&mut recorder, user, 0, at(1000), fate, ms(10));
        }
        let window = recorder.next_window(at(2000), UserStates::default()).expect("a second");
        let times = finish(recorder).total.measured.response_time_ms;
        assert_eq!((times.count, times.censored), (225, 75), "{lost:?}");
        assert!(times.p50.is_some_and(|p50| (10.0..10.1).contains(&p50)), "{times:?}");
        assert_eq!((times.p90, times.p99, times.p99_at_least), (None, None, times.p90_at_least));
        // The users' time-out, in a bucket of three digits.
        assert!(times.p90_at_least.is_some_and(|least| (59_900.0..=60_000.0).contains(&least)), "{times:?}");
        assert_eq!((window.p90_ms, window.p90_at_least_ms), (None, times.p90_at_least));
    }
    let mut recorder = recorder();
    (0..300).for_each(|user| request(&mut recorder, user, 0, at(1000), Fate::Failed, ms(10)));
    assert!(finish(recorder).total.measured.response_time_ms.is_empty());
}

#[test]
fn a_retry_counts_from_when_it_was_wanted_and_is_no_offered_load() {
    let mut recorder = recorder();
    request(&mut recorder, 0, 0, at(0), Fate::Rejected, ms(10));
    // Wanted at 0, retried at 600, served in 500: in time for the attempt, and late for the user that wanted it at 0.
    for wanted in [0, 600] {
        let mut ticket = recorder.plan(0, intent(0, 0, at(wanted), 1), at(600));
        recorder.sent(&mut ticket, at(600));
        recorder.end(ticket, Fate::Served, at(1100));
    }
    let report = finish(recorder);
    let ledger = &report.total.measured;
    assert_eq!((ledger.planned, ledger.retries, ledger.served, ledger.served_late), (3, 2, 1, 1));
    assert_eq!((ledger.first_attempts(), ledger.amplification()), (1, Some(3.0)));
}

#[test]
fn hops_are_of_one_request_and_the_wire_has_them_all() {
    let mut recorder = recorder();
    let mut ticket = recorder.plan(0, intent(0, 0, at(0), 0), at(0));
    recorder.sent(&mut ticket, at(0));
    recorder.hop(&ticket);
    recorder.hop(&ticket);
    recorder.end(ticket, Fate::Served, at(900));
    let ledger = finish(recorder).total.measured;
    assert_eq!((ledger.planned, ledger.served, ledger.written()), (1, 1, 3));
}

#[test]
fn a_request_that_is_written_again_on_a_new_connection_is_in_flight_since_the_first_write() {
    let mut recorder = recorder();
    for user in 0..10 {
        let mut ticket = recorder.plan(user, intent(0, 0, at(0), 0), at(0));
        recorder.sent(&mut ticket, at(0));
        // The service was restarted meanwhile.
        recorder.sent(&mut ticket, at(1700));
        recorder.end(ticket, Fate::Served, at(1800));
    }
    let report = finish(recorder);
    assert!(report.little.difference() < 1e-9, "{:?}", report.little);
    assert_eq!((report.total.measured.sent, report.total.measured.service_time_ms.max), (10, Some(1800.0)));
}

#[test]
fn a_phase_owns_what_was_meant_to_start_in_it() {
    let mut recorder = recorder();
    request(&mut recorder, 0, 1, at(9999), Fate::Served, ms(5000));
    request(&mut recorder, 1, 0, at(10_000), Fate::Served, ms(1));
    // A user goes on for a moment after the end: the end of the last phase counts it.
    request(&mut recorder, 1, 0, at(20_001), Fate::Served, ms(1));
    let report = finish(recorder);
    assert_eq!(report.phases.iter().map(|p| p.measured.planned).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(report.phases[0].by_type.keys().collect::<Vec<_>>(), ["write"]);
    assert_eq!(report.phases[0].users, Some(6));
    assert_eq!(report.phases[1].by_class["0"].planned, 2);
    assert_eq!(report.phases[1].by_class["1"].planned, 0);
}

#[test]
fn a_phase_that_is_cut_off_is_measured_by_what_it_lasted() {
    let mut recorder = recorder();
    for second in 0..14 {
        request(&mut recorder, 0, 0, at(second * 1000 + 500), Fate::Served, ms(1));
    }
    recorder.stop(at(14_000));
    recorder.stop(at(15_000));
    let report = finish(recorder);
    let lasted = |report: &Report| report.phases.iter().map(|p| (p.seconds, p.cut_off)).collect::<Vec<_>>();
    assert_eq!(lasted(&report), [(10.0, false), (4.0, true)]);
    let goodput = report.phases[1].measured.goodput_per_s;
    assert!((goodput - 1.0).abs() < 1e-9, "4 in 4 s: {goodput}");
    let again = report.record(|_| false).report().expect("it makes sense");
    assert_eq!(lasted(&again), lasted(&report));
    // A request that had not begun took no time.
    let mut early = self::recorder();
    early.stop(at(3000));
    assert_eq!(lasted(&finish(early)), [(3.0, true), (0.0, true)]);
}

#[test]
fn a_part_of_a_phase_can_be_read_afterwards() {
    let mut recorder = recorder();
    for second in 10..20 {
        request(&mut recorder, 0, 0, at(second * 1000 + 500), Fate::Served, ms(second));
    }
    let report = finish(recorder);
    let half = report.part("spike", 0.5..1.0).expect("there is a spike");
    assert_eq!((half.measured.planned, half.seconds), (5, 5.0));
    assert_eq!(half.measured.response_time_ms.max, Some(19.0));
    assert!((half.measured.offered_per_s - 1.0).abs() < 1e-9);
    assert!(report.part("lull", 0.0..1.0).is_none());
}

#[test]
fn rejects_do_not_make_responses_look_quick() {
    let mut recorder = recorder();
    for n in 0..100 {
        request(&mut recorder, n, 0, at(0), Fate::Rejected, ms(1));
        request(&mut recorder, n, 0, at(0), Fate::Served, ms(500));
    }
    let total = finish(recorder).total.measured;
    assert!(total.response_time_ms.p50.is_some_and(|p50| p50 > 499.0));
    assert!(total.reject_time_ms.p50.is_some_and(|p50| p50 < 1.1));
    assert_eq!((total.response_time_ms.count, total.reject_time_ms.count), (100, 100));
}

#[test]
fn connect_time_outs_are_waits_of_users_too() {
    let mut recorder = recorder();
    for user in 0..50 {
        request(&mut recorder, user, 0, at(0), Fate::Served, ms(100));
        request(&mut recorder, user % 25, 0, at(0), Fate::ConnectTimedOut, ms(10_000));
    }
    let total = finish(recorder).total.measured;
    assert_eq!((total.clients, total.clients_with_connect_timeout), (50, 0.5));
    assert_eq!(total.response_time_ms.p90, None);
    assert!(total.response_time_ms.p90_at_least.is_some_and(|p90| p90 > 9_980.0));
    assert_eq!(total.connect_time_ms.censored, 50);
}

#[test]
fn lateness_of_the_generator_is_send_lag_and_response_time_both() {
    let mut recorder = recorder();
    let mut ticket = recorder.plan(0, intent(0, 0, at(0), 0), at(0));
    recorder.begin(&mut ticket, at(40));
    recorder.connected(&ticket, ms(10));
    recorder.sent(&mut ticket, at(50));
    recorder.end(ticket, Fate::Served, at(70));
    let report = finish(recorder);
    assert_eq!(report.generator.send_lag_max_ms, Some(40.0));
    let total = report.total.measured;
    assert_eq!((total.response_time_ms.mean, total.service_time_ms.mean), (Some(70.0), Some(20.0)));
    assert_eq!(total.connect_time_ms.mean, Some(10.0));
}

#[test]
fn windows_hold_what_happened_in_their_second() {
    let mut recorder = recorder();
    assert_eq!(recorder.next_window(at(999), UserStates::default()), None);
    request(&mut recorder, 0, 0, at(100), Fate::Served, ms(100));
    let mut open = recorder.plan(1, intent(0, 0, at(900), 0), at(900));
    recorder.sent(&mut open, at(900));
    let users = UserStates { thinking: 2, ..UserStates::default() };
    let first = recorder.next_window(at(1000), users).expect("a second is over");
    assert_eq!((first.second, first.offered, first.served, first.in_flight, first.users), (0, 2, 1, 1, users));
    assert_eq!((first.p50_ms, first.send_lag_p99_ms), (None, Some(0.001)), "too few for a median");
    recorder.end(open, Fate::Rejected, at(1500));
    // The host was late: three seconds close at once, and the first of them has all counts.
    let late: Vec<Window> = std::iter::from_fn(|| recorder.next_window(at(4200), users)).collect();
    assert_eq!(late.iter().map(|w| (w.second, w.rejected)).collect::<Vec<_>>(), [(1, 1), (2, 0), (3, 0)]);
}

#[test]
fn littles_law_holds() {
    let mut recorder = recorder();
    for n in 0..20 {
        request(&mut recorder, n, 0, at(n * 1000), Fate::Served, ms(500));
    }
    // One request a second for 20 s of 30, each 0.5 s in flight: 20 · 0.5 / 30.
    let report = finish(recorder);
    assert!((report.little.mean_in_flight - 1.0 / 3.0).abs() < 1e-9, "{:?}", report.little);
    assert!(report.little.difference() < 1e-9);
}

#[test]
fn littles_law_holds_for_requests_that_are_cut_off_long_before_the_books_are_closed() {
    let mut recorder = recorder();
    let mut ticket = recorder.plan(0, intent(0, 0, at(0), 0), at(0));
    recorder.sent(&mut ticket, at(0));
    recorder.end(ticket, Fate::InFlight, at(1000));
    let report = recorder.finish(at(10_000), Health::default());
    assert_eq!(report.total.measured.in_flight, 1);
    assert!(report.little.difference() < 1e-9, "{:?}", report.little);
}

#[test]
fn littles_law_holds_for_a_host_that_learns_late_of_its_writes() {
    let mut recorder = recorder();
    for user in 0..2 {
        let mut ticket = recorder.plan(user, intent(0, 0, at(100), 0), at(100));
        recorder.sent(&mut ticket, at(100));
        recorder.end(ticket, Fate::Served, at(1100));
    }
    // Both were in flight for the same second, but the second was reported after the end of the first.
    let report = finish(recorder);
    assert!((report.little.mean_in_flight - 2.0 / 30.0).abs() < 1e-9, "{:?}", report.little);
    assert!(report.little.difference() < 1e-9);
}

#[test]
fn histograms_go_out_whole() {
    let mut recorder = recorder();
    request(&mut recorder, 0, 1, at(0), Fate::Served, ms(1));
    request(&mut recorder, 0, 0, at(0), Fate::TimedOut, ms(60_000));
    let report = finish(recorder);
    let all = report.distribution("calm", TimeFamily::Response, None).expect("there are some");
    assert!(!all.known_as_v2().expect("it encodes").is_empty());
    assert!(all.censored_as_v2().expect("it encodes").is_some());
    let writes = report.distribution("calm", TimeFamily::Response, Some("write")).expect("there are some");
    assert_eq!((writes.count(), writes.censored()), (1, 0));
}
