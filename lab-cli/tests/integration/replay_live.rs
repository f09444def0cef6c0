//! `lab replay` and replays in experiments, live, for seconds: shape and order, never speed.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::Path,
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    program::{self, done, found},
    served::at_each,
};

/// Done, whatever the gates say of this machine.
fn ran(folder: &Path, args: &[&str]) -> Value {
    found(&program::ran(folder, args))
}

/// What a service was asked for, and when.
type Asked = Receiver<(Instant, String)>;

/// A service that answers everything after this long, and tells the first lines of requests.
fn service(answers_after: Duration) -> (String, Asked) {
    let (tell, asked) = channel();
    let address = at_each(move |stream| serve(&stream, answers_after, &tell));
    (address.to_string(), asked)
}

fn serve(stream: &TcpStream, answers_after: Duration, tell: &Sender<(Instant, String)>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while let Some(first) = lines.next() {
        let at = Instant::now();
        let heads: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        assert!(!heads.iter().any(|head| head.starts_with("X-Evil")), "{heads:?}");
        tell.send((at, first)).expect("the test listens");
        thread::sleep(answers_after);
        let mut out = stream;
        if out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
            return;
        }
    }
}

fn all(asked: &Asked) -> (Vec<String>, Vec<Duration>) {
    let all: Vec<(Instant, String)> = asked.try_iter().collect();
    let began = all.first().expect("it was asked for something").0;
    all.into_iter().map(|(at, line)| (line, at.duration_since(began))).unzip()
}

/// An access log's trace with its names: two folders and a message, a second apart; a name that would like to be more.
fn with_access_log(folder: &Path) {
    let line = |second: u32, what: &str| {
        format!("192.0.2.1 - joe/../&x=1 [21/Nov/2026:01:39:{second:02} +0000] \"{what} HTTP/1.1\" 200 5\n")
    };
    let log = [
        line(10, "GET /list?folderid=3"),
        line(11, "GET /show?folderid=3&entry=12"),
        line(12, "GET /list?folderid=7"),
        line(13, "POST /delete"),
    ];
    fs::write(folder.join("access.log"), log.concat()).expect("written");
    done(folder, &["trace", "import", "access.log", "-o", "web.jsonl", "--names"]);
}

#[test]
fn a_service_is_asked_for_what_was_recorded_in_its_own_words() {
    let folder = tempfile::tempdir().expect("a folder");
    with_access_log(folder.path());
    let (host, asked) = service(Duration::ZERO);
    let target = format!("http://{host}/{{action}}/{{object}}?f={{folder}}&m={{message}}&u={{user}}");
    let report = ran(folder.path(), &["replay", "web.jsonl", "--target", &target, "--speed", "10", "--output", "json"]);
    let (lines, times) = all(&asked);
    let user = "joe%2F..%2F%26x%3D1";
    let wanted =
        ["list-messages/3?f=3&m=-", "show-message/3%2F12?f=3&m=12", "list-messages/7?f=7&m=-", "delete/-?f=-&m=-"];
    assert_eq!(lines, wanted.map(|path| format!("GET /{path}&u={user} HTTP/1.1")));
    assert_eq!((&report["served"], &report["sent"]), (&Value::from(4), &Value::from(4)));
    let became = serde_json::json!({"recorded": 4, "asked": 4, "passed_over": 0, "cut_off": 0});
    assert_eq!(report["replayed"], became);
    // Three seconds at ten times their speed; no request goes out before its time.
    for (time, tenths) in times.iter().zip([0.0, 1.0, 2.0, 3.0]) {
        assert!(time.as_secs_f64() > tenths / 10.0 - 0.05, "{times:?}");
    }
}

#[test]
fn by_sessions_users_pause_after_each_answer_and_by_the_clock_they_do_not() {
    let folder = tempfile::tempdir().expect("a folder");
    with_access_log(folder.path());
    let took = |by: &str| {
        let (host, asked) = service(Duration::from_millis(500));
        let target = format!("http://{host}/{{action}}");
        let args = ["replay", "web.jsonl", "--target", &target, "--by", by, "--speed", "2", "--output", "json"];
        let report = ran(folder.path(), &args);
        (all(&asked).1, report["behind_ms"].clone())
    };
    // Half a second from one to the next by the record; each answer takes half a second.
    let (times, behind) = took("sessions");
    let gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap > Duration::from_millis(950)) && gaps.len() >= 2, "{times:?}");
    let (times, behind_by_clock) = took("clock");
    assert!(times.len() == 4 && times[3] > Duration::from_millis(1450), "{times:?}");
    // A pause more would take it to three seconds.
    assert!(times[3] < Duration::from_millis(2700), "{times:?}");
    assert!(behind.is_null() || behind["max"].as_f64() < Some(5.0), "{behind}");
    assert!(!behind_by_clock.is_null());
}

#[test]
fn arashi_is_given_a_recording_live() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    // A session an account: one of two of the same user asks in vain for what the other one has moved.
    let numbers = ["--sessions", "20", "--users", "20", "--rate", "1"];
    done(at, &[&["trace", "generate", "arashi", "-o", "t.trace.zst"], &numbers[..]].concat());
    let experiment = "
name: live
about: a recording against a small mail service
target: {app: arashi, mail: {accounts: 20}}
objective: {percentile: 90, response_time: 5s}
users:
  trace: {file: t.trace.zst, speed: 10}
arms: [none]
";
    fs::write(at.join("live.yaml"), experiment).expect("written");
    let summary = ran(at, &["run", "live.yaml", "--no-tui", "--output", "json", "--out", "live"]);
    let phase = &summary["arms"][0]["phases"][0];
    let count = |what: &str| phase[what].as_f64().unwrap_or_else(|| panic!("{what}: {phase}"));
    assert!(count("planned") > 80.0, "{phase}");
    let served = count("served") + count("served_late");
    assert!(served > 0.9 * count("planned") && count("failed") < 1.0, "{phase}");
}
