//! The steps of `docs/traces.md` from a Dovecot setting to a verdict, done as they stand there, from the first to the last.
//!
//! The commands are read out of the page, so that the two cannot part. Only the server's folder of logs is another one. The log is the
//! recording of `traces/small`, made slower, so that its users pause as people do.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
    process::Command,
};

use super::{json, program, small};

/// Where the page fetches logs from.
const LOGS: &str = "/var/log/";

/// The commands of the steps, in order.
fn steps() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/traces.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let (_, rest) = page.split_once("\n## From a Dovecot setting to a verdict\n").expect("the section is there");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let blocks = section.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    // They stand indented, in a list.
    let plain = |line: &str| line.strip_prefix("   ").unwrap_or(line).to_owned() + "\n";
    blocks.map(|block| block.lines().map(plain).collect()).collect()
}

/// Does a step as it is typed; gives what it said.
fn walk(step: &str, folder: &Path, logs: &Path) -> String {
    let step = step.replace(LOGS, &format!("{}/", logs.display()));
    let tools = folder.join("tools");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", &step]).current_dir(folder).env("PATH", path).env("LAB_CACHE", folder.join("cache"));
    let output = shell.output().expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {step}\n{said}", output.status.code());
    said
}

/// The recording, twenty times slower, whose lines have stamps of so many hours ahead of UTC and so many characters.
fn log(hours: i64, characters: usize) -> Vec<String> {
    let mut text = String::new();
    let file = fs::File::open(small("dovecot.log.gz")).expect("it is there");
    traces::pack::unpack(file).expect("packed").0.read_to_string(&mut text).expect("whole");
    let slower = |line: &str| {
        let mut line = line.to_owned();
        for key in ["\"start_time\":\"2026-11-22T", "\"end_time\":\"2026-11-22T"] {
            if let Some(at) = line.find(key).map(|at| at + key.len()) {
                line.replace_range(at..at + 15, &later(&line[at..at + 15], 0));
            }
        }
        let stamp = format!("{} {}", &line[..10], later(&line[11..26], hours));
        format!("{}{}\n", &stamp[..characters], &line[26..])
    };
    text.lines().map(slower).collect()
}

/// `10:59:37.423434`, twenty times as long after 10:59:37, and some hours later.
fn later(time: &str, hours: i64) -> String {
    let number = |from: usize, to: usize| time[from..to].parse::<i64>().expect("digits");
    let micros = ((number(0, 2) * 60 + number(3, 5)) * 60 + number(6, 8)) * 1_000_000 + number(9, 15);
    let began = ((10 * 60 + 59) * 60 + 37) * 1_000_000;
    let micros = began + (micros - began) * 20 + hours * 3_600_000_000;
    let seconds = micros / 1_000_000;
    format!("{:02}:{:02}:{:02}.{:06}", seconds / 3600, seconds / 60 % 60, seconds % 60, micros % 1_000_000)
}

fn packed(lines: &[String]) -> Vec<u8> {
    let mut packer = traces::pack::Packer::new(Vec::new(), traces::pack::Packing::Gzip).expect("memory");
    packer.write_all(lines.concat().as_bytes()).expect("memory");
    packer.finish().expect("memory")
}

/// The steps with these logs, all or the first ones, in a folder; gives what each said.
fn walk_all(folder: &Path, logs: &[(&str, Vec<u8>)], first: usize) -> Vec<String> {
    let (at, server) = (folder.join("here"), folder.join("server"));
    for folder in [&at.join("tools"), &server] {
        fs::create_dir_all(folder).expect("made");
    }
    std::os::unix::fs::symlink(program::path(), at.join("tools/lab")).expect("linked");
    for (name, bytes) in logs {
        fs::write(server.join(name), bytes).expect("written");
    }
    let steps = steps();
    assert!(steps.len() >= 5, "fetch, import, replay, fit, run: {steps:?}");
    steps.iter().take(first).map(|step| walk(step, &at, &server)).collect()
}

#[test]
fn a_log_in_utc_is_imported_as_it_is_fetched() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = log(0, 26);
    let (older, newer) = log.split_at(log.len() / 2);
    let logs = [("dovecot.log", newer.concat().into_bytes()), ("dovecot.log.1.gz", packed(older))];
    let said = walk_all(folder.path(), &logs, 2).concat();
    assert!(said.contains("921 actions in 120 sessions") && !said.contains("stamps without a zone"), "{said}");
}

#[test]
fn the_steps_hold_as_they_stand_for_a_log_in_local_time_that_was_just_rotated() {
    let folder = tempfile::tempdir().expect("a folder");
    // Central European Time, whole seconds; and a README beside it that the copy takes along.
    let log = log(1, 19);
    let (oldest, rest) = log.split_at(log.len() / 3);
    let (older, newer) = rest.split_at(rest.len() / 2);
    let logs = [
        ("dovecot.log", Vec::new()),
        ("dovecot.log.1", newer.concat().into_bytes()),
        ("dovecot.log.2.gz", packed(older)),
        ("dovecot.log.3.gz", packed(oldest)),
        ("dovecot.log.README", b"Rotated every night.\n".to_vec()),
    ];
    let said = walk_all(folder.path(), &logs, usize::MAX);
    let import = said.iter().find(|said| said.contains("actions in")).expect("something was imported");
    assert!(import.contains("921 actions in 120 sessions"), "{import}");
    assert!(import.contains("dovecot.log: passed over: it is empty"), "{import}");
    assert!(import.contains("dovecot.log.README: passed over"), "{import}");
    assert!(import.contains("stamps without a zone: +01:00, by 120 of 120"), "{import}");

    // The capacity was solved for with users that never pause: without extra work the service is far from it.
    let summary = fs::read_to_string(folder.path().join("here/monday-crowd/summary.json")).expect("the last step");
    let summary = json(&summary);
    let first = &summary["capacity"]["steps"][0];
    assert!(first["operations"] == 0.0 && first["measured_per_s"].as_f64() > Some(500.0), "{first}");
    assert!(summary["capacity"]["operations"].as_f64() > Some(1.0), "{}", summary["capacity"]);
    assert_ne!(summary["verdict"], "INVALID");
    let last = said.last().cloned().unwrap_or_default();
    assert!(last.contains("goodput in crowd against none") && last.contains("medians of 7 blocks"), "{last}");
}
