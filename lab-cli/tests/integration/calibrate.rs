//! `lab calibrate`, as a person runs it: shape, never speed.

use std::{fs, process::Stdio};

use serde_json::Value;

use crate::program::{lab_in as lab, printed, signal, wait_until};

#[test]
fn a_measured_plant_has_every_part_and_runs_an_experiment_in_virtual_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let measured = lab(folder.path())
        .args(["calibrate", "arashi", "-o", "plant.yaml", "--repeat", "1", "--for", "400ms"])
        .output()
        .expect("lab runs");
    let table = String::from_utf8_lossy(&measured.stdout);
    // What else runs on this machine may make it INVALID; the file says so, and is there.
    let invalid = table.contains("\nverdict: INVALID\n");
    let said = String::from_utf8_lossy(&measured.stderr);
    assert_eq!(measured.status.code(), Some(if invalid { 3 } else { 0 }), "{table}{said}");
    assert!(table.contains("operation_ms") && table.contains("lowest .. highest"), "{table}");
    let notes = String::from_utf8_lossy(&measured.stderr);
    assert_eq!(notes.contains("DEBUG BUILD"), cfg!(debug_assertions), "{notes}");

    let text = fs::read_to_string(folder.path().join("plant.yaml")).expect("written");
    let plant: Value = serde_yaml::from_str(&text).expect("YAML");
    for part in ["read_ms", "refuse_ms", "accept_ms", "operation_ms", "checksum_read_ms"] {
        assert!(plant[part].as_f64() > Some(0.0), "{part} in {text}");
    }
    let by = &plant["measured_by"];
    assert_eq!((by["verdict"] == "INVALID", by["lab"].as_str()), (invalid, Some(env!("CARGO_PKG_VERSION"))), "{text}");
    let login = &plant["types"]["login"];
    let parts = ["cpu_ms", "read_ms", "write_ms"].map(|part| login[part].as_f64().expect("a number"));
    assert!(parts.iter().sum::<f64>() > 0.0, "{text}");
    assert_eq!(login["write_ms"], 0, "a login changes no mail");
    let types = plant["types"].as_object().expect("types");
    let on_readers: f64 = types.values().map(|cost| cost["read_ms"].as_f64().expect("a number")).sum();
    assert!(on_readers > 0.0, "the database's threads were not found: {text}");
    let factors = plant["slowdown"].as_array().expect("a list");
    assert_eq!(factors.last().and_then(Value::as_f64), Some(1.0), "the others are in proportion to the last: {text}");
    let how = plant["measured"].as_str().expect("text");
    assert!(how.contains("Linux") && how.contains("lab calibrate arashi"), "{how}");
    assert!(!how.contains('/'), "no paths: {how}");

    let file = "name: with-plant\ntarget: {app: arashi, mail: {folders: generated, seed: 7}, work: 5}\n\
                objective: {percentile: 90, response_time: 1s}\n\
                users: {model: arashi, phases: [{name: calm, users: 3, for: 5s}]}\narms: [none]\nvirtual: {plant: plant.yaml}\n";
    fs::write(folder.path().join("with.yaml"), file).expect("written");
    let run =
        lab(folder.path()).args(["run", "with.yaml", "--virtual", "--output", "json"]).output().expect("lab runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let summary = printed(&run);
    let told = summary["reasons"].as_array().expect("a list").iter().filter(|reason| reason["code"] == "PLANT").count();
    assert_eq!(told, usize::from(cfg!(debug_assertions)) + usize::from(by["verdict"] != "VALID"), "{summary}");
    assert!(summary["arms"][0]["phases"][0]["served"].as_u64() > Some(0), "{summary}");

    let again = lab(folder.path()).args(["calibrate", "arashi", "-o", "plant.yaml"]).output().expect("lab runs");
    assert_eq!(again.status.code(), Some(2), "a file is not written over");
}

#[test]
fn an_interrupt_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = fs::File::create(folder.path().join("notes")).expect("a file");
    let mut child = lab(folder.path())
        .args(["calibrate", "degrade", "-o", "plant.yaml", "--for", "30s"])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("lab starts");
    let notes = folder.path().join("notes");
    wait_until("it begins", || fs::read_to_string(&notes).is_ok_and(|notes| notes.contains("measuring, 1 of 3")));
    signal("INT", child.id());
    let status = child.wait().expect("ends");
    assert_eq!(status.code(), Some(130));
    let left: Vec<_> = fs::read_dir(folder.path()).expect("read").flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("plant")), "{left:?}");
}
