//! Response times without the generator's own part.

use super::*;

/// A request every 10 ms for 10 s, each answered after 1 ms; a generator that stood still in these times, in which it neither sends
/// nor reads.
fn stopped(pauses: &[(u64, u64)]) -> PhaseReport {
    ended(pauses, |_| Fate::Served)
}

/// The same, with a fate for the request that is due at a time.
fn ended(pauses: &[(u64, u64)], fate: impl Fn(u64) -> Fate) -> PhaseReport {
    let mut recorder = recorder().watching_the_generator();
    let awake = |at: u64| pauses.iter().find(|(from, to)| (*from..*to).contains(&at)).map_or(at, |(_, to)| *to);
    let mut told = 0;
    for start in (0..10_000).step_by(10) {
        let begun = awake(start);
        let over = awake(begun + 1);
        let mut ticket = recorder.plan(0, intent(0, 0, at(start), 0), at(start));
        recorder.begin(&mut ticket, at(begun));
        recorder.sent(&mut ticket, at(begun));
        recorder.end(ticket, fate(start), at(over));
        // Told after the answers were read, as by a host whose tasks run before the one that sees how late it is.
        if let Some((from, to)) = pauses.get(told).filter(|(_, to)| *to <= start) {
            recorder.looked(at(*to), ms(to - from));
            told += 1;
        }
    }
    recorder.looked(at(10_000), Duration::ZERO);
    finish(recorder).phases.swap_remove(0)
}

#[test]
fn without_pauses_both_are_the_same() {
    let found = stopped(&[]);
    let undelayed = found.undelayed.expect("watched");
    assert_eq!((undelayed.response_time_ms, undelayed.stood_still), (found.measured.response_time_ms, 0.0));
}

#[test]
fn what_was_sent_late_and_what_waited_unread_is_taken_off() {
    // The first begins while a request is open: its answer waits. Those that are due meanwhile are late.
    let found = stopped(&[(1001, 1901), (5000, 5400)]);
    let undelayed = found.undelayed.expect("watched");
    assert!((undelayed.stood_still - 0.13).abs() < 1e-9, "{undelayed:?}");
    let (shown, own) = (found.measured.response_time_ms, undelayed.response_time_ms);
    assert!(shown.p90 > Some(100.0) && shown.p99 > Some(700.0), "{shown:?}");
    assert!(own.max < Some(1.1) && own.count == shown.count, "{own:?}");
}

#[test]
fn a_lost_request_is_no_pause_of_the_generator() {
    let tenth_is_lost = |start: u64| if start.is_multiple_of(100) { Fate::Broken } else { Fate::Served };
    for pauses in [&[][..], &[(1001, 1101)]] {
        let found = ended(pauses, tenth_is_lost);
        let (shown, own) = (found.measured.response_time_ms, found.undelayed.expect("watched").response_time_ms);
        assert!(shown.p99_at_least >= Some(1_000.0), "{shown:?}");
        assert_eq!(own.p99_at_least, shown.p99_at_least);
    }
}

#[test]
fn nobody_watches_in_virtual_time() {
    assert_eq!(finish(recorder()).phases[0].undelayed, None);
}
