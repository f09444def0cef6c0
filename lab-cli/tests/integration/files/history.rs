use super::*;

#[test]
fn runs_are_found_and_their_rows_are_never_needed() {
    let scratch = Scratch::new();
    let none = scratch.lab(&["history"]);
    assert_eq!(
        (none.status.code(), text(&none).as_str()),
        (Some(0), "no runs yet: lab run makes the first\n"),
        "{}",
        told(&none)
    );
    let nowhere = scratch.lab(&["history", "--runs", "nowhere"]);
    assert!(
        nowhere.status.code() == Some(2) && told(&nowhere).contains("--runs nowhere: there is no"),
        "{}",
        told(&nowhere)
    );
    scratch.run("short-20261120T100000Z", &[]);
    scratch.run("short-20261121T100000Z", &["--policy", "concurrency"]);
    let names = |args: &[&str]| -> Vec<String> {
        let output = scratch.lab(&[&["history", "--output", "json"][..], args].concat());
        assert!(output.status.success(), "{}", told(&output));
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        found.as_array().expect("runs").iter().map(|run| run["name"].as_str().expect("a name").to_owned()).collect()
    };
    let [old, new] = ["short-20261120T100000Z", "short-20261121T100000Z"];
    assert_eq!(names(&[]), [new, old]);
    assert_eq!(names(&["--policy", "none"]), [old]);
    assert_eq!(names(&["--since", "2026-11-21"]), [new]);
    assert_eq!(names(&["--experiment", "shorts"]), [""; 0]);
    assert_eq!(names(&["--rebuild", "virtual", "20261120"]), [old]);
    let said = text(&scratch.lab(&["history"]));
    assert!(said.contains("2026-11-21 10:00:00") && said.contains("concurrency"), "{said}");
    // Runs are found by their beginnings, with rows or without.
    fs::remove_file(scratch.path().join("runs/.history.jsonl")).expect("there");
    let output = scratch.lab(&["recheck", "short-20261120"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let output = scratch.lab(&["recheck", "short-202611"]);
    assert!(output.status.code() == Some(2) && told(&output).contains("2 runs begin with"), "{}", told(&output));
}
