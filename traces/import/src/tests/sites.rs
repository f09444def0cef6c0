//! Logs as real sites have them: in local time, rotated, copied, in many files.

use super::*;

/// A login line at `01:39:…` by a clock that is this many hours ahead.
fn login(hours: u32, second: &str, session: &str) -> String {
    let hour = 1 + hours;
    format!(
        "2026-11-21 {hour:02}:39:{second} imap-login: Info: Login: user=<joe>, rip=192.0.2.1, session=<{session}>\n"
    )
}

fn disconnected(hours: u32, second: &str, session: &str) -> String {
    format!(
        "2026-11-21 {:02}:39:{second} imap(joe)<87><{session}>: Info: Disconnected: Logged out body_count=1\n",
        1 + hours
    )
}

/// Events of two sessions: folders, then a message.
fn two_sessions() -> String {
    [
        event("10.500", 3, "S1", "LIST", "\"\" \"*\""),
        event("11.500", 9, "S1", "FETCH", "4 (RFC822)"),
        event("20.500", 3, "S2", "LIST", "\"\" \"*\""),
        event("21.500", 9, "S2", "FETCH", "4 (RFC822)"),
    ]
    .concat()
}

const TWO_SESSIONS: [&str; 8] = [
    "0 joe login",
    "250 joe list folders",
    "1250 joe show message /4",
    "2750 joe leave",
    "10000 joe login",
    "10250 joe list folders",
    "11250 joe show message /4",
    "12750 joe leave",
];

#[test]
fn login_lines_in_local_time_are_brought_to_the_clock_of_the_events() {
    let lines = |hours: u32| {
        [
            login(hours, "10.250000", "S1"),
            disconnected(hours, "13.000000", "S1"),
            login(hours, "20.250000", "S2"),
            disconnected(hours, "23.000000", "S2"),
        ]
        .concat()
    };
    for hours in [0, 2] {
        let (shown, tally) = actions(&[("dovecot.log", &lines(hours)), ("events", &two_sessions())], &options());
        assert_eq!(shown, TWO_SESSIONS, "{hours}");
        assert_eq!((tally.sessions, tally.without_login, tally.out_of_order), (2, 0, 0));
        let zone = tally.zone.map(|zone| (zone.found, zone.asked, zone.agree, zone.of));
        assert_eq!(zone, (hours > 0).then(|| ("+02:00".to_owned(), None, 2, 2)));
    }
    // All lines in one file, as Dovecot writes it, are in order.
    let one: Vec<String> = [
        login(2, "10.250000", "S1"),
        format!("2026-11-21 03:39:10.503 stats: Info: {}", event("10.500", 3, "S1", "LIST", "\"\" \"*\"")),
        login(2, "10.750000", "S9"),
        format!("2026-11-21 03:39:11.509 stats: Info: {}", event("11.500", 9, "S1", "FETCH", "4 (RFC822)")),
    ]
    .into();
    let (shown, tally) = actions(&[("dovecot.log", &one.concat())], &options());
    assert_eq!(shown[..3], ["0 joe login", "250 joe list folders", "500 joe login"], "{shown:?}");
    assert_eq!((tally.sessions, tally.out_of_order), (2, 0));
    // A zone given as an option takes precedence; the disagreement is reported.
    let mut zoned = options();
    zoned.clock.zone = Some(7200);
    let files = [("dovecot.log", lines(2)), ("events", two_sessions())];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let (shown, tally) = actions(&files, &zoned);
    assert_eq!((shown[..].to_vec(), tally.zone), (TWO_SESSIONS.map(str::to_owned).to_vec(), None));
    zoned.clock.zone = Some(3600);
    let (_, tally) = actions(&files, &zoned);
    let zone = tally.zone.expect("at odds");
    assert_eq!((zone.found.as_str(), zone.asked.as_deref(), tally.sessions), ("+02:00", Some("+01:00"), 2));
}

#[test]
fn clocks_that_cannot_be_compared_are_an_error_that_names_the_zone() {
    let said = |log: String| {
        let files = [("dovecot.log", log.into_bytes()), ("events", two_sessions().into_bytes())];
        import_all(&files, &options()).expect_err("no zone").to_string()
    };
    let apart = said(login(1, "10.250000", "S1") + &login(2, "20.250000", "S2"));
    assert!(apart.contains("+01:00 by 1") && apart.contains("+02:00 by 1") && apart.contains("--zone"), "{apart}");
    let strangers = said(login(1, "10.250000", "S7"));
    assert!(strangers.contains("no session is in both") && strangers.contains("--zone"), "{strangers}");
    // A log with logins alone has nothing to compare with.
    assert!(import_all(&[("log", login(1, "10.2", "S1").into_bytes())], &options()).is_ok());
}

#[test]
fn a_login_is_when_the_more_precise_of_two_lines_says() {
    let over = session_over("S1", "10.251000", "13.001");
    let events = [event("10.400", 3, "S1", "LIST", "\"\" \"*\""), over].concat();
    for line in [login(0, "10", "S1"), login(0, "11", "S1")] {
        let (shown, tally) = actions(&[("dovecot.log", &line), ("events", &events)], &options());
        assert_eq!(shown, ["0 joe login", "149 joe list folders", "2750 joe leave"], "{line}");
        assert_eq!(tally.coarse_logins, 0);
    }
    let event = event("10.400", 3, "S1", "LIST", "\"\" \"*\"");
    let (shown, tally) = actions(&[("dovecot.log", &login(0, "10", "S1")), ("events", &event)], &options());
    assert_eq!((shown[1].as_str(), tally.coarse_logins), ("400 joe list folders", 1));
}

#[test]
fn a_file_that_is_empty_or_foreign_among_others_is_passed_over() {
    let events = two_sessions();
    let trace = "{\"trace\":1,\"name\":\"\"}\n";
    let empty_and_packed = packed(b"", Packing::Gzip);
    let files = [
        ("dovecot.log", Vec::new()),
        ("dovecot.log.1.gz", empty_and_packed),
        ("README.md", b"# Notes\n".to_vec()),
        ("events", events.clone().into_bytes()),
        ("old.trace", trace.into()),
    ];
    let (found, tally) = shown(&files, &options());
    assert_eq!(found, actions(&[("events", &events)], &options()).0);
    let skipped: Vec<_> = tally.files.iter().map(|file| (file.name.as_str(), file.skipped.as_deref())).collect();
    let empty = Some("it is empty");
    assert_eq!(
        skipped,
        [
            ("dovecot.log", empty),
            ("dovecot.log.1.gz", empty),
            ("README.md", Some("it is none of the formats that can be imported")),
            ("events", None),
            ("old.trace", Some("it is a trace already"))
        ]
    );
    // Without any other file the import fails.
    let said = |files: &[(&str, Vec<u8>)]| import_all(files, &options()).expect_err("nothing").to_string();
    assert_eq!(said(&files[..1]), "dovecot.log: it is empty");
    let nothing = said(&files[..3]);
    assert!(nothing.contains("README.md: it is none of the formats"), "{nothing}");
}

#[test]
fn thousands_of_files_make_a_trace_that_can_be_read() {
    // One line per session, as in rawlogs; some of them are broken.
    let one = |number: u32| {
        let text = format!(
            "1795225172.{number:06} A1 LIST \"\" *\n{}",
            "x\n".repeat(usize::from(number.is_multiple_of(2)) * 6)
        );
        (format!("raw/joe/20261121-013932-{number}-{}.in", "n".repeat(200)), text.into_bytes())
    };
    let files: Vec<_> = (0..3000).map(one).collect();
    let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let (found, tally) = shown(&files, &options());
    assert_eq!(found.len(), 3 * 3000, "a login that was put in, a list, an end");
    let more = tally.more.expect("a sum");
    assert_eq!((more.files + tally.files.len() as u64, tally.sessions), (3000, 3000));
    let units = |file: &FileTally| file.units;
    assert_eq!(more.units + tally.files.iter().map(units).sum::<u64>(), 7 * 1500 + 1500);
}

#[test]
fn the_same_log_twice_and_a_rawlog_beside_events_count_once() {
    let events = two_sessions().replace("\"cmd_name\"", "\"cmd_tag\":\"7\",\"cmd_name\"");
    let (once, tally) = actions(&[("events", &events)], &options());
    assert_eq!(tally.doubled, 0);
    let (twice, tally) = actions(&[("events.1", &events), ("events.1.copy", &events)], &options());
    assert_eq!((&twice, tally.doubled, tally.sessions), (&once, 4, 2));
    let login = login(0, "10.250000", "S1");
    let (twice, tally) = actions(&[("a", &login), ("b", &login)], &options());
    assert_eq!((twice, tally.sessions), (vec!["0 joe login".to_owned()], 1));

    // 01:39:10 is 1795225150.
    let raw = "1795225150.500400 7 LIST \"\" \"*\"\n1795225151.500200 7 FETCH 4 (RFC822)\n1795225151.900000 8 NOOP\n";
    let files = [("raw/joe/20261121-013910-87.in", raw), ("events", events.as_str())];
    let (both, tally) = actions(&files, &options());
    // The rawlog ends; the events do not report when.
    let mut expected = once.clone();
    expected.insert(3, "1400 joe leave".to_owned());
    assert_eq!((both, tally.doubled, tally.sessions), (expected, 2, 2));
    // Another user's rawlog, with the same tags at the same time, is another session.
    let (_, tally) = actions(&[("raw/ann/1.in", raw), ("events", &events)], &options());
    assert_eq!((tally.doubled, tally.sessions), (0, 3));
}

#[test]
fn users_of_an_access_log_are_told_apart_behind_virtual_hosts_and_proxies() {
    let line = |who: &str, end: &str| {
        format!("{who} [21/Nov/2026:01:39:32 +0000] \"GET /list HTTP/1.1\" 200 99 \"-\" \"Firefox\"{end}\n")
    };
    let users = |lines: &[String]| {
        let (shown, tally) = actions(&[("access.log", &lines.concat())], &options());
        assert_eq!(tally.files[0].not_understood, 0, "{lines:?}");
        let user =
            |line: &String| line.split(' ').skip(1).take_while(|word| *word != "list").collect::<Vec<_>>().join(" ");
        shown.iter().map(user).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    // Apache's vhost_combined, Debian's other_vhosts_access.log.
    let hosts =
        ["mail.example:443 192.0.2.1 - -", "mail.example:443 192.0.2.2 - -", "mail.example:443 2001:db8::1 - joe"];
    assert_eq!(users(&hosts.map(|who| line(who, ""))), ["192.0.2.1 Firefox", "192.0.2.2 Firefox", "joe"]);
    // X-Forwarded-For in place of the address: the first is the client, after any number of proxies.
    let lists = [
        "192.0.2.1, 10.0.0.7 - -",
        "192.0.2.1, 10.0.0.8, 10.0.0.9 - -",
        "192.0.2.2,10.0.0.7 - -",
        "\"192.0.2.3, 10.0.0.7\" - -",
    ];
    assert_eq!(users(&lists.map(|who| line(who, ""))), ["192.0.2.1 Firefox", "192.0.2.2 Firefox", "192.0.2.3 Firefox"]);
    // And at the end of the line, as nginx's own example has it.
    let ends = [" \"192.0.2.1, 10.0.0.7\"", " \"192.0.2.2\"", " \"-\""];
    assert_eq!(
        users(&ends.map(|end| line("10.0.0.7 - -", end))),
        ["10.0.0.7 Firefox", "192.0.2.1 Firefox", "192.0.2.2 Firefox"]
    );
    // The usual forms.
    let plain = ["client.example - -", "192.0.2.1 - john doe", "192.0.2.1:4711 - -"];
    assert_eq!(users(&plain.map(|who| line(who, ""))), ["192.0.2.1 Firefox", "client.example Firefox", "john doe"]);
}

#[test]
fn clients_with_names_are_told_apart_from_virtual_hosts() {
    let user = |who: &str| {
        let line = format!("{who} [21/Nov/2026:01:39:32 +0000] \"GET /list HTTP/1.1\" 200 99 \"-\" \"Firefox\"\n");
        let (shown, tally) = actions(&[("access.log", &line)], &options());
        assert_eq!(tally.files[0].not_understood, 0, "{who}");
        let user = shown[0].strip_prefix("0 ").and_then(|rest| rest.split_once(" list messages")).expect("a list").0;
        user.strip_suffix(" Firefox").unwrap_or(user).to_owned()
    };
    for (who, expected) in [
        // HostnameLookups On; with identd, and with user names that contain spaces.
        ("client.example - -", "client.example"),
        ("client.example - joe", "joe"),
        ("client.example - john doe", "john doe"),
        ("client.example ident -", "client.example"),
        ("client.example ident john doe", "john doe"),
        ("client.example:4711 - -", "client.example"),
        ("localhost - -", "localhost"),
        // vhost_combined, with and without the port.
        ("mail.example:443 client.example - -", "client.example"),
        ("mail.example:443 client.example - joe", "joe"),
        ("mail.example:443 client.example - john doe", "john doe"),
        ("mail.example:443 client.example ident joe", "joe"),
        ("mail.example:443 localhost - -", "localhost"),
        ("mail.example client.example - -", "client.example"),
        ("mail.example localhost - john doe", "john doe"),
        ("mail.example client.example ident joe", "joe"),
        ("mail client - -", "client"),
        // Hosts and clients without names.
        ("192.0.2.9:443 192.0.2.1 - -", "192.0.2.1"),
        ("192.0.2.9:443 client.example - -", "client.example"),
        ("[2001:db8::9]:443 2001:db8::1 - -", "2001:db8::1"),
        ("[2001:db8::1]:4711 - -", "2001:db8::1"),
        ("mail.example:443 192.0.2.1, 10.0.0.7 - -", "192.0.2.1"),
        ("unknown, 192.0.2.1 - -", "192.0.2.1"),
    ] {
        assert_eq!(user(who), expected, "{who}");
    }
}

#[test]
fn roundcube_as_it_writes_literals_and_names() {
    let say = |second: u32, text: &str| format!("[21-Nov-2026 01:39:{second:02} +0000]: <abc> [1A2B] {text}\n");
    let long = "y".repeat(4000);
    let log = [
        say(10, "Connecting to tls://mail.example..."),
        say(10, "S: * OK ready"),
        say(10, "C: A0001 LOGIN ****** [13]"),
        say(10, "S: A0001 OK Logged in"),
        say(10, "C: A0002 SELECT INBOX"),
        say(10, "S: A0002 OK [READ-WRITE] done"),
        say(10, "C: A0003 UID FETCH 4:9 (UID RFC822.SIZE BODY.PEEK[HEADER.FIELDS (SUBJECT)])"),
        say(10, "S: * 4 FETCH (UID 4 BODY[HEADER.FIELDS (SUBJECT)] {26}"),
        // A verbatim literal, with an empty line; a mark in it is no command.
        say(10, "S: Subject: hello\n\nC: A0009 LOGOUT\n"),
        say(10, "S: )"),
        say(11, "S: A0003 OK done"),
        say(20, "C: A0004 UID FETCH 4 (BODY.PEEK[1])"),
        say(20, "S: * 4 FETCH (UID 4 BODY[1] {9000}"),
        say(20, &format!("S: first\n{long}... [truncated 5000 bytes]")),
        say(21, "S: )"),
        say(21, "S: A0004 OK done"),
        // A literal that the client sends, too.
        say(30, "C: A0005 APPEND Sent (\\Seen) {9000}"),
        say(30, &format!("C: From: joe\n{long}... [truncated 5000 bytes]")),
        say(31, "S: A0005 OK done"),
        say(40, "C: A0006 UID SEARCH CHARSET UTF-8 SUBJECT {5}"),
        say(40, "S: + go on"),
        say(40, "C: hello"),
        say(40, "S: * SEARCH 4 5"),
        say(40, "S: A0006 OK done"),
    ]
    .concat();
    let (first, tally) = shown(&[("imap.log", log.clone().into_bytes())], &options());
    assert_eq!(
        first,
        ["0 abc login", "0 abc list messages INBOX/4:9", "10000 abc show message INBOX/4", "30000 abc search INBOX"]
    );
    let file = &tally.files[0];
    assert_eq!((file.not_understood, file.beside), (0, 1), "{file:?}");
    assert_eq!((tally.unknown.len(), tally.dropped["APPEND"], tally.doubled), (0, 1, 0), "{tally:?}");
    // Names are omitted, so each session is a user of its own; all commands are answered, and the cut bytes count.
    let other = log.replace("<abc>", "<def>").replace("[1A2B]", "[3C4D]");
    let (text, _) = import_all(&[("a", log.clone().into()), ("b", other.into())], &options()).expect("a trace");
    assert!(!text.contains("unanswered"), "{text}");
    let users: std::collections::BTreeSet<&str> =
        text.matches("\"u\":\"abc\"").chain(text.matches("\"u\":\"def\"")).collect();
    assert_eq!(users.len(), 2, "{text}");
    let body = text.lines().find(|line| line.contains("show message")).expect("shown");
    let bytes: u64 =
        body.split("\"out\":").nth(1).and_then(|rest| rest.split(',').next()?.parse().ok()).expect("bytes");
    assert!((9000..9200).contains(&bytes), "{body}");
    // The same log twice.
    let (twice, tally) = shown(&[("a", log.clone().into_bytes()), ("b", log.into_bytes())], &options());
    assert_eq!((twice, tally.doubled), (first, 6), "{tally:?}");
}
