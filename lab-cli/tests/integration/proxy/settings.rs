//! Settings of a proxy that runs: shown, changed in part, and by one command.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Output};

use serde_json::{Value, json};

use crate::proxy::{
    backend::Backend,
    proxied::{Answer, Proxied},
};

/// A dry run of a policy that lets one request in.
fn dry_run(backend: &Backend) -> Proxied {
    let settings =
        json!({"policy": {"concurrency": {"max": 1}}, "dry_run": true, "log": "off", "refusal": {"retry_after": "3s"}});
    Proxied::before(&[backend.url()], settings)
}

fn shown(proxy: &Proxied, lines: &str) -> Answer {
    let answer = proxy.control_with(lines, "GET", "/config", "");
    assert_eq!(answer.status, 200, "{answer:?}");
    answer
}

/// The status of a request beside one that is inside.
fn second(backend: &Backend, proxy: &Proxied) -> u16 {
    let inside = proxy.inside(backend, "/slow?700");
    let status = proxy.get("/").status;
    assert_eq!(inside.join().expect("an answer").status, 200);
    status
}

#[test]
fn settings_in_force_are_shown_in_the_form_of_a_file() {
    let backend = Backend::start();
    let proxy = dry_run(&backend);
    for lines in ["", "Accept: */*\r\n", "Accept: application/yaml\r\n"] {
        assert_eq!(shown(&proxy, lines).header("content-type"), Some("application/yaml"), "{lines}");
    }
    let text = shown(&proxy, "").body;
    for line in ["dry_run: true", "connect: 2s", "retry_after: 3s", "balancer: round-robin"] {
        assert!(text.lines().any(|shown| shown.trim() == line), "{line} in {text}");
    }
    assert_eq!(proxy.config()["policy"], json!({"concurrency": {"max": 1}}), "{text}");
    for lines in ["Accept: application/json\r\n", "Content-Type: application/json\r\n"] {
        let answer = shown(&proxy, lines);
        let read: Value = serde_json::from_str(&answer.body).expect("JSON");
        assert_eq!((answer.header("content-type"), read), (Some("application/json"), proxy.config()));
        let put = proxy.control("PUT", "/config", &answer.body);
        assert_eq!(put.status, 200, "what is shown can be put: {put:?}");
    }
    assert_eq!(proxy.control("PUT", "/config", &text).status, 200);
    // A file with it starts a proxy like it.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("proxy.yaml");
    fs::write(&file, &text).expect("written");
    assert_eq!(Proxied::of_file(&file, &[]).config(), proxy.config());
}

#[test]
fn a_part_changes_only_what_it_names() {
    let backend = Backend::start();
    let proxy = dry_run(&backend);
    assert_eq!(second(&backend, &proxy), 200, "a dry run");
    let changed = proxy.control("PATCH", "/config", "dry_run: false\ntimeouts: {head: 1s}\n");
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_eq!(second(&backend, &proxy), 503, "none any more");
    let after = proxy.config();
    assert_eq!(
        (&after["dry_run"], &after["timeouts"]["head"], &after["timeouts"]["body"]),
        (&json!(false), &json!("1s"), &json!("10s"))
    );
    let changed = proxy.control_with(
        "Content-Type: application/json\r\n",
        "PATCH",
        "/config",
        r#"{"policy": {"concurrency": {"max": 9}}}"#,
    );
    assert_eq!((changed.status, second(&backend, &proxy)), (200, 200), "{changed:?}");
}

#[test]
fn a_change_with_a_problem_changes_nothing_and_says_all_of_them() {
    let backend = Backend::start();
    let proxy = dry_run(&backend);
    let before = proxy.config();
    for (body, wanted) in [
        ("dry_rum: false\ntimeouts: {head: soon}\nlog: requests", &["did you mean dry_run?", "timeouts.head: "][..]),
        (
            "{dry_run: false, seed: 9, policy: concurency, refusal: {page: /none}, health: {path: up}, to: [a, b]}",
            &[
                "seed: is fixed while",
                "policy: ",
                "did you mean concurrency?",
                "refusal.page: ",
                "health.path: ",
                "to: \\\"a\\\"",
                "to: \\\"b\\\"",
            ],
        ),
        ("- 1", &["settings are keys with their values"]),
        ("{", &["problems"]),
    ] {
        let refused = proxy.control("PATCH", "/config", body);
        assert_eq!(refused.status, 400, "{refused:?}");
        let missing: Vec<_> = wanted.iter().filter(|wanted| !refused.body.contains(**wanted)).collect();
        assert!(missing.is_empty(), "{missing:?} in {}", refused.body);
        assert_eq!(proxy.config(), before);
    }
    let refused = proxy.control("PUT", "/config", "dry_run: false");
    assert!(refused.status == 400 && refused.body.contains("PATCH /config changes only the keys"), "{refused:?}");
    let refused = proxy.control("DELETE", "/config", "");
    assert!(refused.status == 405 && refused.body.contains("GET, PUT, PATCH"), "{refused:?}");
}

#[test]
fn a_policy_is_put_in_any_form_of_a_file() {
    let (_backend, proxy) = Proxied::alone(json!({"log": "off"}));
    for (body, policy) in [
        ("gradient2", json!("gradient2")),
        ("{gradient2: {limit_max: 500}}", json!({"gradient2": {"limit_max": 500}})),
        ("vegas:\n", json!("vegas")),
        ("\"none\"", json!("none")),
        (r#"{"concurrency": {"max": 7}}"#, json!({"concurrency": {"max": 7}})),
        (r#"{"policy": {"name": "vegas", "settings": {}}}"#, json!("vegas")),
        ("policy: {concurrency: {max: 3}}", json!({"concurrency": {"max": 3}})),
    ] {
        let changed = proxy.control("PUT", "/policy", body);
        assert_eq!(changed.status, 200, "{body}: {changed:?}");
        let name = policy.as_object().map_or_else(|| policy.clone(), |one| json!(one.keys().next()));
        assert_eq!((&proxy.config()["policy"], &proxy.gate()["policy_name"]), (&policy, &name));
    }
    for (body, wanted) in [
        ("gradent", "did you mean gradient"),
        ("{concurrency: {max: many}}", "max"),
        ("{gradient2: {}, vegas: {}}", "a policy is a name, or one name with its settings"),
        ("", "a policy is a name"),
    ] {
        let refused = proxy.control("PUT", "/policy", body);
        assert!(refused.status == 400 && refused.body.contains(wanted), "{body}: {refused:?}");
        assert_eq!(proxy.gate()["policy_name"], "concurrency");
    }
}

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn set(control: &str, token: &Path, changes: &[&str]) -> (Option<i32>, String) {
    let mut command = crate::program::lab();
    command.args(["proxy", "set"]).args(changes).args(["--control", control, "--control-token-file"]).arg(token);
    let Output { status, stdout, stderr } = command.output().expect("lab runs");
    (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

#[test]
fn the_dry_run_is_left_by_one_command() {
    let backend = Backend::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    fs::write(&file, TOKEN).expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("private");
    let (to, path) = (backend.url(), file.to_str().expect("a path"));
    let flags =
        ["--to", &to, "--policy", "concurrency", "--set", "max=1", "--dry-run", "--objective", "200ms", "--log", "off"];
    let proxy = Proxied::with_flags(&[&flags[..], &["--control-token-file", path]].concat());
    let control = proxy.ready["control"].as_str().expect("an address");
    assert!(proxy.ready.get("token").is_none(), "{}", proxy.ready);
    assert_eq!(second(&backend, &proxy), 200);
    let (code, said) = set(control, &file, &["dry_run=false", "refusal.retry_after=7s"]);
    assert_eq!((code, said.as_str()), (Some(0), "set dry_run=false refusal.retry_after=7s\n"));
    assert_eq!(second(&backend, &proxy), 503);
    for (changes, wanted) in [
        (&["dry_rum=true", "limits.held=many"][..], &["did you mean dry_run?", "limits.held: "][..]),
        (&["objective.response_time=1s"], &["objective: is fixed while the proxy runs"]),
        (&["dry_run"], &["KEY=VALUE"]),
        (&["dry_run=true", "dry_run=false"], &["named twice"]),
    ] {
        let (code, said) = set(control, &file, changes);
        assert!(code == Some(2) && wanted.iter().all(|wanted| said.contains(wanted)), "{said}");
    }
    fs::write(&file, format!("{TOKEN}0")).expect("written");
    let (code, said) = set(control, &file, &["dry_run=true"]);
    assert!(code == Some(2) && said.contains("the control port wants its token"), "{said}");
    fs::write(&file, TOKEN).expect("written");
    let (code, said) = set("127.0.0.1:1", &file, &["dry_run=true"]);
    assert!(code == Some(1) && !said.contains("os error"), "{said}");
}

#[test]
fn the_objective_is_typed_and_its_percentile_is_that_of_the_file() {
    let backend = Backend::start();
    let proxy = Proxied::with_flags(&["--to", &backend.url(), "--objective", "200ms", "--log", "off"]);
    assert_eq!(proxy.config()["objective"], json!({"percentile": 99.0, "response_time": "200ms"}));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("proxy.yaml");
    let text =
        format!("to: ['{}']\nlisten: 127.0.0.1:0\nobjective: {{percentile: 90, response_time: 5s}}\n", backend.url());
    fs::write(&file, text).expect("written");
    let proxy = Proxied::of_file(&file, &["--objective", "2s"]);
    assert_eq!(proxy.config()["objective"], json!({"percentile": 90.0, "response_time": "2s"}));
}

#[test]
fn what_only_an_experiment_uses_is_not_there_without_one() {
    let backend = Backend::start();
    let only = ["/work", "/hinder", "/halt", "/callees", "/renew-callers", "/requests", "/report", "/reports"];
    let proxy = Proxied::before(&[backend.url()], json!({"log": "off"}));
    for path in only {
        for method in ["GET", "PUT", "POST"] {
            let answer = proxy.control(method, path, "{}");
            assert_eq!(answer.status, 404, "{method} {path}: {answer:?}");
            let named = answer.body.split(['"', ',', ' ']).any(|word| only.contains(&word));
            assert!(!named && answer.body.contains("/config"), "{answer:?}");
        }
    }
    // As `lab run` starts one.
    let proxy = Proxied::before(&[backend.url()], json!({"log": "off", "experiment": true}));
    let refused = proxy.control("PUT", "/work", r#"{"operations": 1}"#);
    assert!(refused.status == 400 && !refused.body.contains("there are"), "{refused:?}");
    assert_eq!(proxy.control("POST", "/renew-callers", "").status, 200);
    assert!(proxy.control("GET", "/nowhere", "").body.contains("/hinder"));
}
