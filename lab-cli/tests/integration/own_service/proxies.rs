//! Arms that are somebody else's proxy before a service of one's own.

use std::fs;

use serde_json::Value;

use super::{busy, experiment, marked, ran, service};
use crate::program::{json, lab_in as lab};

/// Whether a program is installed.
fn has(program: &str) -> bool {
    let there = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()));
    let may_be_missing = program == "envoy"; // from PyPI, which not every machine reaches
    assert!(there || may_be_missing || std::env::var_os("LAB_REQUIRE_TOOLS").is_none(), "{program} is not installed");
    there
}

/// A limit of 60 requests a second, with a header on what it refuses with a status of the service's own pages.
const NGINX: &str = "daemon off; worker_processes 1; pid {dir}/pid; error_log stderr; events { worker_connections 4096; }\n\
http { access_log off; client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c; uwsgi_temp_path {dir}/d;\n\
  scgi_temp_path {dir}/e; limit_req_zone $server_name zone=all:1m rate=60r/s; limit_req_status 403;\n\
  server { listen {listen}; server_name it; limit_req zone=all burst=5 nodelay; error_page 403 = @refused;\n\
    location ~ \"^/[a-z]{3,9}$\" { proxy_pass http://{upstream}; }\n\
    location @refused { add_header X-Secret-Word refused always; return 403; } } }\n";

#[test]
fn proxies_that_people_run_are_arms_like_others() {
    if !(has("nginx") && has("haproxy")) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mark = format!("mark-n-{}", std::process::id());
    fs::write(folder.path().join("my.conf.in"), NGINX).expect("written");
    let arms = "[none, {proxy: {as: my-nginx, command: \"nginx -e stderr -p {dir} -c {config}\", config: my.conf.in, \
                refused: {header: x-secret-word}}}, {haproxy-queue: {maxconn: 4, timeout_queue: 100ms}}]";
    experiment(folder.path(), &format!("command: \"{}\", ready: /health", service::command(&mark)), arms);
    let (output, out, err) =
        ran(lab(folder.path()).args(["run", "mine.yaml", "--no-tui", "--out", "run", "--output", "json"]));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{err}");
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    assert!(summary["verdict"] != "INVALID" || busy(&out), "{out}");
    let arms = summary["arms"].as_array().expect("arms");
    let named = |key: &str| arms.iter().map(|arm| arm[key].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>();
    assert_eq!(
        (named("name"), named("policy")),
        (named("name"), vec!["none".into(), "my-nginx".into(), "haproxy-queue".into()])
    );
    for arm in arms {
        let used = &arm["service"];
        assert!(used["proxy_cpu"].is_number() && used["proxy_memory_mb"].as_f64() > Some(0.5), "{arm}");
        let of = |phase: usize, count: &str| arm["phases"][phase][count].as_u64().expect("a count");
        let refuses = arm["policy"] != "none";
        assert_eq!((arm["server"].is_null(), of(1, "rejected") > 0), (refuses, refuses), "{arm}");
        // What it refuses is no failure, whatever its status.
        assert_eq!((of(0, "failed"), of(1, "failed")), (0, 0), "{arm}");
        assert!(of(1, "served") > 0, "{arm}");
    }
    assert_eq!(arms[2]["parameters"]["timeout_queue"], "100");
    assert_eq!(marked(&mark), [0; 0], "it ended with its arm");
    // Its arguments and its configuration may be confidential.
    let files: Vec<_> = fs::read_dir(folder.path().join("run")).expect("a folder").flatten().collect();
    let names: Vec<_> = files.iter().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    assert!(
        names.contains(&"proxy-my-nginx.log".to_owned()) && files.iter().all(|file| file.path().is_file()),
        "{names:?}"
    );
    let manifest = fs::read_to_string(folder.path().join("run/manifest.json")).expect("written");
    assert!(manifest.contains("\"nginx\"") && !manifest.contains("stderr") && !manifest.contains("zone"), "{manifest}");
    let (output, out, err) = ran(lab(folder.path()).args(["recheck", "run"]));
    assert!(output.status.success(), "{out}{err}");
    let (output, _, err) = ran(lab(folder.path()).args(["run", "mine.yaml", "--virtual"]));
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("my-nginx is another program, which has no virtual time"), "{err}");
}

#[test]
fn an_envoy_with_its_own_gradient_is_an_arm() {
    if !has("envoy") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    experiment(
        folder.path(),
        &format!("command: \"{}\", ready: /health", service::command("mark-e")),
        "[envoy-adaptive: {percentile: 90}]",
    );
    let (output, out, err) =
        ran(lab(folder.path()).args(["run", "mine.yaml", "--no-tui", "--out", "run", "--output", "json"]));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{err}");
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    let arm = &summary["arms"][0];
    assert!(arm["phases"][1]["rejected"].as_u64() > Some(0) && arm["phases"][1]["failed"] == 0, "{arm}");
    assert_eq!((&arm["parameters"]["percentile"], &arm["parameters"]["program"]), (&"90".into(), &"envoy".into()));
}

#[test]
fn a_proxy_that_fails_is_told_with_its_last_words() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("any.in"), "{listen} {upstream}").expect("written");
    let command = service::command("mark-f");
    let failing = |arm: &str, args: &[&str], wanted: &[&str]| {
        experiment(folder.path(), &format!("command: \"{command}\", ready: /health"), &format!("[proxy: {{{arm}}}]"));
        let (output, _, err) = ran(lab(folder.path()).args(["run", "mine.yaml", "--no-tui"]).args(args));
        assert_eq!(output.status.code(), Some(1), "{err}");
        wanted.iter().for_each(|wanted| assert!(err.contains(wanted), "{wanted:?} in {err}"));
    };
    let dies = "as: broken, command: \"sh -c 'cat {config}; exit 3'\", config: any.in";
    failing(dies, &[], &["broken: it ended with exit status: 3 before it answered /health", "127.0.0.1:"]);
    failing("command: \"./nowhere {port} {upstream}\"", &[], &["nowhere: No such file", "is nowhere installed"]);
    failing("command: \"sh -c 'true {port} {upstream}'\"", &[], &["exit status: 0", "must stay in the foreground"]);
    // The folder that Python serves has no such page, and its own list of files is a 200 at the root alone.
    let other = "as: pages, command: \"python3 -u -m http.server {port} --bind 127.0.0.1 -d {dir} {upstream}\"";
    let other =
        other.replace(" {upstream}\"", "\", config: any.in").replace("command: \"", "command: \"env CONFIG={config} ");
    failing(
        &other,
        &[],
        &["pages: ", "/health did not get through to the service", "it answers 404, and the service 200"],
    );
    // The second of two services takes the part of a proxy.
    let ended = format!("as: mortal, command: \"{command} {{upstream}}\"");
    let dies = ["--set", "users.paths=[{path: /die}]", "--out", "died"];
    failing(
        &ended,
        &dies,
        &[
            "mortal: it ended during the run (exit status: 7), in arm mortal, block 1, second ",
            "it was told to die",
            "died/proxy-mortal.log",
        ],
    );
    assert_eq!(json(&folder.path().join("died/manifest.json"))["experiment"]["arms"][0]["label"], "mortal");
}
