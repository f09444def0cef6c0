//! Imports that sites make of what is not all sound, nor by one clock: broken files, mixed logs, names for addresses, copies.

use std::{fs, io::Write as _};

use super::{done, json, lab, program};

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
fn login_lines_without_a_zone_beside_an_access_log_need_the_zone() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let page = "192.0.2.1 - joe [21/Nov/2026:01:39:32 +0000] \"GET /list HTTP/1.1\" 200 5\n";
    let login = "2026-11-21 02:39:30 imap-login: Info: Login: user=<joe>, rip=192.0.2.1, session=<S1>\n";
    fs::write(at.join("access.log"), page).expect("written");
    fs::write(at.join("mail.log"), login).expect("written");
    let import = ["trace", "import", "access.log", "mail.log", "--names", "-o", "out.jsonl"];
    let refused = lab(at, &import);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("stamps of mail.log say no zone, and those of access.log say theirs"), "{said}");
    assert!(said.contains("--zone +01:00") && !at.join("out.jsonl").exists(), "{said}");
    done(at, &[&import[..], &["--zone", "+01:00"]].concat());
    let trace = fs::read_to_string(at.join("out.jsonl")).expect("a trace");
    assert!(trace.contains("2026-11-21T01:39:30Z") && trace.contains("\"t\":2000000"), "{trace}");
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
fn an_access_log_and_its_packed_copy_count_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let line = |n: u32| {
        format!(
            "192.0.2.{} - - [21/Nov/2026:01:39:{:02} +0000] \"GET /list?folderid=1 HTTP/1.1\" 200 99\n",
            n % 3,
            10 + n / 6
        )
    };
    // Each user asks twice in a second.
    let log: String = (0..60).map(line).collect();
    fs::write(at.join("access.log.1"), &log).expect("written");
    let mut packer = traces::pack::Packer::new(Vec::new(), traces::pack::Packing::Gzip).expect("memory");
    packer.write_all(log.as_bytes()).expect("memory");
    fs::write(at.join("access.log.1.gz"), packer.finish().expect("memory")).expect("written");
    for (files, doubled) in [(&["access.log.1"][..], false), (&["access.log.1", "access.log.1.gz"], true)] {
        let said = done(at, &[&["trace", "import", "-o", "out.jsonl"], files].concat());
        assert!(said.contains("60 actions in 3 sessions"), "{said}");
        let told = said.contains("60 requests were in two access logs (a log and its copy): counted once");
        assert_eq!(told, doubled, "{said}");
        fs::remove_file(at.join("out.jsonl")).expect("there");
    }
}
