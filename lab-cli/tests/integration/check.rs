//! `lab check`: all of the library, and files that somebody has made to hurt. What it says is in `cases`.

use std::{
    fs,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use experiment::{Changes, Library, read};

use crate::program;

#[test]
fn every_experiment_of_the_library_is_good() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = program::printed(&program::ran(folder.path(), &["run", "--list", "--output", "json"]));
    let ids: Vec<&str> = list.as_array().expect("a list").iter().map(|e| e["id"].as_str().expect("an id")).collect();
    assert!(ids.contains(&"flash-crowd"));
    program::done(folder.path(), &[&["check"], &ids[..]].concat());
}

#[test]
fn files_that_are_made_to_hurt_end_quickly() {
    let deep = format!("name: {}{}", "[".repeat(10_000), "]".repeat(10_000));
    let long = format!("name: {}", "x".repeat(2_000_000));
    let folder = tempfile::tempdir().expect("a folder");
    for text in [deep, long] {
        assert_eq!(program::lab_with(folder.path(), &text, &["check", "x.yaml"]).status.code(), Some(2));
    }
}

#[test]
fn a_class_with_a_name_is_said_by_it() {
    let set = "target.class={header: X-Plan, values: {gold: 2, paid: 1}}".to_owned();
    let file = "name: named\ntarget: {app: emulated, service: 5ms}\nobjective: {response_time: 1s}\n\
                users: {model: url, phases: [{requests: 20/s, for: 1s, class: 2}]}\narms: [none]\n";
    let marks = read(file, &Changes { set: vec![set], ..Changes::default() }).expect("it is good").users.marks;
    assert_eq!(marks.class_header.as_deref(), Some("X-Plan"));
    assert_eq!(marks.class_values.into_values().collect::<Vec<_>>(), ["gold"]);
}

/// An experiment may come from anybody, and its problems go into logs that anybody reads.
#[test]
fn no_line_of_a_file_that_is_named_by_mistake_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    for text in [
        "root:$6$hunter2:19000:0\ndaemon:hunter2:1:1\n",
        "hunter2\n",
        "- hunter2\n",
        "a: {b: [hunter2\n",
        "root:*hunter2:0:99999:7:::\nx:hunter2:::\n",
        "hunter2: x\n",
    ] {
        fs::write(folder.path().join("shadow"), text).expect("written");
        for set in ["users.model=", "virtual.plant=", "users.trace="] {
            let output = program::ran(folder.path(), &["check", "user-ramp", "--set", &format!("{set}shadow")]);
            let said = program::told(&output);
            assert_eq!(output.status.code(), Some(2), "{set}: {said}");
            assert!(said.contains("shadow") && !said.contains("hunter2"), "{set}: {said}");
        }
    }
}

#[test]
fn a_pipe_into_which_nobody_writes_is_not_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe.yaml");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let path = pipe.to_str().expect("text");
    let checked = |args: &[&str]| {
        let mut lab = program::lab().args(args).stderr(Stdio::piped()).spawn().expect("lab runs");
        let begun = Instant::now();
        while lab.try_wait().expect("a child").is_none() {
            if begun.elapsed() > Duration::from_secs(30) {
                lab.kill().expect("killed");
                panic!("{args:?} waits for ever");
            }
            thread::sleep(Duration::from_millis(50));
        }
        let output = lab.wait_with_output().expect("over");
        (output.status.code(), String::from_utf8(output.stderr).expect("text"))
    };
    for named in ["users.model=", "virtual.plant=", "users.trace="] {
        let (code, said) = checked(&["check", "user-ramp", "--set", &format!("{named}{path}")]);
        assert!(code == Some(2) && said.contains("not a regular file"), "{named}: {code:?} {said}");
    }
    let (code, said) = checked(&["check", path]);
    assert!(code == Some(2) && said.contains("nobody wrote to it for 5 s"), "{code:?} {said}");
    // One that somebody writes into is read: `lab check <(made)`.
    let text = Library::find("flash-crowd").expect("it is there").text;
    let to = pipe.clone();
    let writer = thread::spawn(move || fs::write(to, text).expect("written"));
    let (code, said) = checked(&["check", path]);
    assert_eq!(code, Some(0), "{said}");
    writer.join().expect("written");
}
