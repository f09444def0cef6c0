//! A test plan on a service that hands out a token in a page and demands it in the next URL, after a wait.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{lab, ran};

#[derive(Debug, Default)]
struct Seen {
    too_early: AtomicU32,
    let_in: AtomicU32,
    refused: AtomicU32,
}

/// `/seat` gives a token and a link to `/turn`, which opens a second later; anything else is well.
fn service() -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (address, seen, began) =
        (listener.local_addr().expect("an address"), Arc::new(Seen::default()), Instant::now());
    let theirs = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&theirs);
            thread::spawn(move || answer(stream, &seen, began));
        }
    });
    (address, seen)
}

fn answer(mut stream: TcpStream, seen: &Seen, began: Instant) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            reader.read_line(&mut head).ok().filter(|read| *read > 0)?;
        }
        let path = head.split(' ').nth(1)?.to_owned();
        let now = began.elapsed();
        let (status, header, page) = match path.split_once("?token=") {
            None if path == "/seat" => {
                let page = format!("<input name=token value=\"{}\">", now.as_micros());
                ("200 OK", String::new(), page)
            }
            // The token is the time at which it was given; the second page sends on after a second, from now.
            Some(("/queue", token)) if token.parse::<u64>().is_ok() => {
                ("200 OK", format!("Refresh: 1; url=/turn?token={}\r\n", now.as_micros()), String::new())
            }
            Some(("/turn", token)) => {
                let given = Duration::from_micros(token.parse().ok()?);
                seen.let_in.fetch_add(1, Relaxed);
                seen.too_early.fetch_add(u32::from(now < given + Duration::from_secs(1)), Relaxed);
                ("200 OK", String::new(), "welcome".to_owned())
            }
            None => ("200 OK", String::new(), String::new()),
            Some(_) => {
                seen.refused.fetch_add(1, Relaxed);
                ("403 Forbidden", String::new(), String::new())
            }
        };
        let length = page.len();
        write!(stream, "HTTP/1.1 {status}\r\n{header}Content-Length: {length}\r\n\r\n{page}").ok()?;
    }
}

const PLAN: &str = "steps:
- {name: seat, url: /seat, extract: {token: 'name=token value=\"([0-9]+)\"'}}
- {name: buy, url: '/queue?token=${token}', check: {body: welcome}}
";

#[test]
fn a_plan_in_a_file_is_previewed_run_and_computed_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, seen) = service();
    let text = format!(
        "name: tickets\ntarget: {{url: \"http://{address}\"}}\nobjective: {{percentile: 90, response_time: 3s}}\n\
         users:\n  model: script\n  plan: buy.yaml\n  timeout: 10s\n  on_failure: {{then: leave}}\n  \
         phases: [{{name: sale, sessions: 8/s, law: constant, for: 3s}}]\narms: [{{none: {{as: bare, direct: true}}}}]\n\
         thresholds: [bare.sale.failed == 0, bare.sale.buy.sent > 0]\n"
    );
    fs::write(folder.path().join("tickets.yaml"), text).expect("written");
    fs::write(folder.path().join("buy.yaml"), PLAN).expect("written");

    let (output, out, err) = ran(lab(folder.path()).args(["check", "tickets.yaml"]));
    assert!(output.status.success(), "{err}");
    for line in [
        "tickets.yaml: plan: seat: GET /seat; takes token",
        "tickets.yaml: plan: buy: GET /queue?token=${token}; checks the page",
        "tickets.yaml: note: not in virtual time: step \"seat\" takes ${token} out of a body",
    ] {
        assert!(out.contains(line), "{line:?} in {out}");
    }

    let (output, out, err) =
        ran(lab(folder.path()).args(["run", "tickets.yaml", "--no-tui", "--out", "run", "--output", "json"]));
    // A busy machine may make it INVALID: its figures are not the point.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{out}{err}");
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    let phase = &summary["arms"][0]["phases"][0];
    assert_eq!(phase["by_type"]["seat"]["sent"], 24, "{phase}");
    let bought = phase["by_type"]["buy"]["sent"].as_u64().expect("a count");
    let let_in = u64::from(seen.let_in.load(Relaxed));
    assert!(bought > 0 && let_in <= bought, "{bought} {let_in}");
    assert_eq!((seen.too_early.load(Relaxed), seen.refused.load(Relaxed)), (0, 0));
    let second: Value = fs::read_to_string(folder.path().join("run/timeline.jsonl"))
        .expect("written")
        .lines()
        .next()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .expect("a second");
    assert!(second["generator"]["threads"].as_u64() > Some(1) && second["generator"]["memory_mb"].is_number());

    let (output, out, err) = ran(lab(folder.path()).args(["recheck", "run"]));
    assert!(output.status.success(), "{out}{err}");
}

#[test]
fn a_plan_with_problems_names_file_and_line_and_virtual_time_needs_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |plan: &str| {
        fs::write(folder.path().join("buy.yaml"), plan).expect("written");
        let text = "name: x\ntarget: {app: emulated, service: 1ms}\nobjective: {percentile: 90, response_time: 1s}\n\
                    users: {model: script, plan: buy.yaml, phases: [{sessions: 5/s, for: 1s}]}\narms: [none]\n";
        fs::write(folder.path().join("x.yaml"), text).expect("written");
    };
    file("steps:\n- name: seat\n  url: /${tokn}\n  extract: {token: abc}\n");
    let (output, _, err) = ran(lab(folder.path()).args(["check", "x.yaml"]));
    assert_eq!(output.status.code(), Some(2), "{err}");
    for wanted in ["buy.yaml: 3:8: steps.0.url: no step extracts ${tokn}", "buy.yaml: 4:20: steps.0.extract.token"] {
        assert!(err.contains(wanted), "{wanted:?} in {err}");
    }

    file(PLAN);
    let (output, _, err) = ran(lab(folder.path()).args(["run", "x.yaml", "--virtual", "--no-tui"]));
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("cannot be run in virtual time") && err.contains("extract.token.virtual"), "{err}");

    file(
        "steps:\n- {name: seat, url: /seat, extract: {token: {regex: '(x)', virtual: 7}}}\n- {name: buy, url: '/q?t=${token}'}\n",
    );
    let args = ["run", "x.yaml", "--virtual", "--no-tui", "--out", "run", "--output", "json"];
    let (output, out, err) = ran(lab(folder.path()).args(args));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{err}");
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    assert!(summary["arms"][0]["phases"][0]["by_type"]["buy"]["served"].as_u64() > Some(0), "{out}");
}
