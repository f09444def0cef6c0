use super::*;

fn compared(scratch: &Scratch, args: &[&str]) -> (Option<i32>, Value) {
    let output = scratch.lab(&[&["compare", "--output", "json"][..], args].concat());
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", told(&output));
    (output.status.code(), serde_json::from_slice(&output.stdout).expect("JSON"))
}

fn primary(found: &Value) -> &Value {
    let all = found["comparisons"].as_array().expect("comparisons");
    all.iter().find(|comparison| comparison["primary"] == true).expect("the primary metric")
}

#[test]
fn arms_of_one_run_decide_with_enough_blocks_and_not_with_one() {
    let scratch = Scratch::new();
    scratch.run("seven", &["--repeat", "8"]);
    let (code, found) = compared(&scratch, &["seven"]);
    let goodput = primary(&found);
    assert_eq!((code, &goodput["verdict"]), (Some(0), &Value::from("better")), "{goodput:#}");
    assert_eq!((&goodput["paired"], &goodput["blocks"]), (&Value::from(true), &Value::from(8)));
    assert!(goodput["ratio"].as_f64() > Some(1.05), "four at a time are served in time: {goodput:#}");
    // As the run itself has it.
    let summary = json(&scratch.path().join("runs/seven/summary.json"));
    let own = &summary["comparisons"][0];
    assert_eq!((&own["ratio"], &own["p"]), (&goodput["ratio"], &goodput["p"]));
    let marked = scratch.lab(&["compare", "seven", "--output", "md"]);
    let said = text(&marked);
    assert!(
        marked.status.success() && said.starts_with("**concurrency serves ") && said.contains(" times as much "),
        "{said}"
    );
    assert!(said.contains("| effect | p | how |\n|---|---|---|---|\n"), "{said}");
    assert!(said.lines().any(|line| line.starts_with("| concurrency | x") && line.contains(" better | 0.0")), "{said}");
    // The other way round.
    let (_, turned) = compared(&scratch, &["seven", "--baseline", "concurrency"]);
    assert!(primary(&turned)["ratio"].as_f64() < Some(0.95));

    scratch.run("one", &[]);
    let output = scratch.lab(&["compare", "one"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let said = text(&output);
    assert!(said.contains("concurrency  ~ x") && said.contains("1 block: no verdict"), "{said}");
    assert!(said.lines().next().is_some_and(|line| line.ends_with("undecided; 1 block, 6 needed to decide")), "{said}");
    let marked = text(&scratch.lab(&["compare", "one", "--output", "md"]));
    assert!(marked.contains("undecided; 1 block, 6 needed to decide**"), "{marked}");
}

#[test]
fn runs_are_paired_where_their_plans_are_the_same() {
    let scratch = Scratch::new();
    scratch.run("a", &["--repeat", "7"]);
    scratch.run("again", &["--repeat", "7"]);
    scratch.run("other-seed", &["--repeat", "7", "--seed", "9"]);
    let (code, same) = compared(&scratch, &["a", "again"]);
    assert_eq!(code, Some(0), "{same:#}");
    for comparison in same["comparisons"].as_array().expect("comparisons") {
        // A run of the same seed is the same run: nothing differs, and that is known.
        let verdict = comparison["verdict"].as_str();
        assert!(verdict == Some("equivalent") || comparison["blocks"] == 0, "{comparison:#}");
        assert_eq!(comparison["paired"], true);
    }
    let (_, other) = compared(&scratch, &["a", "other-seed"]);
    assert_eq!(primary(&other)["paired"], false);
    let said = text(&scratch.lab(&["compare", "a:none", "other-seed:concurrency"]));
    assert!(
        said.contains("against a:none") && said.contains("other-seed:concurrency") && said.contains("unpaired"),
        "{said}"
    );
}

#[test]
fn runs_of_other_kinds_are_refused_with_the_reason_unless_wanted_anyway() {
    let scratch = Scratch::new();
    scratch.run("a", &[]);
    scratch.run("b", &["--set", "users.think=50ms"]);
    let output = scratch.lab(&["compare", "a", "b"]);
    let said = told(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("experiment.users") && said.contains("\"20ms\" and \"50ms\"") && said.contains("--anyway"),
        "{said}"
    );
    let (code, found) = compared(&scratch, &["a", "b", "--anyway"]);
    assert_eq!(code, Some(0), "one block");
    assert!(found["notes"].to_string().contains("experiment.users"), "{found:#}");
    for (args, problem) in [
        (&["compare", "a", "c"][..], "there is no run \"c\""),
        (&["compare", "a:nobody", "b"][..], "has no arm \"nobody\""),
        (&["compare", "a", "--phase", "bussy"][..], "did you mean busy?"),
        (&["compare", "a", "b", "--baseline", "none"][..], "of several the first is the baseline"),
        (&["compare", "a:none"][..], "nothing to compare"),
    ] {
        let output = scratch.lab(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", told(&output));
        assert!(told(&output).contains(problem), "{args:?}: {}", told(&output));
    }
}

#[test]
fn invalid_runs_are_left_out_and_named() {
    let scratch = Scratch::new();
    scratch.run("a", &["--repeat", "2"]);
    let void = scratch.run("b", &["--repeat", "2"]);
    let mut summary = json(&void.join("summary.json"));
    summary["verdict"] = Value::from("INVALID");
    summary["valid"] = Value::from(false);
    fs::write(void.join("summary.json"), summary.to_string()).expect("written");
    scratch.run("c", &["--repeat", "2"]);
    let (code, found) = compared(&scratch, &["a", "b", "c"]);
    assert_eq!((code, &found["left_out"][0]["what"]), (Some(0), &"b".into()), "{found:#}");
    assert!(
        found["comparisons"].as_array().is_some_and(|all| all.iter().all(|c| c["baseline"] != "b:none")),
        "what is left"
    );
    // Nothing takes the place of the run that the others are compared with, nor of the only other one.
    for asked in [&["compare", "b"][..], &["compare", "a", "b"], &["compare", "b", "a", "c"]] {
        let output = scratch.lab(asked);
        assert_eq!(output.status.code(), Some(3), "{asked:?}: {}", told(&output));
    }
}

#[test]
fn turns_that_a_person_changed_are_left_out_and_named() {
    let scratch = Scratch::new();
    let run = scratch.run("a", &["--repeat", "2"]);
    let mut summary = json(&run.join("summary.json"));
    assert_eq!(summary["arms"][1]["block"], 1);
    summary["arms"][1]["touches"] = serde_json::json!([{"second": 1.0, "what": "30 more users for 10 s"}]);
    fs::write(run.join("summary.json"), summary.to_string()).expect("written");
    let (_, found) = compared(&scratch, &["a"]);
    assert_eq!(found["left_out"][0]["what"], "a:concurrency, block 1", "{found:#}");
    assert_eq!(primary(&found)["turns"], serde_json::json!([1, 2]));
    // Nobody did, by the events.
    let output = scratch.lab(&["recheck", "a"]);
    assert!(output.status.code() == Some(4) && told(&output).contains("/arms/1/touches"), "{}", told(&output));
}

/// Without control nothing is in time any more once the queue is full.
const DEAD: &str = "
name: dead
target: {app: emulated, service: {exponential: 20ms}, servers: 1, workers: 1, queue: 1000}
objective: {percentile: 90, response_time: 500ms}
users:
  model: url
  timeout: 5s
  on_reject: {then: leave}
  on_failure: {then: leave}
  phases: [{name: fill, requests: 100/s, for: 20s}, {name: crowd, requests: 100/s, for: 20s}]
seed: 3
compare: {phase: crowd}
arms: [none, {concurrency: {max: 4}}, oracle, {best-static: {most: 2}}]
";

#[test]
fn nearly_nothing_is_told_as_two_values_and_hindsight_adjusts_nothing() {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("short.yaml"), DEAD).expect("written");
    let run = scratch.run("dead", &["--repeat", "7"]);
    let summary = json(&run.join("summary.json"));
    let goodput = |policy: &str| {
        let all = summary["comparisons"].as_array().expect("a list").iter();
        let mut of = all.filter(|found| found["policy"] == policy && found["metric"] == "goodput_per_s");
        of.next().unwrap_or_else(|| panic!("no {policy}")).clone()
    };
    let ours = goodput("concurrency");
    assert_eq!((&ours["ratio"], &ours["interval"], &ours["verdict"]), (&Value::Null, &Value::Null, &"better".into()));
    assert!(ours["baseline_value"].as_f64() < Some(0.25) && ours["policy_value"].as_f64() > Some(20.0), "{ours:#}");
    // Seven of one sign, in a family of one: 2 of 128.
    assert_eq!(ours["p_adjusted"].as_f64(), Some(2.0 / 128.0));
    for known in ["oracle", "best-static"] {
        let known = goodput(known);
        assert_eq!((&known["hindsight"], &known["p_adjusted"]), (&true.into(), &Value::Null), "{known:#}");
        assert_eq!(known["p"].as_f64(), Some(2.0 / 128.0));
    }
    let said = text(&scratch.lab(&["compare", "dead"]));
    let line = said.lines().find(|line| line.starts_with("  concurrency")).expect("a line").to_owned();
    assert!(line.contains("from 0.") && line.contains("/s to ") && line.contains("better, p 0.016 (7 pairs"), "{said}");
    assert!(said.contains("p 0.016 (not adjusted)"), "{said}");
    for format in ["md", "html"] {
        let written = text(&scratch.lab(&["report", "dead", "--format", format, "-o", "-"]));
        assert!(written.contains("from 0.") && written.contains("/s to "), "{format}: {written}");
    }
    assert!(scratch.lab(&["recheck", "dead"]).status.success());
}

/// A service with so many milliseconds of work a request, at the rate at which 20 ms are too many.
const SERVICE: &str = "
name: commit
target: {app: emulated, service: {exponential: TIME}, servers: 1, workers: 1, batch: 1}
objective: {percentile: 90, response_time: 500ms}
users: {model: url, timeout: 5s, on_reject: {then: leave}, on_failure: {then: leave}, phases: [{name: busy, requests: 60/s, for: 20s}]}
seed: 3
arms: [{concurrency: {max: 4}}]
";

#[test]
fn a_slower_commit_fails_the_build_and_an_equal_one_does_not() {
    let scratch = Scratch::new();
    for (name, time) in [("old", "20ms"), ("equal", "20ms"), ("slow", "25ms")] {
        fs::write(scratch.path().join("short.yaml"), SERVICE.replace("TIME", time)).expect("written");
        scratch.run(name, &["--repeat", "8"]);
    }
    let against = |new: &str, more: &[&str]| {
        let output = scratch.lab(&[&["compare", "old", new, "--anyway"][..], more].concat());
        (output.status.code(), text(&output))
    };
    let gate = ["--fail-if", "worse", "--undecided", "fail"];
    let (code, said) = against("slow", &[]);
    assert!(code == Some(0) && said.starts_with("slow:concurrency serves "), "{said}");
    let first = said.lines().next().expect("a line");
    assert!(first.contains(" % less (") && first.ends_with(" than old:concurrency in busy"), "{first}");
    assert_eq!(against("slow", &["--fail-if", "worse"]).0, Some(4));
    assert_eq!(against("slow", &["--undecided", "fail"]).0, Some(0), "worse is decided");
    let (code, said) = against("equal", &gate);
    assert!(code == Some(0) && said.contains(": equivalent, within 5.0 %"), "{said}");
    let faster = scratch.lab(&[&["compare", "slow", "old", "--anyway"][..], &gate].concat());
    assert_eq!(faster.status.code(), Some(0), "{}", told(&faster));
    let one = scratch.run("one", &[]);
    assert_eq!((against("one", &["--fail-if", "worse"]).0, against("one", &gate).0), (Some(0), Some(4)));
    assert!(one.is_dir());
}

#[test]
fn settings_of_arms_that_differ_are_named_and_so_is_a_run_against_itself() {
    let scratch = Scratch::new();
    scratch.run("a", &["--repeat", "2"]);
    scratch.run("b", &["--repeat", "2", "--set", "arms.concurrency.target.workers=2"]);
    let said = text(&scratch.lab(&["compare", "a", "b"]));
    assert!(said.contains("note: a and b: arms.concurrency.target.workers: nothing and 2"), "{said}");
    assert!(text(&scratch.lab(&["compare", "a", "a"])).contains("note: a is compared with itself"));
}
