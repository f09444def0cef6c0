use std::io::{self, Read};

use traces::{
    pack::{Packer, Packing},
    pseudonym::Pseudonyms,
    trace::{Names, Reader},
};

use super::*;

mod broken_captures;
mod broken_files;
mod captures;
mod copies;
mod formats;
mod hostile;
mod rawlogs;
mod sites;
mod zones;

/// Options for tests: names are kept.
fn options() -> Options {
    Options::new(Pseudonyms::none(), 2026)
}

fn inputs(files: &[(&str, Vec<u8>)]) -> Vec<Input<'static>> {
    let input = |(name, bytes): &(&str, Vec<u8>)| {
        let bytes = bytes.clone();
        let open = move || Ok(Box::new(io::Cursor::new(bytes)) as Box<dyn Read + Send>);
        Input { name: (*name).to_owned(), open: Box::new(open) }
    };
    files.iter().map(input).collect()
}

fn import_all(files: &[(&str, Vec<u8>)], options: &Options) -> Result<(String, Tally), ImportError> {
    let header = Header::new("test", "made up", Names::Source);
    let (bytes, tally) = import(inputs(files), options, header, Vec::new())?;
    Ok((String::from_utf8(bytes).expect("text"), tally))
}

/// The actions of an import of texts.
fn actions(files: &[(&str, &str)], options: &Options) -> (Vec<String>, Tally) {
    let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(name, text)| (*name, text.as_bytes().to_vec())).collect();
    shown(&files, options)
}

/// Records as `milliseconds user action object`, with `?` after inferred ones, and the account.
fn shown(files: &[(&str, Vec<u8>)], options: &Options) -> (Vec<String>, Tally) {
    let (text, tally) = import_all(files, options).unwrap_or_else(|error| panic!("{error}"));
    let mut reader = Reader::new(text.as_bytes()).expect("a trace");
    let mut shown = Vec::new();
    while let Some(record) = reader.next_record().expect("sound") {
        let mark = if record.inferred { "?" } else { "" };
        let line = format!("{} {} {}{mark} {}", record.offset / 1000, record.user, record.action, record.object);
        shown.push(line.trim_end().to_owned());
    }
    assert_eq!(reader.footer().and_then(|footer| footer.import.as_ref()), Some(&tally));
    (shown, tally)
}

fn event(second: &str, lasted_ms: u32, session: &str, command: &str, args: &str) -> String {
    let (whole, millis) = second.split_once('.').unwrap_or((second, "000"));
    let end = millis.parse::<u32>().expect("a number") + lasted_ms;
    format!(
        "{{\"event\":\"imap_command_finished\",\"start_time\":\"2026-11-21T01:39:{whole}.{millis}Z\",\
         \"end_time\":\"2026-11-21T01:39:{whole}.{end:03}Z\",\"fields\":{{\"user\":\"joe\",\"session\":\"{session}\",\
         \"cmd_name\":\"{command}\",\"cmd_args\":{args:?},\"tagged_reply_state\":\"OK\",\"bytes_in\":7,\"bytes_out\":90}}}}\n"
    )
}

/// The event of the end of a session.
fn session_over(session: &str, from: &str, to: &str) -> String {
    format!(
        "{{\"event\":\"mail_user_session_finished\",\"start_time\":\"2026-11-21T01:39:{from}Z\",\
         \"end_time\":\"2026-11-21T01:39:{to}Z\",\"fields\":{{\"user\":\"joe\",\"session\":\"{session}\"}}}}\n"
    )
}

fn packed(bytes: &[u8], packing: Packing) -> Vec<u8> {
    let mut packer = Packer::new(Vec::new(), packing).expect("memory");
    packer.write_all(bytes).expect("memory");
    packer.finish().expect("memory")
}

#[test]
fn commands_become_actions_under_one_account() {
    let log = [
        event("10.000", 3, "S1", "LIST", "\"\" \"*\""),
        event("10.200", 3, "S1", "SELECT", "INBOX"),
        event("10.210", 40, "S1", "FETCH", "1:10 (BODY.PEEK[HEADER])"),
        event("11.000", 1, "S1", "NOOP", ""),
        event("11.500", 9, "S1", "FETCH", "4 (RFC822)"),
        event("11.900", 9, "S1", "XYZZY", ""),
        event("12.000", 9, "S1", "LOGOUT", ""),
    ]
    .concat();
    let (shown, tally) = actions(&[("a.jsonl", &log)], &options());
    assert_eq!(
        shown,
        [
            "0 joe login?",
            "0 joe list folders",
            "200 joe list messages INBOX/1:10",
            "1500 joe show message INBOX/4",
            "2000 joe leave"
        ]
    );
    assert_eq!((tally.actions, tally.sessions, tally.without_login, tally.without_end), (4, 1, 1, 0));
    assert_eq!(tally.commands(), 7);
    assert_eq!((tally.merged["FETCH"], tally.dropped["NOOP"], tally.unknown["XYZZY"]), (1, 1, 1));
    assert_eq!((tally.files[0].units, tally.files[0].understood), (7, 7));
}

#[test]
fn lines_out_of_order_are_sorted_however_small_the_parts() {
    let lines = [
        event("10.000", 3, "S1", "LIST", "\"\" \"*\""),
        event("10.200", 3, "S1", "SELECT", "INBOX"),
        event("10.210", 40, "S1", "FETCH", "1:10 (BODY.PEEK[HEADER])"),
        event("11.500", 9, "S1", "FETCH", "4 (RFC822)"),
    ];
    let (sorted, _) = actions(&[("a", &lines.concat())], &options());
    let shuffled = [lines[3].clone(), lines[1].clone(), lines[2].clone(), lines[0].clone()].concat();
    for part in [1, 2, 1000] {
        let (shown, tally) = actions(&[("a", &shuffled)], &Options { part, ..options() });
        assert_eq!(shown, sorted);
        assert_eq!((tally.out_of_order, tally.without_end), (2, 1));
    }
}

#[test]
fn a_line_about_what_began_long_ago_is_in_order_and_one_that_was_written_before_is_not() {
    let stamp = "2026-11-21 01:39:12 imap-login: Info: Login: user=<ann>, rip=192.0.2.1, session=<S3>\n".to_owned();
    let log = [
        event("10.200", 3, "S1", "LIST", "\"\" \"*\""),
        // Both began before the line above, and are reported at their ends.
        event("10.100", 800, "S2", "LIST", "\"\" \"*\""),
        session_over("S1", "09.000", "12.700"),
        // At some time in second 12.
        stamp,
        event("12.750", 3, "S2", "SELECT", "INBOX"),
    ];
    // The log line of a session without events: no other line shows its zone.
    let mut utc = options();
    utc.clock.zone = Some(0);
    let count = |log: &[String]| actions(&[("a", &log.concat())], &utc).1.out_of_order;
    assert_eq!(count(&log), 0);
    let moved = [log[2].clone(), log[0].clone(), log[1].clone(), log[3].clone(), log[4].clone()];
    assert_eq!(count(&moved), 1, "the session's end stands before what came first");
}

#[test]
fn a_session_is_joined_from_all_its_files() {
    let events =
        [event("10.500", 3, "S1", "LIST", "\"\" \"*\""), event("11.500", 9, "S1", "FETCH", "4 (RFC822)")].concat();
    let log = "\
2026-11-21 01:39:09.250000 imap-login: Info: Login: user=<joe>, method=PLAIN, rip=192.0.2.1, session=<S1>
2026-11-21 01:39:09.900000 imap-login: Info: Disconnected: Connection closed (auth failed): user=<eve>, session=<S2>
2026-11-21 01:39:12.000000 imap(joe)<8716><S1>: Info: Disconnected: Connection closed in=1 out=2 deleted=3 body_count=1 body_bytes=9
2026-11-21 01:39:13.000000 lmtp(joe)<8717><S3>: Info: saved mail
";
    let finished = session_over("S1", "09.251000", "12.001");
    let expected = ["0 joe login", "1250 joe list folders", "2250 joe show message /4", "2750 joe leave"];
    for files in [
        vec![("events", events.as_str()), ("log", log)],
        vec![("log", log), ("finished", finished.as_str()), ("events", events.as_str())],
    ] {
        let (shown, tally) = actions(&files, &options());
        assert_eq!(shown, expected);
        assert_eq!((tally.sessions, tally.without_login, tally.without_end, tally.without_user), (1, 0, 0, 1));
        assert_eq!(tally.out_of_order, 0, "files may overlap");
    }
    let (text, _) = import_all(&[("log", log.into()), ("events", events.into())], &options()).expect("a trace");
    assert!(text.contains(r#""a":"leave","n":{"shown":1,"deleted":3}"#), "{text}");
}

#[test]
fn names_become_pseudonyms_and_no_word_of_a_user_is_kept() {
    let log = [
        event("10.000", 3, "S1", "SELECT", "canary-folder"),
        event("10.200", 3, "S1", "SEARCH", "OR SUBJECT \\\"canary-word\\\" FROM x"),
        event("11.200", 3, "S1", "COPY", "4 canary-target"),
    ]
    .concat()
    .replace("joe", "canary-user")
    .replace("\"S1\"", "\"canary-session\"");
    let key = traces::pseudonym::Key::new([9; 16]);
    let keyed = Options::new(Pseudonyms::keyed(key), 2026);
    let (text, _) = import_all(&[("mail.log", log.clone().into())], &keyed).expect("a trace");
    assert!(log.matches("canary").count() >= 9);
    assert!(!text.contains("canary"), "{text}");
    assert!(text.contains("\"names\":\"pseudonyms\"") && text.contains("\"search\""), "{text}");
    let (again, _) = import_all(&[("mail.log", log.into())], &keyed).expect("a trace");
    assert_eq!(text, again, "the same key gives the same names");
}

#[test]
fn what_cannot_be_imported_says_why() {
    let said = |name: &str, text: &str| {
        import_all(&[(name, text.as_bytes().to_vec())], &options()).expect_err("nothing").to_string()
    };
    assert_eq!(
        said("notes.txt", "hello\n"),
        "notes.txt: this is none of the formats that can be imported: Dovecot events (JSON), login and logout lines of \
         Dovecot or Courier, rawlogs, packet captures (pcap, pcapng), Cyrus telemetry, Roundcube's imap log, access logs \
         (Common, Combined), HAR, h2load timing scripts; each as it is, or packed with gzip or zstd"
    );
    assert!(said("t", "{\"trace\":1,\"name\":\"\"}\n").contains("this is a trace already"));
    assert!(said("rawlog", "1700000000.123456 A1 NOOP\n").contains("ends with .in or .out"));
    let broken = event("10.000", 3, "S1", "LIST", "").replace("\"session\":\"S1\",", "");
    let broken = said("a", &broken);
    assert!(broken.contains("records: 1, of them 0 without user activity and 1 not understood, first at line 1 (byte 0): the event names no session"), "{broken}");
    let wiki = "::1 - - [21/Nov/2026:01:39:32 +0000] \"GET /wiki HTTP/1.1\" 200 5\n";
    assert!(said("access.log", wiki).contains("1 requests match no rule"));
    let missing = Input { name: "gone".into(), open: Box::new(|| Err(io::Error::from(io::ErrorKind::NotFound))) };
    let header = Header::new("test", "made up", Names::Source);
    let error = import(vec![missing], &options(), header, Vec::new()).expect_err("gone");
    assert!(error.to_string().starts_with("gone: "), "{error}");
}
