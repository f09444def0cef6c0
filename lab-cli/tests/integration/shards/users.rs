//! Users of one load in several parts.

use std::{
    path::Path,
    process::Child,
    time::{Duration, SystemTime},
};

use serde_json::json;

use super::*;
use crate::{
    load::service::{Behaves, Service, nobody},
    program::{self, lab_in},
};

/// A server for each user.
const APART: &str = "
name: apart
about: a server for each user
target: {app: emulated, servers: 1000, workers: 1000, service: {exponential: 40ms}}
objective: {response_time: 50ms}
users:
  model: url
  on_failure: {then: retry, attempts: 2}
  timeout: 200ms
  phases: [{name: open, requests: 300/s, for: 2s}, {name: closed, users: 30, for: 2s}]
arms: [none]
";

fn merged(at: &Path, parts: &[&str], more: &[&str]) -> (Option<i32>, String) {
    let output = ran(at, &[&["merge", "-o", "whole"], parts, more].concat());
    (output.status.code(), told(&output))
}

#[test]
fn parts_of_the_users_count_what_all_of_them_count() {
    let scratch = tempfile::tempdir().expect("a folder");
    let at = scratch.path();
    fs::write(at.join("apart.yaml"), APART).expect("written");
    done(at, &["run", "apart.yaml", "--virtual", "--out", "one"]);
    for part in ["1/3", "2/3", "3/3"] {
        done(at, &["run", "apart.yaml", "--virtual", "--shard", part, "--out", &part.replace('/', "-of-")]);
    }
    let part = json(&at.join("2-of-3/summary.json"));
    assert_eq!((&part["partial"], &part["arms"][0]["part"]), (&json!(true), &json!("2/3")));
    let text = done(at, &["report", "2-of-3", "--format", "text"]);
    assert!(text.contains("PARTIAL: part 2/3 of the users"), "{text}");
    assert!(done(at, &["recheck", "2-of-3"]).contains("all the same"));
    let (code, said) = merged(at, &["3-of-3", "1-of-3", "2-of-3"], &[]);
    assert_eq!(code, Some(0), "{said}");
    let [one, whole] = ["one", "whole"].map(|run| json(&at.join(run).join("summary.json"))["arms"][0].clone());
    for phase in 0..2 {
        for what in [
            "planned",
            "sent",
            "served",
            "retries",
            "timed_out",
            "goodput_per_s",
            "response_time_ms",
            "by_type",
            "users",
        ] {
            assert!(!one["phases"][phase][what].is_null(), "{what}");
            assert_eq!(one["phases"][phase][what], whole["phases"][phase][what], "{what}");
        }
    }
    let planned: u64 = (0..3).map(|part| whole["parts"][part]["planned"].as_u64().expect("a count")).sum();
    let of_phase = |phase: usize| one["phases"][phase]["planned"].as_u64().expect("a count");
    assert_eq!((planned, &whole["part"]), (of_phase(0) + of_phase(1), &Value::Null));
    let logs = ["one", "whole"].map(|run| fs::read(at.join(run).join("none-1.hlog")).expect("there"));
    let [one, whole] = logs.map(|log| analysis::interval_log::entries(&log).expect("a log"));
    assert_eq!(one, whole, "the same histograms");
    let again = done(at, &["recheck", "whole"]);
    assert!(again.contains("all the same"), "{again}");
}

#[test]
fn users_who_meet_at_a_service_are_not_shared_in_virtual_time() {
    let scratch = with_file();
    let at = scratch.path();
    for (args, said) in [
        (&["--policy", "none", "--repeat", "1"][..], "users of parts meet each other at its service (3"),
        (&["--policy", "concurrency", "--repeat", "1"], "concurrency decides by the requests of all"),
        (&["--repeat", "1"], "name it (--policy NAME --repeat 1)"),
        (&["--policy", "none"], "name it (--policy NAME --repeat 1)"),
    ] {
        let output = ran(at, &[&["run", "parts.yaml", "--virtual", "--shard", "1/2"][..], args].concat());
        let text = told(&output);
        assert!(output.status.code() == Some(2) && text.contains(said) && text.contains("--shard-by block"), "{text}");
    }
}

/// A moment so far from now, as `--start-at` takes it.
pub fn after(time: Duration) -> String {
    jiff::Timestamp::try_from(SystemTime::now() + time).expect("a moment").to_string()
}

pub fn ended(mut child: Child) {
    assert!(child.wait().expect("it ends").code().is_some_and(|code| matches!(code, 0 | 3)));
}

/// Sends a load in so many parts at once.
fn loaded(at: &Path, url: &str, parts: u32, more: &[&str]) -> Vec<String> {
    let start = after(Duration::from_secs(2));
    let names: Vec<String> = (1..=parts).map(|part| format!("part-{part}")).collect();
    let begun: Vec<Child> = (1..=parts)
        .map(|part| {
            let shard = format!("{part}/{parts}");
            let args =
                ["load", url, "--no-tui", "--shard", &shard, "--start-at", &start, "--out", &names[part as usize - 1]];
            lab_in(at).args([&args[..], more].concat()).spawn().expect("lab starts")
        })
        .collect();
    begun.into_iter().for_each(ended);
    names
}

#[test]
fn generators_beside_each_other_send_one_load() {
    let scratch = tempfile::tempdir().expect("a folder");
    let at = scratch.path();
    let service = Service::start(Behaves::Well);
    let names = loaded(at, &service.url(), 3, &["-R", "90", "-d", "3s", "--arrivals", "poisson"]);
    let parts: Vec<&str> = names.iter().map(String::as_str).collect();
    ran(at, &["load", &service.url(), "-R", "90", "-d", "3s", "--arrivals", "poisson", "--no-tui", "--out", "one"]);
    let (code, said) = merged(at, &parts, &[]);
    assert!(matches!(code, Some(0 | 3)), "{said}");
    let [one, whole] = ["one", "whole"].map(|run| json(&at.join(run).join("summary.json"))["arms"][0].clone());
    for count in ["planned", "sent", "served"] {
        let [one, whole] = [&one, &whole].map(|arm| arm["phases"][0][count].clone());
        assert_eq!(one, whole, "{count}");
    }
    for part in whole["parts"].as_array().expect("three") {
        assert_eq!((&part["clock_error_ms"], &part["wrong"]), (&json!(0.0), &Value::Null), "one kernel, one clock");
        assert!(part["begins_ms"].as_f64().is_some_and(|ms| ms < 5.0), "{part}");
    }
    let codes = whole["reasons"].as_array().expect("a list");
    assert!(
        codes
            .iter()
            .all(|reason| !["ARRIVALS", "SHARES", "SKEW", "BOOKS"].contains(&reason["code"].as_str().unwrap_or("")))
    );
    let manifests = ["one", "whole", "part-2"].map(|run| json(&at.join(run).join("manifest.json")));
    let plans = manifests.each_ref().map(|manifest| manifest["blocks"][0]["plan"].clone());
    assert!(plans[0].is_string() && plans.iter().all(|plan| *plan == plans[0]));
    assert!(manifests[1]["approximations"].is_array() && manifests[1]["shard"].is_null());
    let again = done(at, &["recheck", "whole"]);
    assert!(again.contains("all the same"), "{again}");
    let details = done(at, &["report", "whole", "--format", "text", "--details"]);
    assert!(details.contains("3/3") && details.contains("lag p99"), "{details}");
    done(at, &["report", "whole"]);

    // A part that is edited afterwards is found, also with digests that fit.
    let record = at.join("whole/load-1.part-2-of-3.record.json");
    let kept = fs::read_to_string(&record).expect("there");
    for (from, to, found) in
        [("\"lab\":\"", "\"lab\":\"x", "SHARES"), ("\"part\":\"2/3\"", "\"part\":\"3/3\"", "SHARES")]
    {
        assert!(kept.contains(from), "{from}");
        fs::write(&record, kept.replacen(from, to, 1)).expect("written");
        let text = told(&ran(at, &["recheck", "whole"]));
        assert!(text.contains(found) && text.contains("load-1.part-2-of-3.record.json"), "{text}");
    }
    fs::remove_dir_all(at.join("whole")).expect("there");

    let (code, said) = merged(at, &parts[..2], &[]);
    assert!(code == Some(2) && said.contains("of 3 parts these are missing: 3"), "{said}");
    let (code, said) = merged(at, &parts[..2], &["--partial"]);
    assert!(code == Some(3) && said.contains("SHARES") && said.contains("part 3/3 is missing"), "{said}");
}

#[test]
fn connections_and_requests_that_all_share_are_divided() {
    let scratch = tempfile::tempdir().expect("a folder");
    let at = scratch.path();
    let service = Service::start(Behaves::Well);
    let names = loaded(at, &service.url(), 2, &["-n", "25", "-c", "5"]);
    let (_, said) = merged(at, &[&names[0], &names[1]], &[]);
    let whole = json(&at.join("whole/summary.json"));
    assert_eq!(whole["arms"][0]["phases"][0]["sent"], 25, "{said}");
    let open = ["load", &service.url(), "-R", "50", "-c", "1", "--shard", "2/2", "-d", "1s", "--no-save"];
    let output = ran(at, &open);
    assert!(output.status.code() == Some(2) && told(&output).contains("has no connection left"), "{}", told(&output));
}

#[test]
fn one_part_starts_the_service_and_others_are_told_where_it_is() {
    let scratch = with_file();
    let at = scratch.path();
    let address = nobody();
    let (listen, url) = (address.to_string(), format!("http://{address}"));
    let start = after(Duration::from_secs(14));
    let places = [("1/2", &["--target", "here", "--listen", &listen][..]), ("2/2", &["--target-at", &url])];
    let begun: Vec<Child> = places
        .into_iter()
        .map(|(shard, place)| {
            let out = format!("part-{}", &shard[..1]);
            let arm = ["run", "parts.yaml", "--no-tui", "--policy", "concurrency", "--repeat", "1"];
            let part = ["--shard", shard, "--start-at", &start, "--out", &out];
            lab_in(at).args([&arm[..], &part, place].concat()).spawn().expect("lab starts")
        })
        .collect();
    begun.into_iter().for_each(ended);
    let (code, said) = merged(at, &["part-1", "part-2"], &[]);
    assert!(matches!(code, Some(0 | 3)), "{said}");
    let arm = json(&at.join("whole/summary.json"))["arms"][0].clone();
    let sent: u64 = (0..2).map(|phase| arm["phases"][phase]["sent"].as_u64().expect("a count")).sum();
    assert_eq!(arm["server"]["requests_read"], sent, "{}", arm["server"]);
    let codes: Vec<&str> =
        arm["reasons"].as_array().expect("a list").iter().filter_map(|reason| reason["code"].as_str()).collect();
    assert!(!codes.iter().any(|code| ["LEDGER", "BOOKS", "JOBS", "SHARES", "SKEW"].contains(code)), "{codes:?}");
    assert!(done(at, &["recheck", "whole"]).contains("all the same"));
}

#[test]
fn sessions_of_a_recording_are_replayed_in_parts() {
    let scratch = tempfile::tempdir().expect("a folder");
    let at = scratch.path();
    let service = Service::start(Behaves::Well);
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/small/generated.jsonl.zst");
    let url = format!("{}{{action}}?id={{object}}", service.url());
    let replay = ["replay", trace, "--target", &url, "--speed", "100"];
    for part in ["1/2", "2/2"] {
        let out = format!("part-{}", &part[..1]);
        ran(at, &[&replay[..], &["--shard", part, "--out", &out]].concat());
    }
    let alone = program::printed(&ran(at, &[&replay[..], &["--output", "json"]].concat()));
    let (code, said) = merged(at, &["part-1", "part-2"], &[]);
    // One after the other: no clock is wrong, and they were no one load.
    assert!(code == Some(3) && said.contains("SKEW"), "{said}");
    let whole = json(&at.join("whole/summary.json"))["arms"][0].clone();
    assert_eq!(whole["phases"][0]["sent"], alone["sent"], "{said}");
    assert!(whole["parts"][1]["sent"].as_u64().is_some_and(|sent| sent > 0));
    assert!(done(at, &["recheck", "whole"]).contains("all the same"));
}

#[test]
fn a_part_that_is_not_ready_at_its_time_sends_nothing() {
    let scratch = with_file();
    let at = scratch.path();
    // Less than the measuring of the generator takes.
    let start = after(Duration::from_millis(600));
    let part =
        ["run", "parts.yaml", "--no-tui", "--policy", "none", "--repeat", "1", "--shard", "1/2", "--target", "here"];
    let output = ran(at, &[&part[..], &["--start-at", &start, "--out", "part"]].concat());
    let text = told(&output);
    assert!(
        output.status.code() == Some(2) && (text.contains("choose a later --start-at") || text.contains("already, by")),
        "{text}"
    );
    assert!(!at.join("part/none-1.record.json").exists());
    let two =
        ["run", "parts.yaml", "parts.yaml", "--policy", "none", "--repeat", "1", "--shard", "1/2", "--target", "here"];
    let output = ran(at, &two);
    assert!(output.status.code() == Some(2) && told(&output).contains("of one experiment"), "{}", told(&output));
}
