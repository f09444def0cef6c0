//! Access logs that occur twice.

use super::*;

fn line(second: u32, user: &str, request: &str, end: &str) -> String {
    format!("192.0.2.1 - {user} [21/Nov/2026:01:39:{second:02} +0000] \"GET {request} HTTP/1.1\" {end}\n")
}

/// A log of 60 requests of three users. Every fourth request occurs twice in its second.
fn log() -> Vec<String> {
    let lines = |n: u32| {
        let one = line(n, ["ann", "joe", "sue"][n as usize % 3], &format!("/list?folderid={n}"), "200 99");
        if n.is_multiple_of(4) { vec![one.clone(), one] } else { vec![one] }
    };
    (0..48).flat_map(lines).collect()
}

/// The trace's requests, and the number of duplicates. Parts are small: sorting uses temporary files.
fn imported(files: &[(&str, Vec<u8>)]) -> (Vec<String>, u64) {
    let (mut whole, tally) = shown(files, &options());
    for part in [1, 7] {
        let (parts, again) = shown(files, &Options { part, ..options() });
        assert_eq!((&parts, again.doubled_requests), (&whole, tally.doubled_requests), "{part}");
    }
    whole.retain(|line| !line.contains("leave"));
    (whole, tally.doubled_requests)
}

#[test]
fn an_access_log_and_its_copies_count_once() {
    let lines = log();
    let bytes = || lines.concat().into_bytes();
    let (once, doubled) = imported(&[("access.log", bytes())]);
    assert_eq!((once.len(), doubled), (60, 0), "the same line twice within a file is two requests");
    let gz = || packed(&bytes(), Packing::Gzip);
    assert_eq!(imported(&[("access.log", bytes()), ("copy/access.log", bytes())]), (once.clone(), 60));
    assert_eq!(imported(&[("access.log.1.gz", gz()), ("access.log.1", bytes())]), (once.clone(), 60));
    assert_eq!(imported(&[("a", bytes()), ("b", gz()), ("c", bytes())]), (once.clone(), 120));
    // Overlapping files, such as a log that was copied while it was written to, and its successor.
    let (first, next) = (lines[..37].concat(), lines[30..].concat());
    assert_eq!(
        imported(&[("access.log.1", first.clone().into()), ("access.log", next.clone().into())]),
        (once.clone(), 7)
    );
    assert_eq!(imported(&[("access.log", next.into()), ("access.log.1", first.into())]).1, 7);
    // Files with nothing in common.
    let (first, next) = (lines[..30].concat(), lines[30..].concat());
    assert_eq!(imported(&[("access.log.1", first.into()), ("access.log", next.into())]), (once.clone(), 0));
    // Another zone with the same time.
    let there = lines.concat().replace(":01:39:", ":06:39:").replace("+0000", "+0500");
    assert_eq!(imported(&[("access.log", bytes()), ("there", there.into())]), (once, 60));
}

#[test]
fn lines_that_differ_are_requests_of_their_own() {
    let one = line(5, "joe", "/list?folderid=1", "200 99");
    for other in [
        line(6, "joe", "/list?folderid=1", "200 99"),
        line(5, "ann", "/list?folderid=1", "200 99"),
        line(5, "joe", "/list?folderid=2", "200 99"),
        line(5, "joe", "/list?folderid=1&", "200 99"),
        line(5, "joe", "/list?folderid=1", "304 99"),
        line(5, "joe", "/list?folderid=1", "200 98"),
        line(5, "joe", "/list?folderid=1", "200 -"),
        line(5, "joe", "/list?folderid=1", "200 99 \"-\" \"Firefox\" 0.250"),
    ] {
        let (taken, doubled) = imported(&[("a", one.clone().into()), ("b", other.clone().into())]);
        assert_eq!((taken.len(), doubled), (2, 0), "{other}");
    }
    // Requests that no rule matches are in no trace, and are not counted as duplicates.
    let both = one + &line(5, "joe", "/wiki", "200 99");
    assert_eq!(imported(&[("a", both.clone().into()), ("b", both.into())]).1, 1);
}

#[test]
fn requests_of_a_second_stay_in_the_order_of_their_log() {
    let asked = |n: u32| line(5, "joe", &format!("/show?folderid=3&entry={}", n * 7919 % 1000), "200 99");
    let log: String = (0..200).map(asked).collect();
    let (once, _) = imported(&[("a", log.clone().into())]);
    assert_eq!(once[1], "0 joe show message 3/919");
    assert_eq!(imported(&[("a", log.clone().into()), ("b", log.into())]), (once, 200));
}
