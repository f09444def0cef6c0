//! Imports of broken files, and of many.

use std::{fs, io::Write as _};

use super::{done, json, program};

/// An event of joe's at 01:39, by seconds; a session of one command.
fn event(second: u32) -> String {
    format!(
        "{{\"event\":\"imap_command_finished\",\"start_time\":\"2026-11-21T01:39:{second}.000Z\",\
         \"end_time\":\"2026-11-21T01:39:{second}.005Z\",\"fields\":{{\"user\":\"joe\",\"session\":\"S{second}\",\
         \"cmd_tag\":\"A1\",\"cmd_name\":\"LIST\",\"cmd_args\":\"\",\"tagged_reply_state\":\"OK\"}}}}\n"
    )
}

#[test]
fn a_packed_log_that_breaks_off_does_not_stop_the_import_of_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let log: String = (10..60).map(event).collect();
    let mut packer = traces::pack::Packer::new(Vec::new(), traces::pack::Packing::Gzip).expect("memory");
    packer.write_all(log.as_bytes()).expect("memory");
    let packed = packer.finish().expect("memory");
    fs::write(at.join("dovecot.log.2.gz"), &packed[..packed.len() - 40]).expect("written");
    fs::write(at.join("dovecot.log.3.gz"), b"\x1f\x8b no gzip").expect("written");
    fs::write(at.join("dovecot.log"), log.replace("01:39", "02:39").replace("\"S", "\"T")).expect("written");
    let all = ["dovecot.log", "dovecot.log.2.gz", "dovecot.log.3.gz"];
    let said = done(at, &[&["trace", "import", "-o", "out.jsonl"], &all[..]].concat());
    assert!(said.contains("could not be read to its end: line "), "{said}");
    assert!(said.contains("dovecot.log.3.gz: passed over: it breaks off before anything of it can be read"), "{said}");
    let seen = json(&done(at, &["trace", "inspect", "out.jsonl", "--output", "json"]));
    let sessions = seen["sessions"].as_u64().expect("a number");
    assert!((60..100).contains(&sessions), "{sessions}: {said}");
}

#[test]
#[cfg(unix)]
fn hundreds_of_rawlogs_need_few_descriptors() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    // Sides lie apart, as they do for whoever names `*.in` before `*.out`.
    let mut args = vec!["trace".to_owned(), "import".into(), "-o".into(), "out.jsonl".into()];
    for (ending, text) in [("in", "LIST \"\" *"), ("out", "OK done")] {
        for number in 0..400 {
            let name = format!("20261121-013932-{number}.{ending}");
            fs::write(at.join(&name), format!("1795225172.{number:06} A1 {text}\n")).expect("written");
            args.push(name);
        }
    }
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        .arg(program::path())
        .args(args)
        .current_dir(at)
        .output()
        .expect("sh runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("400 sessions"), "{said}");
    let trace = fs::read_to_string(at.join("out.jsonl")).expect("a trace");
    assert!(!trace.contains("unanswered"), "each has both its sides");
}

#[test]
fn a_trace_of_thousands_of_files_can_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::create_dir_all(at.join("raw/joe")).expect("made");
    let long = "n".repeat(200);
    for number in 0..3500 {
        let text = format!("1795225172.{number:06} A1 LIST \"\" *\n");
        fs::write(at.join(format!("raw/joe/20261121-013932-{number}-{long}.in")), text).expect("written");
    }
    let said = done(at, &["trace", "import", "raw", "-o", "out.jsonl.zst"]);
    assert!(said.contains("more files") && said.lines().count() < 60, "{} lines", said.lines().count());
    let seen = json(&done(at, &["trace", "inspect", "out.jsonl.zst", "--output", "json"]));
    assert_eq!(seen["sessions"], 3500);
}
