//! Services that the lab does not start: a bare `url`, `pid`, and the proxy before one of them.

use std::{
    io::Write,
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Command, Stdio},
};

use serde_json::Value;

use super::{experiment, lab, ran, service};
use crate::{
    program::wait_until,
    proxy::proxied::get,
    served::{Kept, at_each, head},
};

/// A process that ends with the test, and where it listens.
pub struct Running {
    child: Kept,
    pub address: SocketAddr,
}

impl Running {
    /// The test's service.
    pub fn service(mark: &str) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
        let command = service::command(mark);
        // It quotes none of its words.
        let mut words = command.split(' ');
        let mut command = Command::new(words.next().expect("a program"));
        command.args(words).env("PORT", address.port().to_string());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let running = Self { child: Kept(child), address };
        wait_until("it listens", || TcpStream::connect(address).is_ok());
        running
    }

    /// The lab's proxy, which says in JSON where it listens.
    pub fn proxy(command: &mut Command) -> Self {
        let mut child = Kept(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("lab starts"));
        let line = child.first_line();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no ready line: {line:?}"));
        let address = ready["url"].as_str().and_then(|url| url.strip_prefix("http://")?.parse().ok());
        Self { child, address: address.expect("an address") }
    }

    /// The status of the answer to a GET.
    pub fn status(&self, path: &str) -> u16 {
        get(self.address, path).status
    }
}

#[test]
fn a_service_that_runs_is_measured_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = Running::service(&format!("mark-e-{}", std::process::id()));
    let url = format!("url: \"http://{}\", ready: /health", service.address);
    let with_pid = format!("{url}, pid: {}", service.child.0.id());
    for (target, out) in [(url, "bare"), (with_pid, "pid")] {
        experiment(folder.path(), &target, "[none, gradient2]");
        let run = ["run", "mine.yaml", "--no-tui", "--output", "json", "--out", out];
        let (output, said, err) = ran(lab(folder.path()).args(run));
        assert!(matches!(output.status.code(), Some(0 | 3)), "{out}: {err}");
        let summary: Value = serde_json::from_str(&said).expect("JSON");
        for arm in summary["arms"].as_array().expect("arms") {
            let used = &arm["service"];
            assert!(used["cpu"].as_f64() > Some(0.0) && used["memory_mb"].as_f64() > Some(1.0), "{out}: {used}");
        }
        assert_eq!(service.status("/page"), 200, "{out}: it was there before");
    }
    // A process that is not there is told before anything is sent.
    experiment(folder.path(), &format!("url: \"http://{}\", ready: /health, pid: 4194303", service.address), "[none]");
    let (output, said, err) = ran(lab(folder.path()).args(["run", "mine.yaml", "--no-tui", "--output", "json"]));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{err}");
    let summary: Value = serde_json::from_str(&said).expect("JSON");
    assert!(summary["arms"][0]["service"]["cpu"].is_null(), "{said}");
    assert!(said.contains("there is no process 4194303"), "{said}");
}

#[test]
fn a_recording_is_replayed_against_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let line = |n: u32| {
        format!("192.0.2.{} - - [21/Nov/2026:01:39:{:02} +0000] \"GET /page/{n} HTTP/1.1\" 200 5\n", n % 7, n / 10)
    };
    std::fs::write(at.join("access.log"), (0..60).map(line).collect::<String>()).expect("written");
    std::fs::write(at.join("rules.yaml"), "rules:\n  - {path: '^/(.*)', action: page, object: '$1'}\n")
        .expect("written");
    let import = ["trace", "import", "access.log", "--rules", "rules.yaml", "--names", "-o", "web.jsonl"];
    let (output, _, err) = ran(lab(at).args(import));
    assert!(output.status.success(), "{err}");
    let service = Running::service(&format!("mark-f-{}", std::process::id()));
    let text = format!(
        "name: mine\ntarget: {{url: \"http://{}\", ready: /health}}\nobjective: {{percentile: 90, response_time: 1s}}\n\
         users: {{model: url, path: \"/{{object-path}}\", trace: web.jsonl, timeout: 5s}}\narms: [none, gradient2]\n",
        service.address
    );
    std::fs::write(at.join("mine.yaml"), text).expect("written");
    let (output, said, err) = ran(lab(at).args(["run", "mine.yaml", "--no-tui", "--output", "json"]));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{err}");
    let summary: Value = serde_json::from_str(&said).expect("JSON");
    for arm in 0..2 {
        let phase = &summary["arms"][arm]["phases"][0];
        assert_eq!((&phase["planned"], &phase["failed"]), (&60.into(), &0.into()), "{phase}");
    }
}

#[test]
fn what_is_wrong_with_it_is_said_with_the_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let answers = |answer: &'static str| {
        let address = at_each(move |mut stream| {
            // Read first: closing with unread bytes is a reset.
            let _ = head(&mut stream).map(|_| stream.write_all(answer.as_bytes()));
        });
        format!("http://{address}/")
    };
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let told = |words: &[&str], code: i32, wanted: &[&str]| {
        let (output, _, err) = ran(lab(folder.path()).arg("init").args(words).args(["-o", "new.yaml"]));
        assert_eq!(output.status.code(), Some(code), "{err}");
        wanted.iter().for_each(|wanted| assert!(err.contains(wanted), "{wanted:?} in {err}"));
    };
    told(&[&format!("http://{closed}/")], 1, &["Connection refused", "start it before the lab"]);
    // The alert of a TLS server that is spoken to in plain HTTP.
    told(&[&answers("\u{15}\u{3}\u{1}")], 1, &["it speaks HTTPS", "write https://"]);
    told(&[&answers("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")], 1, &["answers 401", "-H 'Authorization"]);
    told(&[&answers("HTTP/1.1 503 Ill\r\nContent-Length: 0\r\n\r\n")], 1, &["it answers 503"]);
    // One that moves on from its first page, and one that wants a header.
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    let (output, out, err) = ran(lab(folder.path()).args(["init", &answers(page), "-H", "X-Key: a \"b\"", "-o", "-"]));
    assert!(output.status.success() && out.contains(r#"headers: {"X-Key": "a \"b\""}"#), "{out}{err}");
}
