//! Logs as sites have them: in local time, rotated, copied, of many files, behind proxies.

use std::{fs, path::Path};

use super::{done, json, lab};

/// An event of joe's, some milliseconds into 01:39 UTC.
fn event(millis: u32, lasted: u32, session: &str, tag: &str, name: &str, args: &str) -> String {
    let time = |millis: u32| format!("2026-11-21T01:39:{:02}.{:03}Z", millis / 1000, millis % 1000);
    format!(
        "{{\"event\":\"imap_command_finished\",\"start_time\":\"{}\",\"end_time\":\"{}\",\"fields\":{{\"user\":\"joe\",\
         \"session\":\"{session}\",\"cmd_tag\":\"{tag}\",\"cmd_name\":\"{name}\",\"cmd_args\":\"{args}\",\
         \"tagged_reply_state\":\"OK\"}}}}\n",
        time(millis),
        time(millis + lasted)
    )
}

/// Ten sessions, a second apart: folders 0.2 s after the login, then a message.
fn events() -> String {
    let session = |number: u32| {
        let (at, name) = (1000 * (10 + number), format!("S{number}"));
        event(at + 400, 5, &name, "A1", "LIST", "\\\"\\\" *") + &event(at + 700, 5, &name, "A2", "FETCH", "4 (RFC822)")
    };
    (0..10).map(session).collect()
}

/// Their login lines, by a clock that is so many hours ahead; the fraction of the second is left out or not.
fn logins(hours: u32, fraction: &str) -> String {
    let line = |number: u32| {
        format!(
            "2026-11-21 {:02}:39:{}{fraction} imap-login: Info: Login: user=<joe>, rip=192.0.2.1, session=<S{number}>\n",
            1 + hours,
            10 + number
        )
    };
    (0..10).map(line).collect()
}

/// Imports files; gives what it said and what the trace has.
fn import(at: &Path, files: &[(&str, &str)]) -> (String, serde_json::Value) {
    for (name, text) in files {
        if let Some(folder) = at.join(name).parent() {
            fs::create_dir_all(folder).expect("made");
        }
        fs::write(at.join(name), text).expect("written");
    }
    let mut args = vec!["trace", "import", "--names", "-o", "out.jsonl"];
    args.extend(files.iter().map(|(name, _)| *name));
    let _ = fs::remove_file(at.join("out.jsonl"));
    let said = done(at, &args);
    (said, json(&done(at, &["trace", "inspect", "out.jsonl", "--output", "json"])))
}

/// How often something was done.
fn count(seen: &serde_json::Value, action: &str) -> u64 {
    let actions = seen["actions"].as_array().expect("actions");
    actions.iter().find(|row| row["action"] == action).map_or(0, |row| row["count"].as_u64().expect("a count"))
}

/// What lies in the trace that was imported last, as user, action and object.
fn records(at: &Path) -> Vec<(u64, String, String)> {
    let text = fs::read_to_string(at.join("out.jsonl")).expect("a trace");
    let lines = text.lines().skip(1).filter(|line| !line.starts_with("{\"end\""));
    let record = |line: &str| {
        let record = json(line);
        let word = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        (record["t"].as_u64().expect("a time"), word("u"), format!("{} {}", word("a"), word("o")).trim().to_owned())
    };
    lines.map(record).collect()
}

#[test]
fn logins_in_local_time_and_events_in_utc_are_one_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let (said, seen) = import(at, &[("dovecot.log", &logins(1, ".200000")), ("events.jsonl", &events())]);
    assert_eq!((&seen["sessions"], count(&seen, "login")), (&10.into(), 10), "{said}");
    assert!(said.contains("stamps without a zone: +01:00, by 10 of 10"), "{said}");
    assert_eq!(records(at)[..2], [(0, "joe".into(), "login".into()), (200_000, "joe".into(), "list folders".into())]);
    // What cannot be told is not guessed.
    let strangers = logins(1, ".200000").replace("<S", "<T");
    fs::write(at.join("strangers.log"), strangers).expect("written");
    let refused = lab(at, &["trace", "import", "strangers.log", "events.jsonl", "-o", "t.jsonl"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && said.contains("--zone +01:00"), "{said}");
    done(at, &["trace", "import", "strangers.log", "events.jsonl", "-o", "t.jsonl", "--zone", "+01:00"]);
}

#[test]
fn a_pause_after_a_login_is_as_long_as_the_more_precise_source_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let finished: String = (0..10)
        .map(|number| {
            let second = 10 + number;
            format!(
                "{{\"event\":\"mail_user_session_finished\",\"start_time\":\"2026-11-21T01:39:{second}.200Z\",\
                 \"end_time\":\"2026-11-21T01:39:{second}.900Z\",\"fields\":{{\"user\":\"joe\",\"session\":\"S{number}\"}}}}\n"
            )
        })
        .collect();
    let logs = [("dovecot.log", &*logins(0, "")), ("events.jsonl", &*events()), ("sessions.jsonl", &*finished)];
    let (said, seen) = import(at, &logs);
    let pauses = seen["pauses_by"].as_array().expect("pauses");
    let after_login = pauses.iter().find(|row| row["from"] == "login" && row["to"].is_null()).expect("a pause");
    assert_eq!(after_login["pauses"]["mean"], 200_000.0, "{said}");
    assert!(!said.contains("known to the second only"), "{said}");
    let (said, _) = import(at, &logs[..2]);
    assert!(said.contains("10 logins are known to the second only"), "{said}");
}

#[test]
fn an_empty_file_and_a_note_among_logs_are_passed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let (said, seen) =
        import(at, &[("dovecot.log", ""), ("README", "rotated every night\n"), ("dovecot.log.1", &events())]);
    assert_eq!(seen["sessions"], 10);
    assert!(said.contains("dovecot.log: passed over: it is empty"), "{said}");
    assert!(said.contains("README: passed over: it is none of the formats"), "{said}");
}

#[test]
fn a_trace_of_thousands_of_files_can_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::create_dir_all(at.join("raw/joe")).expect("made");
    let long = "n".repeat(200);
    for number in 0..3500 {
        let text = format!("1795225172.{number:06} A1 LIST \"\" *\n");
        fs::write(at.join(format!("raw/joe/20261121-013932-{number}-{long}.in")), text).expect("written");
    }
    let said = done(at, &["trace", "import", "raw", "-o", "out.jsonl.zst"]);
    assert!(said.contains("more files") && said.lines().count() < 60, "{} lines", said.lines().count());
    let seen = json(&done(at, &["trace", "inspect", "out.jsonl.zst", "--output", "json"]));
    assert_eq!(seen["sessions"], 3500);
}

#[test]
fn a_log_and_its_copy_and_a_rawlog_beside_events_count_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let (_, once) = import(at, &[("events.jsonl", &events())]);
    let (said, twice) = import(at, &[("events.jsonl", &events()), ("copy/events.jsonl.1", &events())]);
    assert_eq!((&once["sessions"], &once["actions"]), (&twice["sessions"], &twice["actions"]), "{said}");
    assert!(said.contains("20 commands were in two sources"), "{said}");
    // 01:39:10 is 1795225150.
    let raw = |number: u32| {
        let second = 1_795_225_150 + number;
        let text = format!("{second}.400300 A1 LIST \"\" *\n{second}.700200 A2 FETCH 4 (RFC822)\n");
        (format!("raw/joe/20261121-0139{}-{number}.in", 10 + number), text)
    };
    let raw: Vec<_> = (0..10).map(raw).collect();
    let mut files: Vec<(&str, &str)> = raw.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let log = events();
    files.push(("events.jsonl", &log));
    let (said, both) = import(at, &files);
    assert_eq!((&both["sessions"], count(&both, "show message")), (&10.into(), 10), "{said}");
}

#[test]
fn headers_of_a_message_after_a_search_without_hits_are_not_the_searchs() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let log = [
        event(1000, 5, "S1", "A1", "SELECT", "INBOX"),
        event(1010, 5, "S1", "A2", "FETCH", "1:9 (BODY.PEEK[HEADER])"),
        event(2000, 5, "S1", "A3", "UID SEARCH", "SUBJECT word"),
        event(5000, 5, "S1", "A4", "UID FETCH", "4 (BODYSTRUCTURE BODY.PEEK[HEADER])"),
        event(5010, 5, "S1", "A5", "UID FETCH", "4 (BODY.PEEK[TEXT])"),
    ]
    .concat();
    let (said, _) = import(at, &[("events.jsonl", &log)]);
    let text = fs::read_to_string(at.join("out.jsonl")).expect("a trace");
    let of = |action: &str| json(text.lines().find(|line| line.contains(action)).expect(action));
    assert_eq!((&of("\"search\"")["d"], &of("\"show message\"")["d"]), (&5000.into(), &15_000.into()), "{said}");
}

#[test]
fn users_behind_virtual_hosts_and_proxies_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let log = |who: &dyn Fn(u32) -> String, end: &str| -> String {
        let line = |number: u32| {
            format!(
                "{} [21/Nov/2026:01:39:{} +0000] \"GET /list?folderid=1 HTTP/1.1\" 200 99 \"-\" \"Firefox\"{end}\n",
                who(number % 20),
                10 + number / 2
            )
        };
        (0..80).map(line).collect()
    };
    let host = log(&|user| format!("mail.example:443 192.0.2.{user} - -"), "");
    let list = log(&|user| format!("192.0.2.{user}, 10.0.0.7 - -"), "");
    let names = log(&|user| format!("mail.example:443 client{user}.example - -"), "");
    for log in [host, list, names] {
        let (said, seen) = import(at, &[("access.log", &log)]);
        assert_eq!((&seen["users"], &seen["sessions"]), (&20.into(), &20.into()), "{said}");
    }
}

#[test]
fn roundcubes_log_is_read_with_its_literals() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    // Sessions of a page each; the answer holds a literal as it is, and one that was cut.
    let session = |number: u32| {
        let say =
            |text: &str| format!("[21-Nov-2026 01:39:{} +0000]: <sess{number}> [{number:04X}] {text}\n", 10 + number);
        [
            say("C: A0001 LOGIN ****** [13]"),
            say("S: A0001 OK in"),
            say("C: A0002 SELECT INBOX"),
            say("S: A0002 OK done"),
            say("C: A0003 UID FETCH 4 (BODY.PEEK[HEADER] BODY.PEEK[1])"),
            say("S: * 4 FETCH (BODY[HEADER] {24}"),
            say("S: Subject: hello\n\nFrom: x\n"),
            say("S:  BODY[1] {9000}"),
            say(&format!("S: text\n{}... [truncated 8000 bytes]", "y".repeat(1000))),
            say("S: )"),
            say("S: A0003 OK done"),
            say("C: A0004 LOGOUT"),
        ]
        .concat()
    };
    let log: String = (0..10).map(session).collect();
    let (said, seen) = import(at, &[("imap.log", &log)]);
    assert!(!said.contains("NOT understood"), "{said}");
    assert_eq!((&seen["sessions"], &seen["users"]), (&10.into(), &10.into()), "{said}");
    assert_eq!((count(&seen, "login"), count(&seen, "show message")), (10, 10), "{said}");
    let text = fs::read_to_string(at.join("out.jsonl")).expect("a trace");
    assert!(!text.contains("unanswered"), "{said}");
}
