//! What is said of settings before and at the start: everything that is wrong, and backends that cannot be reached.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    proxy::{
        backend::Backend,
        proxied::{Proxied, first_lines},
    },
    terminal::Tmux,
};

/// `lab proxy` with these flags: its exit code, standard output and standard error.
fn lab_proxy(flags: &[&str]) -> (Option<i32>, String, String) {
    let ran = crate::program::lab().arg("proxy").args(flags).output().expect("lab runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
}

fn written(folder: &Path, text: &str) -> String {
    let file = folder.join("proxy.yaml");
    fs::write(&file, text).expect("written");
    file.to_str().expect("a path").to_owned()
}

#[test]
fn right_settings_are_one_line_and_start_nothing() {
    let backend = Backend::start();
    let folder = tempfile::tempdir().expect("a folder");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = taken.local_addr().expect("an address");
    let to = backend.url();
    let text = format!(
        "listen: {at}\nto: ['{to}']\npolicy: {{gradient2: {{limit_max: 500}}}}\nhealth: {{path: /checked, every: 1s}}\n"
    );
    let file = written(folder.path(), &text);
    let (code, out, err) = lab_proxy(&["--check", &file]);
    assert_eq!((code, out, err), (Some(0), format!("{file}: good: gradient2 limit_max=500 → {to}\n"), String::new()));
    assert_eq!(backend.requests(), 0, "a check of its health");
    let (code, out, _) = lab_proxy(&["--check", "--to", &to, "--policy", "vegas"]);
    assert_eq!((code, out), (Some(0), format!("good: vegas → {to}\n")));
    let (code, _, err) = lab_proxy(&["--check", "--to", &to, "--policy", "vegs"]);
    assert!(code == Some(2) && err.contains("did you mean vegas?"), "{err}");
}

#[test]
fn what_a_policy_does_nothing_with_is_warned_of() {
    let backend = Backend::start();
    let to = backend.url();
    let folder = tempfile::tempdir().expect("a folder");
    for (policy, class, warns) in [
        ("gradient2: {}", "{header: X-Plan}", Some("gradient2 does not tell classes apart")),
        ("headway: {objective: 200ms}", "{header: X-Plan}", Some("nothing says which that of a class is")),
        ("headway: {objective: 200ms}", "{header: X-Plan}\ncriticality: {0: SHEDDABLE, 1: CRITICAL}", None),
        ("seda: {classes: 3}", "none", Some("all requests are of class 0")),
        ("seda: {classes: 3}", "{header: X-Plan}", None),
        ("dagor: {business: class}", "{header: X-Plan}", Some("by itself makes none wait")),
        ("compose: {scope: single, select: {dagor: {business: class}}, queue: codel}", "{header: X-Plan}", None),
        ("compose: {limit: gradient2, shares: {1: 1}}", "{header: X-Plan}", None),
        ("compose: {limit: gradient2, shares: {1: 1}}", "none", Some("all requests are of class 0")),
        ("class-queues: {}", "{header: X-Plan}", None),
        (
            "compose: {limit: vegas, queue: {fair-queue: {objective: 200ms}}}",
            "none",
            Some("all requests are one customer's"),
        ),
        ("quota: {}", "none", Some("all requests are one customer's")),
        ("quota: {}", "none\nheaders: {trust_criticality: true}", None),
        (
            "compose: {scope: single, select: {quota: {}}, queue: codel}",
            "none",
            Some("all requests are one customer's"),
        ),
    ] {
        let text = format!("to: ['{to}']\npolicy: {{{policy}}}\nclass: {class}\nconcurrency: 4\n");
        let (code, _, err) = lab_proxy(&["--check", &written(folder.path(), &text)]);
        assert_eq!(code, Some(0), "{policy}: {err}");
        match warns {
            Some(warning) => assert!(err.contains("warning: ") && err.contains(warning), "{policy}: {err}"),
            None => assert_eq!(err, "", "{policy}"),
        }
    }
}

#[test]
fn a_queue_that_guesses_the_number_of_workers_is_warned_of() {
    let backend = Backend::start();
    let folder = tempfile::tempdir().expect("a folder");
    for (policy, concurrency, guesses) in [
        ("codel: {}", "", true),
        ("codel: {}", "concurrency: 4\n", false),
        ("compose: {queue: codel}", "", true),
        ("compose: {limit: gradient2, queue: codel}", "", false),
    ] {
        let text = format!("to: ['{}']\npolicy: {{{policy}}}\n{concurrency}", backend.url());
        let (code, _, err) = lab_proxy(&["--check", &written(folder.path(), &text)]);
        assert_eq!((code, err.contains("lets 64 requests in")), (Some(0), guesses), "{policy}: {err}");
    }
}

#[test]
fn a_key_that_everybody_can_read_is_warned_of() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["certificate.pem", "key.pem"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/proxy/tls").join(name);
        fs::copy(from, folder.path().join(name)).expect("copied");
    }
    let tls = "tls: {certificate: certificate.pem, key: key.pem}";
    let file = written(folder.path(), &format!("to: ['{}']\n{tls}\n", Backend::start().url()));
    for (mode, is_open) in [(0o644, true), (0o640, false), (0o600, false)] {
        fs::set_permissions(folder.path().join("key.pem"), fs::Permissions::from_mode(mode)).expect("its owner");
        let (code, _, err) = lab_proxy(&["--check", &file]);
        assert_eq!((code, err.contains("(mode 644): chmod 600")), (Some(0), is_open), "{mode:o}: {err}");
    }
}

/// A backend that refuses, and one whose name stands for nothing.
fn unreachable() -> [String; 2] {
    let refuses = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    [format!("http://{refuses}"), "http://nobody.invalid:80".to_owned()]
}

#[test]
fn backends_that_cannot_be_reached_are_warned_of() {
    let backend = Backend::start();
    let [refuses, nobody] = unreachable();
    let folder = tempfile::tempdir().expect("a folder");
    let file =
        written(folder.path(), &format!("listen: 127.0.0.1:0\nto: ['{refuses}', '{nobody}', '{}']\n", backend.url()));
    let warned = |err: &str| {
        assert!(err.contains(&format!("warning: {refuses}: it refuses connections")), "{err}");
        assert!(err.contains(&format!("warning: {nobody}: its name nobody.invalid does not resolve")), "{err}");
        assert!(!err.contains(&format!("warning: {}", backend.url())), "{err}");
    };
    let (code, out, err) = lab_proxy(&["--check", &file]);
    assert!(code == Some(0) && out.contains("good"), "{out}{err}");
    warned(&err);
    let mut command = crate::program::lab();
    command.args(["proxy", "--config", &file]);
    let (said, err) = first_lines(command, "control token");
    warned(&err);
    assert!(said.contains("proxy http://127.0.0.1:"), "{said}");
    // It starts all the same, and the log says it too.
    let began = Instant::now();
    let proxy = Proxied::before(&[refuses.clone(), nobody, backend.url()], json!({"balancer": "round-robin"}));
    assert!(began.elapsed() < Duration::from_secs(10));
    let line = proxy.logged("backend_unreachable");
    assert_eq!(line["backend"], refuses);
    assert!(line["why"].as_str().is_some_and(|why| why.contains("refuses connections")), "{line}");
    assert_eq!(proxy.ready["warnings"].as_array().map(Vec::len), Some(2), "{}", proxy.ready);
    assert_eq!((0..3).filter(|_| proxy.get("/").status == 200).count(), 1);
    let proxy = Proxied::before(&[backend.url()], json!({}));
    assert!(proxy.ready.get("warnings").is_none(), "{}", proxy.ready);
}

#[test]
fn a_drawn_token_is_shown_to_a_terminal_alone() {
    let backend = Backend::start();
    let to = backend.url();
    for command in [&["proxy", "--listen", "127.0.0.1:0", "--to", &to][..], &["serve", "--port", "0"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut lab = crate::program::lab();
        lab.args(command).env("LAB_CACHE", folder.path());
        let (said, err) = first_lines(lab, "control token");
        assert!(
            said.contains("control token not shown") && said.contains("--control-token-file FILE gives one"),
            "{said}{err}"
        );
        let is_token = |word: &str| word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(!(said.clone() + &err).split_whitespace().any(is_token), "{said}{err}");
        let Some(tmux) = Tmux::start(140, 30) else { continue };
        let line = format!("LAB_CACHE={} {} {}", folder.path().display(), crate::program::path(), command.join(" "));
        tmux.enter(&line);
        let screen = tmux.wait_for(&["Ctrl-C ends it", "control token "]);
        assert!(screen.split_whitespace().any(is_token), "{screen}");
        tmux.type_in("C-c");
    }
}

#[test]
fn the_file_of_the_docs_is_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../docs/proxy.md")).expect("a page");
    let text = page.split("\n## A file\n").nth(1).and_then(|rest| rest.split("```yaml\n").nth(1)?.split("```").next());
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), text.expect("a file"));
    for (from, to) in [("certificate.pem", "chain.pem"), ("key.pem", "key.pem")] {
        fs::copy(root.join("tests/integration/proxy/tls").join(from), folder.path().join(to)).expect("copied");
    }
    fs::write(folder.path().join("busy.html"), "busy").expect("written");
    let mut lab = crate::program::lab();
    let ran = lab.current_dir(folder.path()).args(["proxy", "--check", "proxy.yaml"]).output().expect("lab runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&ran.stdout).starts_with("proxy.yaml: good: gradient2 limit_max=500 "), "{ran:?}");
}
