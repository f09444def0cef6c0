//! Hostile files: nothing panics, and the valid part is imported.

use proptest::prelude::*;

use super::*;
use crate::{
    importer::{Importer, Mark},
    importers::IMPORTERS,
};

/// A valid beginning for each format, so that random bytes reach its importer.
const BEGINNINGS: [(Format, &str, &[u8]); 10] = [
    (Format::MailLog, "events", b"{\"event\":\"imap_command_finished\",\"start_time\":\"2026-11-21T01:39:32Z\","),
    (
        Format::MailLog,
        "mail.log",
        b"Nov 21 01:39:32 mail dovecot: imap-login: Login: user=<joe>, session=<S1>\nNov 21 01:39:33 m imap(",
    ),
    (Format::MailLog, "courier.log", b"Nov 21 01:39:32 mail imapd: LOGIN, user="),
    (Format::Rawlog, "a/b/1.in", b"1795225172.100000 A1 LOGIN {3}\n1795225172.100000 "),
    (Format::Telemetry, "log/joe/1", b"<1795225172<A1 SELECT {7+}\r\n"),
    (Format::Roundcube, "imap.log", b"[21-Nov-2026 01:39:32 +0000]: <abc> [12] C: A1 FETCH "),
    (
        Format::AccessLog,
        "access.log",
        b"::1 - - [21/Nov/2026:01:39:32 +0000] \"GET /list HTTP/1.1\" 200 5\n::1 - - [21/Nov/2026:01:39:32 +0000] \"",
    ),
    (Format::Har, "a.har", b"{\"log\":{\"creator\":{},\"entries\":["),
    (Format::Script, "script", b"0.0\t/list\n"),
    // pcap: little-endian, Ethernet; then a packet of 100 bytes at second 1, whose rest follows.
    (
        Format::Capture,
        "a.pcap",
        b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0\
          \x01\0\0\0\0\0\0\0\x64\0\0\0\x64\0\0\0\
          \x02\x02\x02\x02\x02\x02\x01\x01\x01\x01\x01\x01\x08\0\x45\0\0\x56\0\0\x40\0\x40\x06\0\0\
          \xc0\0\x02\x01\xc0\0\x02\x02\x9c\x40\0\x8f",
    ),
];

pub(super) fn tried(name: &str, bytes: Vec<u8>) {
    // Small parts, so that temporary files are used too.
    let options = Options { part: 3, ..options() };
    if let Ok((text, _)) = import_all(&[(name, bytes)], &options) {
        // The output is a trace, whatever the input.
        let mut reader = Reader::new(text.as_bytes()).expect("a trace");
        while reader.next_record().expect("sound").is_some() {}
    }
}

proptest! {
    #[test]
    fn no_bytes_panic_an_importer(bytes in prop::collection::vec(any::<u8>(), 0..200), which in 0..BEGINNINGS.len()) {
        let (_, name, beginning) = BEGINNINGS[which];
        tried(name, [beginning, &bytes].concat());
        tried(name, bytes);
    }

    #[test]
    fn no_words_of_a_protocol_panic_an_importer(
        text in "([A-Z]{1,6}| |\r\n|\n|[0-9:*,]{1,4}|[\\[\\](){}<>\"'\\\\|=+-]|\\{[0-9]{1,3}\\}|BODY|FETCH|STORE|é|\u{0})*",
        which in 0..BEGINNINGS.len(),
    ) {
        let (_, name, beginning) = BEGINNINGS[which];
        tried(name, [beginning, text.as_bytes()].concat());
    }
}

#[test]
fn the_oldest_and_the_newest_time_and_a_file_without_a_name_make_a_trace() {
    let event = |time: &str| event("10.000", 3, "S1", "LIST", "").replace("2026-11-21T01:39:10.000", time);
    let log = [event("1970-01-01T00:00:00.000"), event("2099-12-31T23:59:59.000")].concat();
    let (shown, _) = actions(&[("a", &log)], &options());
    assert_eq!(shown.len(), 3, "{shown:?}");
    let (shown, _) = actions(&[(".in", "1795225172.100000 A1 SELECT INBOX\n")], &options());
    assert_eq!(shown.len(), 3, "{shown:?}");
}

#[test]
fn a_huge_line_is_passed_over_and_named() {
    let good = event("10.000", 3, "S1", "LIST", "\"\" \"*\"");
    let huge = event("10.100", 3, "S1", "FETCH", &"1,".repeat(1 << 20));
    let next = event("10.200", 3, "S1", "SELECT", "INBOX");
    let (shown, tally) = actions(&[("a", &[good.as_str(), &huge, &next].concat())], &options());
    assert_eq!(shown.len(), 3, "{shown:?}");
    let expected = format!("line 2 (byte {}): the line is over 1 MiB", good.len());
    assert_eq!(tally.files[0].examples, [expected]);
}

#[test]
fn a_packed_file_that_was_cut_gives_what_stands_before_and_says_where() {
    // Sessions with incompressible names: zstd returns a block at a time, and this log has many.
    let log: String = (0_u64..4000)
        .map(|n| {
            let session = format!("{:016x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            event(&format!("{}.000", 10 + n / 100), 3, &session, "FETCH", &format!("{n} RFC822"))
        })
        .collect();
    for packing in [Packing::Gzip, Packing::Zstd] {
        let packed = packed(log.as_bytes(), packing);
        let (_, whole) = import_all(&[("a", packed.clone())], &options()).expect("a trace");
        assert_eq!((whole.files[0].units, &whole.files[0].cut), (4000, &None));
        let (_, tally) = import_all(&[("a", packed[..packed.len() - 20].to_vec())], &options())
            .unwrap_or_else(|error| panic!("{packing:?}: {error}"));
        let cut = tally.files[0].cut.as_ref().expect("it was cut");
        let (line, byte) = place(cut).unwrap_or_else(|| panic!("{packing:?}: {cut}"));
        let units = tally.files[0].units;
        // The position is where reading stopped: after the last complete line.
        assert!(units > 2000 && units < 4000, "{packing:?}: {units}");
        assert!(line > units && byte > units * 200 && byte < log.len() as u64, "{packing:?}: {cut}, {units} units");
    }
}

/// The numbers of `line 12 (byte 345): …`.
fn place(said: &str) -> Option<(u64, u64)> {
    let (line, rest) = said.strip_prefix("line ")?.split_once(" (byte ")?;
    let (byte, _) = rest.split_once(')')?;
    Some((line.parse().ok()?, byte.parse().ok()?))
}

#[test]
fn a_packed_file_that_is_cut_before_its_first_line_names_the_file() {
    let packed = packed(event("10.000", 3, "S1", "LIST", "").as_bytes(), Packing::Zstd);
    let error = import_all(&[("mail.log.zst", packed[..packed.len() - 20].to_vec())], &options()).expect_err("no line");
    assert!(error.to_string().contains("mail.log.zst"), "{error}");
}

#[test]
fn each_format_has_a_beginning_that_it_alone_recognises() {
    for (of, name, bytes) in BEGINNINGS {
        assert_eq!(Format::of(bytes), Some(of), "{name}");
        let text = String::from_utf8_lossy(bytes);
        let recognises = |importer: &Importer| match importer.mark {
            Mark::Beginning(begins) => begins(bytes),
            Mark::Line(certainty) => text.lines().any(|line| certainty(line).is_some()),
        };
        let by = IMPORTERS.iter().filter(|(_, importer)| recognises(importer)).map(|(format, _)| *format);
        assert_eq!(by.collect::<Vec<_>>(), [of], "{name}");
    }
    for (format, _) in IMPORTERS {
        assert!(BEGINNINGS.iter().any(|(of, ..)| of == format), "{format:?} has no beginning above");
    }
}
