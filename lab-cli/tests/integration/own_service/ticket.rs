//! A test plan on a service that hands out a token in a page and demands it in the next URL, after a wait.

use std::{
    fs,
    io::Write as _,
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{lab, ran};
use crate::served::{at_each, head};

#[derive(Debug, Default)]
struct Seen {
    too_early: AtomicU32,
    let_in: AtomicU32,
    refused: AtomicU32,
}

/// `/seat` gives a token and a link to `/turn`, which opens a second later; anything else is well.
fn service() -> (SocketAddr, Arc<Seen>) {
    let (seen, began) = (Arc::new(Seen::default()), Instant::now());
    let theirs = Arc::clone(&seen);
    (at_each(move |stream| _ = answer(stream, &theirs, began)), seen)
}

fn answer(mut stream: TcpStream, seen: &Seen, began: Instant) -> Option<()> {
    loop {
        let head = head(&mut stream)?;
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
