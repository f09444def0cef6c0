//! A load's folder is a run's: all that reads runs reads it.

use std::{fs, path::Path};

use service::{Behaves, Service};

use super::*;
use crate::proxy::proxied::get;

fn run(at: &Path, args: &[&str]) -> (i32, String) {
    let output = program::ran(at, args);
    (output.status.code().expect("it ended"), program::told(&output))
}

#[test]
fn loads_are_reported_rechecked_compared_and_found_in_the_history() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let service = Service::start(Behaves::Well);
    let url = service.url();
    for out in ["runs/one", "runs/two"] {
        let secret = ["-H", "X-Key: s3cret", "-m", "POST", "-b", "the body"];
        let args =
            [&["load", &url, "-R", "100", "-d", "2s", "--out", out, "--fail-if", "p50 > 5s"][..], &secret].concat();
        let (code, said) = run(at, &args);
        assert!(matches!(code, 0 | 3) && said.contains(&format!("saved in {out}")), "{said}");
    }
    let events = fs::read_to_string(at.join("runs/one/events.jsonl")).expect("events");
    let begins = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let begins: Vec<Value> = begins.filter(|event| event["event"] == "load-started").collect();
    assert!(matches!(&begins[..], [one] if one["at"].as_str().is_some_and(|at| at.len() == 24)), "{events}");
    let (code, said) = run(at, &["recheck", "runs/one"]);
    assert!(code == 0 && said.contains("all the same"), "{said}");
    for (format, wanted) in [("html", ""), ("md", "load"), ("csv", "load,none,1"), ("junit", "testsuite")] {
        let (code, said) = run(at, &["report", "runs/one", "--format", format]);
        assert!(code == 0 && said.contains(wanted), "{format}: {said}");
    }
    let (code, said) = run(at, &["compare", "runs/one", "runs/two"]);
    // A crowded machine leaves nothing to compare.
    let compared = said.contains("load") || said.contains("INVALID");
    assert!(matches!(code, 0 | 3 | 4) && compared, "{code}: {said}");
    let (code, said) = run(at, &["history"]);
    assert!(code == 0 && said.contains("one") && said.contains("two"), "{said}");
    let files = fs::read_dir(at.join("runs/one")).expect("a folder");
    for file in files.map(|file| file.expect("a file").path()) {
        let text = String::from_utf8_lossy(&fs::read(&file).expect("read")).into_owned();
        assert!(!text.contains("s3cret") && !text.contains("the body"), "{}", file.display());
    }
    let (code, said) = run(at, &["load", &url, "-n", "1", "--out", "runs/one"]);
    assert!(code == 2 && said.contains("is there already"), "{said}");
}

#[test]
fn a_load_is_saved_unless_that_is_not_wanted_and_a_count_is_no_torn_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let service = Service::start(Behaves::Well);
    let (_, said) = run(at, &["load", &service.url(), "-n", "50", "--no-save"]);
    assert!(!at.join("runs").exists() && !said.contains("saved"), "{said}");
    let (_, said) = run(at, &["load", &service.url(), "-n", "50", "-c", "2"]);
    let saved = fs::read_dir(at.join("runs")).expect("it was saved").next().expect("a run").expect("a folder").path();
    let name = saved.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(name.starts_with("load-127-0-0-1-") && said.contains(&name), "{name}: {said}");
    let summary = program::json(&saved.join("summary.json"));
    let phase = &summary["arms"][0]["phases"][0];
    assert_eq!((count(phase, "served"), phase["cut_off"].is_null(), &summary["partial"]), (50, true, &false.into()));
    assert!(phase["seconds"].as_f64() < Some(10.0), "{phase:#}");
    let (code, said) = run(at, &["recheck", &name]);
    assert!(code == 0 && said.contains("all the same"), "{said}");
}

#[test]
fn a_load_that_is_stopped_is_saved_as_far_as_it_came() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::start(Behaves::Well);
    let out = folder.path().join("run").display().to_string();
    let running = Running::load(&[&service.url(), "-R", "50", "-d", "1m", "--out", &out]);
    running.loads_for(Duration::from_millis(2500));
    running.signal("INT");
    assert_eq!(running.ends_within(SOON).code(), 130);
    let (code, said) = run(folder.path(), &["recheck", &out]);
    assert!(code == 0 && said.contains("all the same"), "{said}");
    let summary = program::json(&folder.path().join("run/summary.json"));
    assert_eq!(summary["partial"], true);
}

#[test]
fn results_are_printed_as_a_table_and_as_histograms() {
    let service = Service::start(Behaves::Well);
    let printed = |form: &str| {
        let ended =
            Running::start(lab(&["load", &service.url(), "-n", "50", "-c", "2", "--output", form])).ends_within(SOON);
        String::from_utf8(ended.output.stdout).expect("text")
    };
    let table = printed("csv");
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[0].starts_with("run,experiment,arm") && rows[1].contains(",load,"), "{table}");
    let log = printed("hlog");
    assert!(log.starts_with("#[Histogram log format version 1.3]") && log.contains("Tag=load/response,"), "{log}");
}

#[test]
fn metrics_are_there_while_a_load_goes_on() {
    let service = Service::start(Behaves::Well);
    let address = service::nobody();
    let running = Running::load(&[&service.url(), "-R", "50", "-d", "4s", "--metrics", &address.to_string()]);
    thread::sleep(Duration::from_millis(2800));
    let page = get(address, "/metrics").body;
    for line in [
        "lab_load_requests_total{outcome=\"served\"} ",
        "lab_load_response_seconds{quantile=\"0.5\"} ",
        "lab_load_offered_total ",
    ] {
        let found = page.lines().find_map(|found| found.strip_prefix(line)).unwrap_or_else(|| panic!("{line}: {page}"));
        assert!(found.parse::<f64>().is_ok_and(|value| value > 0.0), "{page}");
    }
    assert!(matches!(running.ends_within(SOON).code(), 0 | 3));
    let ended = Running::load(&[&service.url(), "-n", "1", "--metrics", "192.0.2.1:1"]).ends_within(SOON);
    assert!(ended.code() == 1 && String::from_utf8_lossy(&ended.output.stderr).contains("name another"));
}

#[cfg(not(feature = "otel"))]
#[test]
fn a_build_without_opentelemetry_says_so() {
    let ended = Running::load(&["http://127.0.0.1:9/", "-n", "1", "--otlp", "http://127.0.0.1:4318"]).ends_within(SOON);
    assert!(ended.code() == 2 && String::from_utf8_lossy(&ended.output.stderr).contains("--features otel"));
}

/// `cargo test --workspace --features lab-cli/otel --test integration opentelemetry`.
#[cfg(feature = "otel")]
#[test]
fn metrics_reach_a_collector_of_opentelemetry() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = format!("http://{}", listener.local_addr().expect("an address"));
    let collects = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("an export");
        let (mut all, mut piece) = (Vec::new(), [0; 65536]);
        stream.set_read_timeout(Some(Duration::from_secs(3))).expect("a time-out");
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            all.extend_from_slice(&piece[..count]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
        all
    });
    let service = Service::start(Behaves::Well);
    let ended =
        Running::load(&[&service.url(), "-R", "50", "-d", "3s", "--otlp", &to]).ends_within(Duration::from_secs(20));
    assert!(matches!(ended.code(), 0 | 3), "{}", String::from_utf8_lossy(&ended.output.stderr));
    let all = String::from_utf8_lossy(&collects.join().expect("no panic")).into_owned();
    for name in ["POST /v1/metrics", "lab-load", "lab_load_requests", "served"] {
        assert!(all.contains(name), "{name}");
    }
    let ended = Running::load(&[&service.url(), "-n", "1", "--otlp", "nowhere"]).ends_within(SOON);
    assert!(ended.code() == 2 && String::from_utf8_lossy(&ended.output.stderr).contains("is no URL"));
}
