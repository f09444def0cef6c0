//! `lab check`, run as a person runs it: files that must fail, each with the message that is expected.

use std::{
    fs,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use experiment::{Changes, Library, read};

use crate::program;

fn lab(args: &[&str]) -> std::process::Output {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration");
    program::lab().args(args).current_dir(tests).output().expect("lab runs")
}

#[test]
fn every_invalid_file_fails_with_its_message() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/invalid");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "yaml"))
        .collect();
    files.sort();
    assert!(files.len() >= 9, "files are missing: {files:?}");
    for file in files {
        let name = file.file_stem().expect("a name").to_str().expect("ASCII").to_owned();
        let output = lab(&["check", &format!("invalid/{name}.yaml")]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(output.stdout.is_empty(), "{name}: nothing is good about it");
        insta::assert_snapshot!(name, String::from_utf8(output.stderr).expect("text"));
    }
}

#[test]
fn a_url_without_its_scheme_is_asked_for_with_it_in_words_of_this_program() {
    let folder = tempfile::tempdir().expect("a folder");
    for (url, wanted) in [
        ("127.0.0.1:8081/items", "does not begin with http:// or https://\n    write http://127.0.0.1:8081\n"),
        ("localhost:8081", "does not begin with http:// or https://\n    write http://localhost:8081\n"),
        ("ftp://127.0.0.1", "the lab speaks HTTP to a service"),
    ] {
        let experiment = format!(
            "name: x\ntarget: {{url: \"{url}\"}}\nobjective: {{percentile: 90, response_time: 100ms}}\n\
             users: {{model: url, phases: [{{name: a, users: 2, for: 1s}}]}}\narms: [none]\n"
        );
        let output = program::lab_with(folder.path(), &experiment, &["check", "x.yaml"]);
        let said = program::told(&output);
        assert!(output.status.code() == Some(2) && said.contains("x.yaml:2:") && said.contains(wanted), "{said}");
        assert!(!said.contains("without a base"), "{said}");
    }
}

#[test]
fn what_cannot_be_opened_is_named_without_numbers_or_types() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("junk"), "no database, and long enough to be looked at as one").expect("written");
    for (args, named) in [
        (&["check", "nothing.yaml"][..], "nothing.yaml: "),
        (&["check", "."], ".: Is a directory"),
        (&["trace", "inspect", "nothing"], "nothing: "),
        (&["trace", "inspect", "."], ".: "),
        (&["trace", "import", "nothing", "-o", "x.trace"], "nothing: "),
        (&["load", "http://127.0.0.1:9/", "-b", "@nothing", "-n", "1"], "nothing: "),
        (&["serve", "--database", "junk"], "junk: file is not a database"),
        (&["history", "--runs", "junk"], "junk: this is no folder"),
        (&["proxy", "--config", "nothing"], "nothing: "),
        (&["init", "http://127.0.0.1:9/"], "(Connection refused)\n"),
    ] {
        let mut lab = program::lab();
        let output = lab.args(args).current_dir(folder.path()).stdin(Stdio::null()).output().expect("lab runs");
        let said = program::told(&output);
        assert!(matches!(output.status.code(), Some(1 | 2)) && said.contains(named), "{args:?}: {said}");
        for foreign in ["os error", "(code", "error returned", "struct ", "enum "] {
            assert!(!said.contains(foreign), "{args:?}: {said}");
        }
    }
}

#[test]
fn every_experiment_of_the_library_is_good() {
    let output = lab(&["run", "--list", "--output", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let ids: Vec<&str> = list.as_array().expect("a list").iter().map(|e| e["id"].as_str().expect("an id")).collect();
    assert!(ids.contains(&"flash-crowd"));
    for id in ids {
        let output = lab(&["check", id]);
        assert!(output.status.success(), "{id}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_change_from_the_command_line_is_checked_like_the_file() {
    let good = lab(&["check", "flash-crowd", "--set", "users.phases.spike.users=500"]);
    assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stderr));
    let bad = lab(&["check", "flash-crowd", "--set", "users.phases.spike.users=lots"]);
    assert_eq!(bad.status.code(), Some(2));
    let message = String::from_utf8(bad.stderr).expect("text");
    assert!(message.contains("--set users.phases.spike.users=lots"), "{message}");
}

#[test]
fn a_preset_stands_for_its_policy() {
    let arms = ["--set", "arms=[usits03-as-coded, {ew02: {as: older, samples: 50}}]", "--set", "thresholds=[]"];
    let good = lab(&[&["check", "flash-crowd"], &arms[..]].concat());
    assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stderr));
    let line = String::from_utf8(good.stdout).expect("text");
    assert!(line.contains("arms usits03-as-coded, older"), "{line}");
    let twice = lab(&["check", "flash-crowd", "--set", "arms=[ew02: {preset: direct}]"]);
    assert_eq!(twice.status.code(), Some(2));
    let shown = String::from_utf8(lab(&["policies", "usits03-as-coded"]).stdout).expect("text");
    let depth = shown.lines().find(|line| line.trim_start().starts_with("depth ")).expect("its depth");
    assert_eq!(depth.split_whitespace().nth(1), Some("1"), "{depth}");
}

#[test]
fn a_slip_in_an_id_gets_a_suggestion() {
    let output = lab(&["check", "flash-crwd"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).expect("text");
    assert!(message.contains("did you mean flash-crowd?"), "{message}");
}

#[test]
fn files_that_are_made_to_hurt_end_quickly() {
    let deep = format!("name: {}{}", "[".repeat(10_000), "]".repeat(10_000));
    let long = format!("name: {}", "x".repeat(2_000_000));
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [("deep.yaml", deep), ("long.yaml", long)] {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        let output = lab(&["check", path.to_str().expect("text")]);
        assert_eq!(output.status.code(), Some(2), "{name}");
    }
}

#[test]
fn classes_laws_and_durability_are_read() {
    for (id, set) in [
        ("flash-crowd", "target.class={address: {127.1.0.0/16: 1, 127.0.0.0/8: 0}}"),
        ("flash-crowd", "target.class={path: {/search: 1}}"),
        ("flash-crowd", "target.class={header: X-Plan, values: {gold: 2, paid: 1}}"),
        ("flash-crowd", "target.durability=full"),
        ("flash-crowd", "target.hosts=[mail.example]"),
        ("overload-sweep", "target.service={empirical: [5ms, 7ms, 90ms]}"),
        ("flash-crowd", "target.on_refuse={redirect: http://127.0.0.1:8081}"),
        ("flash-crowd", "target.idle_timeout=75s"),
        ("flash-crowd", "target.connection_requests=0"),
        ("flash-crowd", "target.stages={search: {on_refuse: {redirect: http://127.0.0.1:8081/}}}"),
        ("flash-crowd", "arms.seda.on_refuse={redirect: http://127.0.0.1:8081}"),
        ("flash-crowd", "arms.seda.target={workers: 4, stages: {search: {queue: 3}}, search: full-text}"),
        ("overload-sweep", "arms.seda.target={service: 5ms, queue: 20}"),
    ] {
        let output = lab(&["check", id, "--set", set]);
        assert!(output.status.success(), "{set}: {}", String::from_utf8_lossy(&output.stderr));
    }
    for (id, set) in [
        ("flash-crowd", "target.class={address: {127.1.0.0/16: high}}"),
        ("flash-crowd", "target.class={header: User-Class, path: {/: 1}}"),
        ("flash-crowd", "target.class={header: User Class}"),
        ("flash-crowd", "target.class={cookie: plan, values: {gold: 2}}"),
        ("flash-crowd", "target.class={header: X-Plan, values: {gold: high}}"),
        ("flash-crowd", "target.class={header: X-Plan, values: {'': 1}}"),
        ("flash-crowd", "target.durability=some"),
        ("flash-crowd", "target.hosts=[a/b]"),
        ("flash-crowd", "target.on_refuse=redirect"),
        ("flash-crowd", "target.idle_timeout=75"),
        ("flash-crowd", "target.connection_requests=many"),
        ("flash-crowd", "target.on_refuse={redirect: 127.0.0.1:8081}"),
        ("flash-crowd", "target.stages={search: {on_refuse: {redirect: http://127.0.0.1:8081/elsewhere}}}"),
        ("flash-crowd", "arms.seda.on_refuse={away: http://127.0.0.1:8081}"),
        ("overload-sweep", "target.service={empirical: []}"),
        ("flash-crowd", "arms.seda.target={capacity: 50/s}"),
        ("flash-crowd", "arms.seda.target={wrkers: 4}"),
        ("flash-crowd", "arms.seda.target={workers: many}"),
        ("flash-crowd", "arms.seda.target={service: 5ms}"),
        ("flash-crowd", "arms.seda.target=4"),
        ("retry-stack", "arms.none.target={workers: 4}"),
    ] {
        assert_eq!(lab(&["check", id, "--set", set]).status.code(), Some(2), "{set}");
    }
}

#[test]
fn what_a_file_names_lies_beside_it_and_what_a_flag_names_where_the_lab_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let beside = folder.path().join("beside");
    fs::create_dir(&beside).expect("made");
    fs::write(beside.join("pages.txt"), "/a\n/b\n").expect("written");
    fs::write(folder.path().join("plant.yaml"), "measured: by hand\ncores: 1\n").expect("written");
    let file = "name: named\ntarget: {app: emulated, service: 5ms}\nobjective: {response_time: 1s}\n\
                users: {model: url, paths: pages.txt, phases: [{requests: 20/s, for: 1s}]}\narms: [none]\n";
    fs::write(beside.join("named.yaml"), file).expect("written");
    let check = |args: &[&str]| {
        let output = program::lab().arg("check").args(args).current_dir(folder.path()).output().expect("lab runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let found = check(&["beside/named.yaml", "--set", "virtual.plant=plant.yaml"]);
    assert_eq!(found.0, Some(0), "{}", found.1);
    let (code, said) = check(&["beside/named.yaml", "--set", "virtual.plant=beside/plant.yaml"]);
    assert!(code == Some(2) && said.contains("there is no"), "{said}");
    fs::rename(beside.join("pages.txt"), folder.path().join("pages.txt")).expect("moved");
    let (code, said) = check(&["beside/named.yaml"]);
    assert!(code == Some(2) && said.contains("beside/pages.txt"), "{said}");
}

#[test]
fn thresholds_are_read_in_the_first_round() {
    let file = "name: first\ntarget: {app: emulated, service: 5ms, wrkers: 4}\nusers: {model: url, phases: [{requests: 20/s, for: 1s}]}\n\
                arms: [none]\nthresholds: [none.all.goodput_per_s >> 3]\n";
    let problems = read(file, &Changes::default()).expect_err("two problems and one");
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["objective", "target.wrkers", "thresholds"], "{problems:?}");
}

#[test]
fn a_class_with_a_name_is_said_by_it() {
    let of = |values: &str| {
        let set = format!("target.class={{header: X-Plan, values: {values}}}");
        let file = "name: named\ntarget: {app: emulated, service: 5ms}\nobjective: {response_time: 1s}\n\
                    users: {model: url, phases: [{requests: 20/s, for: 1s, class: 2}]}\narms: [none]\n";
        read(file, &Changes { set: vec![set], ..Changes::default() })
    };
    let marks = of("{gold: 2, paid: 1}").expect("it is good").users.marks;
    assert_eq!(marks.class_header.as_deref(), Some("X-Plan"));
    assert_eq!(marks.class_values.into_values().collect::<Vec<_>>(), ["gold"]);
    let problems = of("{paid: 1}").expect_err("nothing says class 2");
    assert!(problems[0].to_string().contains("users are of class 2, and no value says so"), "{problems:?}");
}

#[test]
fn a_policy_that_steers_by_another_percentile_is_said() {
    let text = Library::find("flash-crowd").expect("it is there").text;
    let cautions = |text: &str| read(text, &Changes::default()).expect("it is good").cautions();
    assert_eq!(cautions(text), [""; 0]);
    let said = cautions(&text.replace("percentile: 90,", "percentile: 99,"));
    assert_eq!(
        said,
        ["seda", "published"]
            .map(|arm| format!("{arm} steers by the 90th percentile; the objective is about the 99th"))
    );
    let told = text.replace("percentile: 90,", "percentile: 99,").replace("seda: {", "seda: {percentile: 99, ");
    assert_ne!(told, text);
    assert_eq!(cautions(&told), [""; 0]);
}

#[test]
fn costs_that_a_live_task_does_not_spend_are_said() {
    let scratch = tempfile::tempdir().expect("a folder");
    let file = scratch.path().join("tree.yaml");
    let text = "name: tree\nabout: costs\ntarget:\n  app: tree\n  services:\n    back: {service: 1ms, costs: {COSTS}}\n\
                objective: {percentile: 90, response_time: 1s}\nusers:\n  model: url\n  path: /\n  \
                phases: [{name: all, users: 1, for: 1s}]\narms: [none]\n";
    for (costs, said) in [("read: 1ms, refuse: 1ms, check: 1ms", false), ("read: 1ms, idle: 1ms, memory: 1m", true)] {
        std::fs::write(&file, text.replace("COSTS", costs)).expect("written");
        let output = lab(&["check", file.to_str().expect("text")]);
        let good = String::from_utf8(output.stdout).expect("text");
        assert!(output.status.success() && good.contains("good: tree"), "{good}");
        assert_eq!(good.contains("note: back: costs.idle, costs.memory: for virtual time alone"), said, "{good}");
    }
}

#[test]
fn a_user_model_without_end_is_no_user_model() {
    let endless = tempfile::tempdir().expect("a folder");
    let path = endless.path().join("zeros.yaml");
    std::os::unix::fs::symlink("/dev/zero", &path).expect("a link");
    let output = lab(&["check", "user-ramp", "--set", &format!("users.model={}", path.display())]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).expect("text");
    assert!(message.contains("not a regular file"), "{message}");
}

/// An experiment may come from anybody, and its problems go into logs that anybody reads.
#[test]
fn no_line_of_a_file_that_is_named_by_mistake_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("shadow");
    for text in [
        "root:$6$hunter2:19000:0\ndaemon:hunter2:1:1\n",
        "hunter2\n",
        "- hunter2\n",
        "a: {b: [hunter2\n",
        "root:*hunter2:0:99999:7:::\nx:hunter2:::\n",
        "hunter2: x\n",
    ] {
        fs::write(&secret, text).expect("written");
        for set in ["users.model=", "virtual.plant=", "users.trace="] {
            let output = lab(&["check", "user-ramp", "--set", &format!("{set}{}", secret.display())]);
            let said = String::from_utf8(output.stderr).expect("text");
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

#[test]
fn the_help_says_what_it_did() {
    let commands = ["run", "reproduce", "load", "calibrate", "serve", "check", "policies", "schema", "completions"];
    let whole: String = [vec!["--help"]]
        .into_iter()
        .chain(commands.map(|command| vec![command, "--help"]))
        .map(|args| {
            let output = lab(&args);
            assert!(output.status.success() && output.stderr.is_empty(), "{args:?}");
            format!("$ lab {}\n{}\n", args.join(" "), String::from_utf8(output.stdout).expect("text"))
        })
        .collect();
    insta::assert_snapshot!("help", whole);
}

#[test]
fn man_pages_are_those_of_the_commands() {
    let page = |args: &[&str]| {
        let output = lab(args);
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(page(&["man"]).contains(".TH lab 1"));
    let import = page(&["man", "trace", "import"]);
    assert!(import.contains(".TH lab-trace-import 1"), "{import}");
    let wrong = lab(&["man", "trace", "fly"]);
    let said = String::from_utf8(wrong.stderr).expect("text");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said.contains("lab trace has no command fly; its commands: import"), "{said}");

    let folder = tempfile::tempdir().expect("a folder");
    let made = folder.path().join("man");
    assert!(lab(&["man", "--out", made.to_str().expect("a path")]).status.success());
    for name in ["lab.1", "lab-run.1", "lab-trace-import.1"] {
        assert!(made.join(name).is_file(), "{name}");
    }
    assert!(!made.join("lab-guard.1").exists(), "a hidden command");
}

#[test]
fn the_version_names_the_build() {
    let output = lab(&["--version"]);
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && said.starts_with(concat!("lab ", env!("CARGO_PKG_VERSION"), " (")), "{said}");
}
