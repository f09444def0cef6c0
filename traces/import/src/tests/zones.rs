//! Lines without a zone beside known times, of every kind.

use super::*;

const LOGIN: &str = "2026-11-21 02:39:32 imap-login: Info: Login: user=<joe>, rip=192.0.2.1, session=<S1>\n";
const COURIER: &str =
    "Nov 21 02:39:32 mail imapd: LOGIN, user=joe, ip=[::ffff:192.0.2.1], port=[4711], protocol=IMAP\n";
const LOGOUT: &str =
    "2026-11-21 02:39:40 imap(joe)<87><S1>: Info: Disconnected: Logged out in=1 out=2 deleted=0 body_count=1\n";

/// Sources with known times: a file of each format.
fn zoned() -> Vec<(&'static str, Vec<u8>)> {
    let access = "192.0.2.1 - joe [21/Nov/2026:01:39:32 +0000] \"GET /list HTTP/1.1\" 200 5\n";
    let rawlog = "1795225172.100000 A1 SELECT INBOX\n";
    let telemetry = "<1795225172<A1 SELECT INBOX\n>1795225173>A1 OK done\n";
    let roundcube = "[21-Nov-2026 01:39:32 +0000]: <abc> [1A2B] C: A0001 LOGIN ****** [13]\n\
                     [21-Nov-2026 01:39:32 +0000]: <abc> [1A2B] S: A0001 OK in\n";
    let har = "{\"log\":{\"creator\":{},\"entries\":[{\"startedDateTime\":\"2026-11-21T01:39:32Z\",\"time\":3,\
               \"request\":{\"method\":\"GET\",\"url\":\"http://a/list\"},\"response\":{\"status\":200}}]}}";
    let other = "2026-11-21T01:39:32.1+00:00 imap-login: Info: Login: user=<ann>, rip=192.0.2.1, session=<T1>\n";
    vec![
        ("access.log", access.into()),
        ("joe/1.in", rawlog.into()),
        ("log/joe/4711", telemetry.into()),
        ("imap.log", roundcube.into()),
        ("a.har", har.into()),
        ("syslog", other.into()),
        ("events", event("32.000", 3, "T1", "LIST", "").into_bytes()),
        ("a.pcap", captures::pcap(&captures::SESSION, 4711)),
    ]
}

#[test]
fn every_mix_of_local_and_known_times_asks_for_the_zone() {
    for (name, bytes) in zoned() {
        for local in [LOGIN, COURIER] {
            let mail = ("mail.log", local.as_bytes().to_vec());
            for files in [vec![(name, bytes.clone()), mail.clone()], vec![mail.clone(), (name, bytes.clone())]] {
                let error = import_all(&files, &options()).expect_err(name).to_string();
                let shown = std::path::Path::new(name.trim_end_matches(".in")).file_name().expect("a name");
                let which = format!("stamps of mail.log say no zone, and those of {} say theirs", shown.display());
                assert!(error.contains(&which) && error.contains("--zone +01:00"), "{name}: {error}");
                let mut zoned = options();
                zoned.clock.zone = Some(3600);
                let (_, tally) = import_all(&files, &zoned).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!((tally.sessions, tally.zone), (2, None), "{name}");
            }
        }
        // Alone each is imported, as always.
        assert!(import_all(&[(name, bytes)], &options()).is_ok(), "{name}");
    }
    for alone in [LOGIN, COURIER] {
        let (text, _) = import_all(&[("mail.log", alone.into())], &options()).expect("UTC");
        assert!(text.contains("2026-11-21T02:39:32Z"), "{text}");
    }
}

#[test]
fn one_line_in_local_time_is_a_mix_and_within_one_file_too() {
    let events = event("32.000", 3, "S1", "LIST", "");
    // A logout alone, of a session with events: no line has the time of its login.
    let error = import_all(&[("mail.log", LOGOUT.into()), ("events", events.clone().into())], &options());
    assert!(error.expect_err("two clocks").to_string().contains("--zone"));
    let one = [LOGIN, &LOGIN.replace("02:39:32", "01:39:32+00:00").replace("S1", "T1")].concat();
    let error = import_all(&[("mail.log", one.into())], &options()).expect_err("two clocks").to_string();
    assert!(error.contains("in mail.log some stamps say no zone, and others say theirs"), "{error}");
    // A timing script has no clock at all.
    assert!(import_all(&[("mail.log", LOGIN.into()), ("script", "0.0\t/list\n".into())], &options()).is_ok());
}

#[test]
fn the_zone_is_found_by_login_lines_that_say_it() {
    // The same logins by Dovecot's own log, and by syslog with its zone.
    let own: String =
        (0..10).map(|n| LOGIN.replace(":32 ", &format!(":{} ", 32 + n)).replace("S1", &format!("S{n}"))).collect();
    let syslog = own.replace("2026-11-21 02", "2026-11-21T01").replace(" imap-login", "+00:00 mail imap-login");
    let (text, tally) = import_all(&[("own", own.into()), ("syslog", syslog.into())], &options()).expect("a trace");
    let zone = tally.zone.as_ref().map(|zone| (zone.found.as_str(), zone.agree, zone.of));
    assert_eq!((zone, tally.sessions), (Some(("+01:00", 10, 10)), 10), "{text}");
    assert!(text.contains("2026-11-21T01:39:32Z"), "{text}");
}

#[test]
fn what_is_no_zone_or_told_by_few_is_an_error_that_names_the_zone() {
    // Nepal, +05:45, and a log whose clients are silent for a quarter of an hour after they log in.
    let import_of = |sessions: u32, hour_and_minute: &str, zone: Option<i32>| {
        let log: String = (10..10 + sessions)
            .map(|n| LOGIN.replace("02:39:32", &format!("{hour_and_minute}:{n}")).replace("S1", &format!("S{n}")))
            .collect();
        let events: String =
            (10..10 + sessions).map(|n| event(&format!("{n}.500"), 3, &format!("S{n}"), "LIST", "")).collect();
        let mut options = options();
        options.clock.zone = zone;
        import_all(&[("mail.log", log.into()), ("events", events.into())], &options).map_err(|error| error.to_string())
    };
    let found = |tally: Tally| tally.zone.map(|zone| zone.found);
    assert_eq!(import_of(10, "07:24", None).map(|(_, tally)| found(tally)), Ok(Some("+05:45".to_owned())));
    let few = import_of(9, "07:24", None).expect_err("few");
    assert!(few.contains("fewer than 10 sessions") && few.contains("--zone +01:00"), "{few}");
    let silent = import_of(30, "01:24", None).expect_err("no zone");
    assert!(silent.contains("-00:15 ahead of UTC, which is no zone of any place"), "{silent}");
    assert!(silent.contains("--zone"), "{silent}");
    // A zone given as an option takes precedence, and lines without a zone do not count against it.
    for (sessions, time, zone) in [(9, "07:24", 5 * 3600 + 45 * 60), (30, "01:24", 0)] {
        let (_, tally) = import_of(sessions, time, Some(zone)).expect("as asked for");
        assert_eq!((tally.zone, tally.sessions), (None, u64::from(sessions)));
    }
}
