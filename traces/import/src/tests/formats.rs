//! Each format, as a server would write it.

use super::*;

#[test]
fn names_of_dovecot_2_4_are_read_and_seconds_since_1970() {
    let log = "{\"event\":\"imap_command_finished\",\"start_time\":1795225172.25,\"end_time\":1795225172.5,\"fields\":{\
        \"user\":\"joe\",\"session\":\"S\",\"cmd_name\":\"LIST\",\"tagged_reply_state\":\"NO\",\"net_in_bytes\":5,\
        \"net_out_bytes\":6}}\n";
    let (text, _) = import_all(&[("a", log.into())], &options()).expect("a trace");
    assert!(text.contains(r#""a":"list folders","in":5,"out":6,"d":250000,"r":"error""#), "{text}");
    assert!(text.contains("2026-11-21T01:39:32.25Z"), "{text}");
}

#[test]
fn login_and_logout_lines_alone_give_totals() {
    let log = "\
Nov 21 01:39:32 mail dovecot: imap-login: Login: user=<joe>, method=PLAIN, rip=192.0.2.1, session=<S1>
Nov 21 01:39:33 mail dovecot: imap-login: Logged in: user=<ann>, method=PLAIN, rip=192.0.2.1, session=<S2>
Nov 21 01:39:41 mail dovecot: imap(joe)<8718><S1>: Disconnected: Logged out in=1527 out=54667 deleted=6 body_count=11
Nov 21 01:39:50 mail dovecot: imap(ann): Disconnected: Logged out in=1 out=2
";
    let (shown, tally) = actions(&[("mail.log", log)], &options());
    // Whole seconds: the end may lie anywhere in its second.
    assert_eq!(shown, ["0 joe login", "1000 ann login", "9999 joe leave"]);
    assert_eq!((tally.sessions, tally.without_end), (2, 1));
    let example = &tally.files[0].examples[0];
    assert!(example.starts_with("line 4") && example.contains("session=<%{session}>"), "{example}");
}

#[test]
fn courier_names_no_sessions() {
    let line = |time: &str, rest: &str| format!("Nov 21 {time} mail imapd: {rest}\n");
    let ends = ", ip=[::1], port=[4711]";
    let log = [
        line("01:00:00", &format!("LOGIN, user=joe{ends}, protocol=IMAP")),
        line("01:00:05", &format!("LOGOUT, user=joe{ends}, headers=0, body=0, rcvd=61, sent=2048, time=5")),
        line("01:00:07", &format!("LOGIN FAILED, user=eve{ends}")),
        line("01:01:00", &format!("LOGIN, user=joe{ends}, protocol=IMAP")),
        line("01:01:09", &format!("DISCONNECTED, user=joe{ends}, time=9")),
    ]
    .concat();
    let (shown, tally) = actions(&[("mail.log", &log)], &options());
    assert_eq!(shown, ["0 joe login", "5999 joe leave", "60000 joe login", "69999 joe leave"]);
    assert_eq!((tally.sessions, tally.without_user), (2, 1));
    let (text, _) = import_all(&[("mail.log", log.into())], &options()).expect("a trace");
    assert!(text.contains(r#""n":{"lasted":5000000}"#), "{text}");
}

const IN: &str = "\
1795225172.100000 A1 SELECT {5}
1795225172.110000 INBOX
1795225172.200000 A2 FETCH 1:10 (BODY.PEEK[HEADER])
1795225173.000000 A3 UID FETCH 4 BODY[]
1795225174.000000 A4 LOGOUT
";
const OUT: &str = "\
1795225172.105000 + go on
1795225172.120000 A1 OK selected
1795225172.250000 * 1 FETCH (BODY[HEADER] {12}
1795225172.250000 A2 OK what?
1795225172.250000 )
1795225172.260000 A2 OK fetched
1795225173.200000 A3 OK fetched
1795225174.000000 A4 OK bye
";

#[test]
fn rawlogs_are_read_in_pairs_packed_or_not() {
    let files = [("raw/joe/1.out.gz", packed(OUT.as_bytes(), Packing::Gzip)), ("raw/joe/1.in", IN.as_bytes().to_vec())];
    let (text, tally) = import_all(&files, &options()).expect("a trace");
    assert_eq!(tally.files.len(), 1);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].contains("\"u\":\"joe\"") && lines[1].ends_with("\"a\":\"login\",\"i\":true}"), "{text}");
    // The literal in the answer looks like an answer, but is none: the list is complete at .260.
    assert!(
        lines[2].contains("\"a\":\"list messages\",\"o\":\"INBOX/1:10\"") && lines[2].contains("\"d\":160000"),
        "{text}"
    );
    assert!(
        lines[3].contains("\"a\":\"show message\",\"o\":\"INBOX/4\"") && lines[3].contains("\"d\":200000"),
        "{text}"
    );
    assert!(lines[4].contains("\"a\":\"leave\""), "{text}");
    // With one side alone, the commands are known and their durations are not.
    let (shown, _) = actions(&[("raw/joe/1.in", IN)], &options());
    assert_eq!(shown.len(), 4, "{shown:?}");
}

#[test]
fn telemetry_of_cyrus_is_read() {
    let log = "---------- joe Thu Nov 21 01:39:32 2026\n\n<1795225172<A1 SELECT INBOX\n>1795225173>* 3 EXISTS\nA1 OK done\n\
        <1795225180<A2 FETCH 3 BODY[]\n>1795225181>A2 OK done\n";
    let (shown, tally) = actions(&[("log/joe/4711", log)], &options());
    assert_eq!(shown, ["0 joe login?", "0 joe list messages INBOX", "8000 joe show message INBOX/3", "9000 joe leave"]);
    assert_eq!(tally.files[0].format, "Cyrus telemetry");
}

#[test]
fn roundcube_logs_in_for_each_page_and_is_one_session() {
    let say = |second: u32, connection: &str, text: &str| {
        format!("[21-Nov-2026 01:39:{second:02} +0000]: <abc> [{connection}] {text}\n")
    };
    let page = |second: u32, connection: &str, commands: &[&str]| {
        let mut log = say(second, connection, "C: A1 LOGIN joe ****") + &say(second, connection, "S: A1 OK in");
        for (number, command) in (2..).zip(commands.iter().chain(&["LOGOUT"])) {
            log += &say(second, connection, &format!("C: A{number} {command}"));
            log += &say(second, connection, &format!("S: A{number} OK done"));
        }
        log
    };
    let log = [
        page(10, "1", &["SELECT INBOX", "UID SORT (DATE) UTF-8 ALL", "UID FETCH 1:9 (ENVELOPE)"]),
        page(20, "2", &["SELECT INBOX", "UID FETCH 4 BODY[1]"]),
        page(30, "3", &["SELECT INBOX", r"UID STORE 4 +FLAGS (\Deleted)", "EXPUNGE"]),
    ]
    .concat();
    let (shown, tally) = actions(&[("imap.log", &log)], &options());
    assert_eq!(
        shown,
        ["0 joe login", "0 joe list messages INBOX/1:9", "10000 joe show message INBOX/4", "20000 joe delete INBOX/4"]
    );
    assert_eq!((tally.sessions, tally.without_end), (1, 1));
}

#[test]
fn access_logs_become_sessions_by_their_pauses() {
    let line = |time: &str, user: &str, request: &str, status: u16| {
        format!(
            "192.0.2.1 - {user} [21/Nov/2026:{time} +0000] \"{request} HTTP/1.1\" {status} 99 \"-\" \"Agent \\\"x\\\"\" 0.250\n"
        )
    };
    let log = [
        line("01:00:00", "joe", "POST /login", 200),
        line("01:00:01", "joe", "GET /logo.png", 200),
        line("01:00:02", "joe", "GET /list?folderid=3", 503),
        line("01:00:03", "-", "GET /folderlist", 200),
        line("01:50:00", "joe", "GET /show?folderid=3&entry=4", 404),
        line("01:50:01", "joe", "GET /wiki/secret", 200),
        "no line\n".to_owned(),
    ]
    .concat();
    // Each took 0.25 s, so that a line may be up to 1.25 s older than the previous one.
    let back = |seconds: u32| {
        line("01:00:09", "joe", "GET /list", 200) + &line(&format!("01:00:{:02}", 9 - seconds), "joe", "GET /list", 200)
    };
    let out_of_order = |seconds: u32| actions(&[("access.log", &back(seconds))], &options()).1.out_of_order;
    assert_eq!((out_of_order(1), out_of_order(2)), (0, 1));
    let (shown, tally) = actions(&[("access.log", &log)], &options());
    assert_eq!(shown[0], "0 joe login");
    assert!(shown.contains(&"2000 joe list messages 3".to_owned()), "{shown:?}");
    assert!(shown.contains(&"2250 joe leave".to_owned()), "a pause of over half an hour: {shown:?}");
    assert!(shown.contains(&"3000000 joe show message 3/4".to_owned()), "{shown:?}");
    assert_eq!(
        (tally.sessions, tally.without_end, tally.dropped["GET /logo.png"], tally.unknown["GET /wiki"]),
        (3, 1, 1, 1)
    );
    assert_eq!(tally.out_of_order, 0);
    assert_eq!(tally.files[0].not_understood, 1);
    let (text, _) = import_all(&[("access.log", log.into())], &options()).expect("a trace");
    assert!(text.contains(r#""out":99,"d":250000,"r":"rejected""#) && !text.contains("secret"), "{text}");
}

#[test]
fn har_files_and_timing_scripts_are_read() {
    let entry = |second: u32, url: &str| {
        format!(
            "{{\"startedDateTime\":\"2026-11-21T01:39:{second}.000Z\",\"time\":12.5,\"request\":{{\"method\":\"GET\",\"url\":\
             \"https://mail.example{url}\",\"bodySize\":0}},\"response\":{{\"status\":200,\"bodySize\":2326,\"content\":{{\"text\":\"x\"}}}}}}"
        )
    };
    let har = format!(
        "{{\"log\":{{\"version\":\"1.2\",\"creator\":{{}},\"entries\":[{},{}]}},\"more\":[1]}}",
        entry(10, "/folderlist"),
        entry(12, "/list?folderid=1")
    );
    let (shown, tally) = actions(&[("me.har", &har)], &options());
    assert_eq!(shown, ["0 me.har list folders", "2000 me.har list messages 1"]);
    assert_eq!((tally.files[0].units, &tally.files[0].cut), (2, &None));
    let (shown, _) = actions(&[("me.har", &har[..har.len() - 40])], &options());
    assert_eq!(shown.len(), 1, "a file that was cut gives what it has: {shown:?}");

    let (text, _) =
        import_all(&[("script", "0.000\t/folderlist\n1500.25\thttp://h/list\n".into())], &options()).expect("a trace");
    assert!(text.contains("\"t\":1500250") && !text.contains("1970"), "{text}");
}
