use std::{sync::Arc, time::Duration};

use controllers::{Class, RetryHint, Timestamp};

use super::*;
use crate::{
    persona::{Answer, Call, Method, Move, Stay},
    plan::{Behaviour, FailureRule, Patience, Target},
};

fn call(path: &str) -> Call {
    Call::get(Class(0), path.into(), Arc::from(""))
}

/// The users' service is 127.0.0.1:8080, and they call it mail.example.
fn home() -> Home {
    let (url, host) = ("http://127.0.0.1:8080".into(), "mail.example".into());
    let address = ([127, 0, 0, 1], 8080).into();
    Home::of(&Target { url, address, others: Vec::new(), host, entries: Vec::new() }).expect("it can be read")
}

fn behaviour(on_reject: FailureRule) -> Behaviour {
    Behaviour { on_reject, ..Behaviour::default() }
}

fn sent_on(status: u16, headers: &[(&str, &[u8])], body: &str, call: &Call) -> Onward {
    onward(&Answer::whole(status, headers, body.as_bytes()), call, &home(), &Behaviour::default())
}

#[test]
fn redirects_keep_or_change_the_method_by_their_status() {
    let post = Call { method: Method::Post, body: Some("a=1".into()), ..call("/x") };
    for (status, method) in
        [(301, Method::Get), (302, Method::Get), (303, Method::Get), (307, Method::Post), (308, Method::Post)]
    {
        let Onward::To(next, wait) = sent_on(status, &[("location", b"/y")], "", &post) else {
            panic!("{status} is followed")
        };
        assert_eq!((next.method, &*next.path, wait), (method, "/y", Duration::ZERO), "{status}");
        assert_eq!(next.body.is_some(), method == Method::Post, "{status}");
    }
    assert_eq!(sent_on(304, &[("location", b"/y")], "", &post), Onward::Here);
}

#[test]
fn users_are_not_led_to_other_hosts_nor_in_circles() {
    let here = call("/a/b?c=d");
    for place in [
        "http://elsewhere/",
        "//elsewhere/",
        "http://127.0.0.1:8081/",
        "https://127.0.0.1:8080/",
        "http://127.0.0.1:8080@elsewhere/",
        "http://user@127.0.0.1:8080/",
        "http://127.0.0.1:8080.elsewhere/",
        "mailto:a@b",
    ] {
        assert_eq!(sent_on(307, &[("location", place.as_bytes())], "", &here), Onward::Elsewhere, "{place:?}");
        let refresh = format!("0; url={place}");
        assert_eq!(sent_on(200, &[("refresh", refresh.as_bytes())], "", &here), Onward::Elsewhere, "{place:?}");
    }
    for place in ["/a b", "/a\r\nX: y", "http://127.0.0.1:8080/a b", "/\\elsewhere/", "\\\\elsewhere/"] {
        assert_eq!(sent_on(302, &[("location", place.as_bytes())], "", &here), Onward::Astray, "{place:?}");
    }
    assert_eq!(sent_on(302, &[], "", &here), Onward::Astray);
    let tired = Call { hop: 10, ..here };
    assert_eq!(sent_on(302, &[("location", b"/y")], "", &tired), Onward::Astray);
}

#[test]
fn places_written_in_full_are_followed_on_the_users_own_host() {
    for (place, path) in [
        ("http://127.0.0.1:8080/c?d", "/c?d"),
        ("HTTP://127.0.0.1:8080", "/"),
        ("//127.0.0.1:8080/c", "/c"),
        ("http://MAIL.example/c#e", "/c"),
        ("http://mail.example:80?f", "/?f"),
    ] {
        let refresh = format!("0; url={place}");
        let by_refresh = sent_on(200, &[("refresh", refresh.as_bytes())], "", &call("/a"));
        for onward in [sent_on(302, &[("location", place.as_bytes())], "", &call("/a")), by_refresh] {
            let Onward::To(next, _) = onward else { panic!("{place} is followed") };
            assert_eq!(&*next.path, path, "{place}");
        }
    }
}

#[test]
fn relative_places_are_seen_from_the_page() {
    for (place, path) in [("c", "/a/c"), ("?e=f", "/a/b?e=f"), ("/g#h", "/g")] {
        let Onward::To(next, _) = sent_on(302, &[("location", place.as_bytes())], "", &call("/a/b?c=d")) else {
            panic!("{place} is followed")
        };
        assert_eq!(&*next.path, path);
    }
}

#[test]
fn refresh_waits_as_long_as_it_says() {
    let by_header = sent_on(200, &[("refresh", b"5; url=/turn?n=1")], "", &call("/x"));
    let meta = r#"<head><meta http-equiv="refresh" content="5; URL='/turn?n=1'"></head>"#;
    for onward in [by_header, sent_on(200, &[], meta, &call("/x"))] {
        let Onward::To(next, wait) = onward else { panic!("it is followed") };
        assert_eq!((&*next.path, wait), ("/turn?n=1", Duration::from_secs(5)));
    }
    let Onward::To(again, _) = sent_on(200, &[("Refresh", b"2")], "", &call("/x?y")) else { panic!("it reloads") };
    assert_eq!(&*again.path, "/x?y");
    assert_eq!(sent_on(503, &[("refresh", b"5; url=/y")], "", &call("/x")), Onward::Here);
    assert_eq!(sent_on(200, &[("refresh", b"soon")], "", &call("/x")), Onward::Here);
    let deaf = Behaviour { refresh: false, ..Behaviour::default() };
    let answer = Answer::whole(200, &[("refresh", b"5")], b"");
    assert_eq!(onward(&answer, &call("/x"), &home(), &deaf), Onward::Here);
}

#[test]
fn the_papers_users_wait_five_seconds_and_log_in_again() {
    let mut attempts = RequestAttempts::new(call("/x"));
    let draws = Draws::new(1, 1);
    let rules = Behaviour::default();
    attempts.begin(call("/x"), Timestamp::ZERO, &rules, &draws);
    let reaction = attempts.after_failure(AttemptFailure::Rejected(RetryHint::Unsaid), Stay::Forever, &rules, &draws);
    assert_eq!(reaction, Reaction::NewSession(Duration::from_secs(5)));
}

#[test]
fn retries_count_their_attempts_and_end() {
    let rules = behaviour(FailureRule::RetryNow { attempts: 3 });
    let (mut attempts, draws) = (RequestAttempts::new(call("/x")), Draws::new(1, 1));
    attempts.begin(call("/x"), Timestamp::from_secs(1), &rules, &draws);
    let rejected = AttemptFailure::Rejected(RetryHint::Unsaid);
    for attempt in 1..=2 {
        assert_eq!(attempts.after_failure(rejected, Stay::Forever, &rules, &draws), Reaction::Again(Duration::ZERO));
        let Move::Send(call) = attempts.resume() else { panic!("it sends") };
        assert_eq!((call.attempt, call.wanted_at), (attempt, Timestamp::from_secs(1)));
    }
    assert_eq!(
        attempts.after_failure(rejected, Stay::Forever, &rules, &draws),
        Reaction::NewSession(Duration::from_secs(5))
    );
}

#[test]
fn retry_after_is_honoured_up_to_the_most_the_user_accepts() {
    let rejected = AttemptFailure::Rejected(RetryHint::After(Duration::from_secs(60)));
    let (mut attempts, draws) = (RequestAttempts::new(call("/x")), Draws::new(1, 1));
    for (most, wait) in [(None, 5), (Some(30), 30), (Some(90), 60)] {
        let rules = Behaviour { retry_after_at_most: most.map(Duration::from_secs), ..Behaviour::default() };
        attempts.begin(call("/x"), Timestamp::ZERO, &rules, &draws);
        assert_eq!(
            attempts.after_failure(rejected, Stay::Forever, &rules, &draws),
            Reaction::NewSession(Duration::from_secs(wait))
        );
    }
}

#[test]
fn full_jitter_stays_under_its_doubling_cap() {
    let (base, cap) = (Duration::from_millis(100), Duration::from_millis(350));
    let rules = behaviour(FailureRule::Backoff { base, cap, attempts: 5 });
    let failed = AttemptFailure::Rejected(RetryHint::Unsaid);
    let mut longest = [Duration::ZERO; 4];
    for user in 0..1000 {
        let (mut attempts, draws) = (RequestAttempts::new(call("/x")), Draws::new(1, user));
        attempts.begin(call("/x"), Timestamp::ZERO, &rules, &draws);
        for longest in &mut longest {
            let Reaction::Again(wait) = attempts.after_failure(failed, Stay::Forever, &rules, &draws) else {
                panic!("it tries again")
            };
            *longest = (*longest).max(wait);
        }
    }
    // Bounds are 100, 200, 350, 350 ms; of 1000 uniform draws the largest is over 98 % of the bound but once in 10^8.
    for (longest, bound) in longest.iter().zip([100.0, 200.0, 350.0, 350.0]) {
        let share = longest.as_secs_f64() * 1000.0 / bound;
        assert!((0.98..1.0).contains(&share), "{longest:?} of {bound} ms");
    }
}

#[test]
fn a_retry_budget_bounds_the_share_of_retries() {
    let rules = Behaviour { retry_budget: Some(0.2), ..behaviour(FailureRule::RetryNow { attempts: 3 }) };
    let (mut attempts, draws) = (RequestAttempts::new(call("/x")), Draws::new(1, 1));
    let mut retries = 0;
    for _ in 0..100 {
        attempts.begin(call("/x"), Timestamp::ZERO, &rules, &draws);
        while let Reaction::Again(_) =
            attempts.after_failure(AttemptFailure::Rejected(RetryHint::Unsaid), Stay::Forever, &rules, &draws)
        {
            retries += 1;
        }
    }
    // Retries r among 100 requests keep r <= 0.2 (100 + r), so r = 25.
    assert_eq!(retries, 25);
}

#[test]
fn an_impatient_user_leaves_or_reloads_on_a_new_connection() {
    let (mut attempts, draws) = (RequestAttempts::new(call("/x")), Draws::new(1, 1));
    for reload in [false, true] {
        let lasts = traces::Think::Constant(Duration::from_secs(8));
        let rules = Behaviour { patience: Some(Patience { lasts, reload }), ..Behaviour::default() };
        let Move::Send(sent) = attempts.begin(call("/x"), Timestamp::ZERO, &rules, &draws) else { panic!("it sends") };
        assert_eq!(sent.give_up_after, Some(Duration::from_secs(8)));
        let reaction = attempts.after_failure(AttemptFailure::GaveUp, Stay::OneSession, &rules, &draws);
        let expected = if reload { Reaction::Again(Duration::ZERO) } else { Reaction::Leave };
        assert_eq!(reaction, expected);
        assert_eq!(attempts.call().connection == Connection::Fresh, reload);
    }
}

#[test]
fn mixed_habits_hold_for_a_users_whole_life() {
    let habit = crate::plan::ConnectionHabit::Mixed { keep: 0.25 };
    let keeping = (0..4000)
        .filter(|&user| {
            let mut draws = Draws::new(9, user);
            let first = habit.connection(true, &draws);
            draws.at_step(17);
            assert_eq!(habit.connection(false, &draws), first);
            first == Connection::Keep
        })
        .count();
    // Binomial, mean 1000, standard deviation 27.
    assert!((860..1140).contains(&keeping), "{keeping}");
}
