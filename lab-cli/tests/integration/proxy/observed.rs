//! Metrics for Prometheus, the dashboard over them, and the log of requests.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
};

use serde_json::{Value, json};

use crate::proxy::{
    backend::Backend,
    proxied::{Answer, Proxied, get, until},
};

/// A page of metrics, read as OpenMetrics has it: a value for each name with its labels.
pub fn metrics(proxy: &Proxied) -> BTreeMap<String, f64> {
    read(&scrape(at(proxy), "GET", "/metrics"))
}

/// Where the metrics of a proxy are.
fn at(proxy: &Proxied) -> &str {
    proxy.ready["metrics"].as_str().expect("an address")
}

fn read(answer: &Answer) -> BTreeMap<String, f64> {
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("application/openmetrics-text")));
    let (mut values, mut described) = (BTreeMap::new(), Vec::new());
    for line in answer.body.lines() {
        if let Some(about) = line.strip_prefix("# ") {
            let words: Vec<&str> = about.splitn(3, ' ').collect();
            match words.as_slice() {
                ["TYPE", name, kind] => {
                    assert!(["counter", "gauge", "histogram"].contains(kind), "{line}");
                    described.push((*name).to_owned());
                }
                ["HELP", _, help] => assert!(!help.is_empty(), "{line}"),
                other => assert_eq!(other, ["EOF"]),
            }
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value: {line}"));
        let of = described.last().expect("a type before its values");
        assert!(name.starts_with(of.as_str()), "{name} follows the type of {of}");
        assert!(values.insert(name.to_owned(), value.parse().expect(value)).is_none(), "{name} twice");
    }
    assert!(answer.body.ends_with("# EOF\n"));
    values
}

fn scrape(at: &str, method: &str, path: &str) -> Answer {
    let host = at.trim_start_matches("http://").trim_end_matches("/metrics");
    Answer::to(host.parse().expect("an address"), &format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
}

#[test]
fn metrics_say_what_the_ledger_says_and_change_nothing() {
    let backend = Backend::start();
    let to = backend.url();
    let flags = ["--to", &to, "--policy", "gradient2", "--metrics", "127.0.0.1:0", "--log", "off"];
    let proxy = Proxied::with_flags(&flags);
    (0..5).for_each(|_| assert_eq!(proxy.get("/").status, 200));
    let _ = proxy.get("/short");
    let values = until("six ends", || {
        let values = metrics(&proxy);
        (values["lab_proxy_requests_in_flight"] == 0.0).then_some(values)
    });
    for (name, value) in [
        ("lab_proxy_requests_total{outcome=\"served\"}".to_owned(), 5.0),
        ("lab_proxy_requests_total{outcome=\"error\"}".to_owned(), 1.0),
        ("lab_proxy_requests_read_total".to_owned(), 6.0),
        ("lab_proxy_policy_admitted_total{stage=\"proxy\"}".to_owned(), 6.0),
        (format!("lab_proxy_backend_requests_total{{backend=\"{to}\"}}"), 6.0),
        (format!("lab_proxy_backend_up{{backend=\"{to}\"}}"), 1.0),
        ("lab_proxy_request_seconds_count{code=\"2xx\"}".to_owned(), 6.0),
        ("lab_proxy_response_head_seconds_count".to_owned(), 6.0),
    ] {
        assert_eq!(values.get(&name), Some(&value), "{name} in {values:#?}");
    }
    assert!(values["lab_proxy_policy_gauge{policy=\"gradient2\",stage=\"proxy\",gauge=\"limit\"}"] >= 1.0);
    assert_eq!(scrape(at(&proxy), "POST", "/metrics").status, 405);
    assert_eq!(scrape(at(&proxy), "GET", "/gauges").status, 404);
    let changed = proxy.control("PUT", "/policy", r#"{"policy": {"name": "vegas", "settings": {}}}"#);
    assert_eq!(changed.status, 200, "{}", changed.body);
    assert_eq!(proxy.get("/").status, 200);
    let values = metrics(&proxy);
    assert_eq!(values["lab_proxy_policy_admitted_total{stage=\"proxy\"}"], 7.0, "counts go on");
    let in_force: Vec<_> = values.keys().filter(|name| name.starts_with("lab_proxy_policy_info")).collect();
    assert_eq!(in_force, ["lab_proxy_policy_info{policy=\"vegas\",stage=\"proxy\"}"]);
}

/// Asks for `/` over TLS.
fn over_tls(proxy: &Proxied, client: reqwest::ClientBuilder) -> (reqwest::Version, u16) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = client.tls_danger_accept_invalid_certs(true).no_proxy().build().expect("a client");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let url = proxy.ready["url"].as_str().expect("a URL");
    runtime.block_on(async {
        let answer = client.get(url).send().await.expect("an answer");
        let said = (answer.version(), answer.status().as_u16());
        assert_eq!(answer.text().await.expect("a body"), "hello");
        said
    })
}

#[test]
fn requests_over_tls_and_http2_are_in_the_metrics_as_all_others() {
    let backend = Backend::start();
    // A certificate for tests, which nobody is to trust.
    let file = |name| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/proxy/tls").join(name);
    let tls = json!({"certificate": file("certificate.pem"), "key": file("key.pem")});
    let proxy = Proxied::before(&[backend.url()], json!({"tls": tls, "metrics": "127.0.0.1:0", "log": "off"}));
    assert_eq!(over_tls(&proxy, reqwest::Client::builder()), (reqwest::Version::HTTP_2, 200));
    assert_eq!(over_tls(&proxy, reqwest::Client::builder().http1_only()), (reqwest::Version::HTTP_11, 200));
    let values = until("two ends", || {
        let values = metrics(&proxy);
        (values["lab_proxy_requests_total{outcome=\"served\"}"] == 2.0).then_some(values)
    });
    assert_eq!(values["lab_proxy_request_seconds_count{code=\"2xx\"}"], 2.0);
    assert_eq!(values["lab_proxy_connections_accepted_total"], 2.0);
}

/// A service whose requests take a millisecond on average.
const SERVICE: &str = "
name: quick
target: {app: emulated, service: {exponential: 1ms}, servers: 4, workers: 4, batch: 1}
objective: {percentile: 90, response_time: 1s}
users: {model: url, phases: [{name: load, users: 1, for: 1s}]}
arms: [none]
";

#[test]
fn a_service_has_metrics_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("quick.yaml");
    fs::write(&file, SERVICE).expect("written");
    let mut command = crate::program::lab();
    command.arg("serve").arg(&file).args(["--port", "0", "--policy", "gradient2", "--metrics", "127.0.0.1:0"]);
    let mut served = command.stdout(Stdio::piped()).spawn().expect("lab starts");
    let lines = BufReader::new(served.stdout.take().expect("piped")).lines();
    let said: Vec<String> = lines.map_while(Result::ok).take(4).collect();
    let after = |word: &str| said.iter().find_map(|line| line.strip_prefix(word)).expect(word).trim().to_owned();
    let address = after("serving http://").parse().expect("an address");
    assert!((0..3).all(|_| get(address, "/").status == 200));
    let at = after("metrics ");
    let values = until("three ends", || {
        let values = read(&scrape(&at, "GET", "/metrics"));
        (values["lab_serve_requests_total{outcome=\"served\"}"] == 3.0).then_some(values)
    });
    let _ = served.kill();
    let _ = served.wait();
    let policy = |name: &str, stage: &str| values[&format!("lab_serve_policy_{name}{{stage=\"{stage}\"}}")];
    assert_eq!(policy("admitted_total", "work"), 3.0, "{values:#?}");
    assert_eq!(values["lab_serve_stage_workers{stage=\"work\"}"], 4.0);
    assert!(values["lab_serve_stage_busy_seconds_total{stage=\"work\"}"] > 0.0);
    assert!(values["lab_serve_resident_memory_bytes"] > 1e5);
}

#[test]
fn every_metric_of_the_dashboard_is_exported() {
    let settings =
        json!({"policy": {"concurrency": {"max": 1}}, "dry_run": true, "metrics": "127.0.0.1:0", "log": "off"});
    let (_backend, proxy) = Proxied::alone(settings);
    let address = proxy.address;
    let clients: Vec<_> = (0..3).map(|_| std::thread::spawn(move || get(address, "/slow?300").status)).collect();
    assert!(clients.into_iter().all(|client| client.join().expect("a status") == 200));
    let exported = metrics(&proxy);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/grafana/lab-proxy.json");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(folder).expect("a dashboard")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let queries: Vec<&str> = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().expect("queries"))
        .map(|query| query["expr"].as_str().expect("an expression"))
        .collect();
    assert!(queries.len() >= 8, "{queries:?}");
    for query in queries {
        let names =
            query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.starts_with("lab_proxy_"));
        for name in names {
            // Reasons of refusals have no row before the first.
            let is_exported = exported.keys().any(|key| key.split('{').next() == Some(name));
            assert!(is_exported || name == "lab_proxy_refused_total", "{name} in {query} is not among {exported:#?}");
        }
    }
}

#[test]
fn the_log_has_a_line_for_each_request_and_change() {
    let settings = json!({
        "policy": {"concurrency": {"max": 1}}, "log": "requests", "metrics": "127.0.0.1:0",
        "class": {"header": "x-plan", "values": {"gold": 2}},
    });
    let (backend, proxy) = Proxied::alone(settings);
    assert_eq!(proxy.get("/a?token=secret").status, 200);
    let line = proxy.logged("request");
    assert_eq!(
        (&line["method"], &line["path"], &line["status"], &line["outcome"], &line["backend"], &line["body_bytes"]),
        (&json!("GET"), &json!("/a"), &json!(200), &json!("served"), &json!(1), &json!(5))
    );
    assert_eq!((&line["class"], line.get("reason"), line.get("would_refuse")), (&json!(0), None, None), "{line}");
    let (whole, head) = (line["seconds"].as_f64().expect("a time"), line["head_seconds"].as_f64().expect("a time"));
    assert!(whole >= head && head > 0.0 && line["unix_s"].as_f64() > Some(1.7e9), "{line}");
    let inside = proxy.inside(&backend, "/slow?500");
    assert_eq!(proxy.get("/refused").status, 503);
    let line = proxy.logged("request");
    assert_eq!(
        (&line["status"], &line["outcome"], &line["reason"]),
        (&json!(503), &json!("refused"), &json!("concurrency"))
    );
    assert!(line.get("backend").is_none(), "{line}");
    assert_eq!(inside.join().expect("an answer").status, 200);
    assert_eq!(proxy.logged("request")["path"], "/slow");
    let gold = Answer::to(proxy.address, "GET /gold HTTP/1.1\r\nHost: a\r\nX-Plan: gold\r\nConnection: close\r\n\r\n");
    assert_eq!((gold.status, &proxy.logged("request")["class"]), (200, &json!(2)));
    let values = metrics(&proxy);
    let of = |class: u8, outcome: &str| {
        values[&format!("lab_proxy_class_requests_total{{class=\"{class}\",outcome=\"{outcome}\"}}")]
    };
    assert_eq!((of(0, "served"), of(0, "refused"), of(2, "served"), of(2, "refused")), (2.0, 1.0, 1.0, 0.0));
    let changed = proxy.control("PUT", "/policy", r#"{"policy": {"name": "none", "settings": {}}}"#);
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_eq!(proxy.logged("policy")["name"], "none");
}

#[test]
fn a_line_says_why_no_backend_answered_and_what_was_wrong_with_a_request() {
    let proxy = Proxied::before(&["http://127.0.0.1:1".to_owned()], json!({"log": "requests"}));
    assert_eq!(proxy.get("/").status, 502);
    let line = proxy.logged("request");
    assert_eq!((&line["outcome"], &line["reason"]), (&json!("error"), &json!("unreachable")), "{line}");
    let (_backend, proxy) = Proxied::alone(json!({"log": "requests", "timeouts": {"response": "200ms"}}));
    assert_eq!(proxy.get("/slow?900").status, 504);
    assert_eq!(proxy.logged("request")["reason"], "timeout");
    assert_eq!(Answer::to(proxy.address, "GET /none HTTP/1.1\r\n\r\n").status, 400);
    let line = proxy.logged("request");
    let said = (&line["path"], &line["status"], &line["outcome"], line.get("class"));
    assert_eq!(said, (&json!("/none"), &json!(400), &json!("client_error"), None), "{line}");
}

#[test]
fn a_dry_run_marks_the_requests_that_the_policy_refuses() {
    let settings = json!({"policy": {"concurrency": {"max": 1}}, "dry_run": true, "log": "requests"});
    let (backend, proxy) = Proxied::alone(settings);
    let inside = proxy.inside(&backend, "/slow?500");
    assert_eq!(proxy.get("/second").status, 200);
    let line = proxy.logged("request");
    assert_eq!((&line["outcome"], &line["would_refuse"]), (&json!("served"), &json!("concurrency")), "{line}");
    assert_eq!(inside.join().expect("an answer").status, 200);
    assert_eq!(proxy.logged("request").get("would_refuse"), None);
}

#[test]
fn a_path_of_checks_that_is_none_and_an_address_in_use_are_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("proxy.yaml");
    fs::write(&file, "to: [http://127.0.0.1:1]\nhealth: {path: health}\n").expect("written");
    let ran = crate::program::lab().args(["proxy", "--config"]).arg(&file).output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.code() == Some(2) && said.contains("health.path") && said.contains("/health is one"), "{said}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let flags = ["proxy", "--listen", "127.0.0.1:0", "--to", "http://127.0.0.1:1", "--metrics", &address];
    let ran = crate::program::lab().args(flags).output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && said.contains(&address), "{said}");
}

/// The values of these metrics of a proxy, once no request is in flight.
fn settled(proxy: &Proxied, names: &[&str]) -> Vec<f64> {
    let values = until("ends", || {
        let values = metrics(proxy);
        (values["lab_proxy_requests_in_flight"] == 0.0).then_some(values)
    });
    let value = |name: &&str| {
        values.get(&format!("lab_proxy_{name}")).copied().unwrap_or_else(|| panic!("{name} in {values:#?}"))
    };
    names.iter().map(value).collect()
}

#[test]
fn requests_are_counted_by_what_became_of_them() {
    let settings = json!({"metrics": "127.0.0.1:0", "log": "requests", "limits": {"body_bytes": 10}});
    let (backend, proxy) = Proxied::alone(settings);
    backend.answers(&["404 Not Found", "500 Oops"]);
    let to = |text: &str| Answer::to(proxy.address, &text.replace('\n', "\r\n")).status;
    assert_eq!((proxy.get("/").status, proxy.get("/").status), (404, 500));
    assert_eq!(proxy.logged("request")["outcome"], "served");
    assert_eq!(proxy.logged("request")["outcome"], "error");
    // A body that is said to be too large, and one that turns out to be.
    assert_eq!(to("POST / HTTP/1.1\nHost: a\nContent-Length: 100\n\n"), 413);
    assert_eq!(proxy.logged("request")["outcome"], "client_error");
    assert_eq!(to("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n14\n01234567890123456789\n0\n\n"), 413);
    assert_eq!(proxy.logged("request")["outcome"], "client_error");
    // No requests at all.
    assert_eq!((to("GET / HTTP/1.1\n\n"), to("nonsense\n\n")), (400, 400));
    assert_eq!(proxy.logged("request")["status"], 400);
    until("both are counted", || (proxy.ledger()["malformed"] == 2).then_some(()));
    let outcomes = ["served", "error", "client_error", "refused", "client_gone"]
        .map(|of| format!("requests_total{{outcome=\"{of}\"}}"));
    let names: Vec<&str> =
        outcomes.iter().map(String::as_str).chain(["requests_read_total", "malformed_total"]).collect();
    assert_eq!(settled(&proxy, &names), [1.0, 1.0, 2.0, 0.0, 0.0, 4.0, 2.0]);
}

#[test]
fn connections_are_refused_or_evicted_and_backends_checked() {
    let settings = json!({
        "metrics": "127.0.0.1:0", "log": "off", "limits": {"connections": 2}, "health": {"path": "/health", "every": "100ms"},
    });
    let (backend, proxy) = Proxied::alone(settings);
    let counts = ["connections_accepted_total", "connections_evicted_total", "connections_refused_total"];
    let kept = |path: &str| {
        let mut stream = std::net::TcpStream::connect(proxy.address).expect("a connection");
        std::io::Write::write_all(&mut stream, format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes())
            .expect("it goes out");
        stream
    };
    let idle: Vec<_> = (0..2)
        .map(|number| {
            let stream = kept("/");
            until("its answer", || (proxy.ledger()["served"] == number + 1).then_some(()));
            stream
        })
        .collect();
    let third = kept("/");
    until("room for a third", || (proxy.ledger()["served"] == 3).then_some(()));
    assert_eq!(settled(&proxy, &counts), [3.0, 1.0, 0.0]);
    drop((idle, third));
    until("an end", || (proxy.ledger()["connections_open"] == 0).then_some(()));
    // Nobody makes room whose request is inside.
    let before = backend.requests();
    let busy = [kept("/slow?1500"), kept("/slow?1500")];
    until("requests inside", || (backend.requests() == before + 2).then_some(()));
    assert_eq!(proxy.get("/").status, 503);
    let values = metrics(&proxy);
    assert_eq!(counts.map(|name| values[&format!("lab_proxy_{name}")]), [5.0, 1.0, 1.0]);
    drop(busy);
    let of = |outcome: &str| {
        format!("lab_proxy_backend_checks_total{{backend=\"{}\",outcome=\"{outcome}\"}}", backend.url())
    };
    assert!(values[&of("passed")] >= 1.0 && values[&of("failed")] == 0.0, "{values:#?}");
    assert_eq!(values["lab_proxy_health_checks_total"], 0.0, "those of clients");
}
