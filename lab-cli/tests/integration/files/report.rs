use super::*;

#[test]
fn every_form_is_written_where_it_is_wanted() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &["--repeat", "2"]);
    let report = |args: &[&str]| {
        let output = scratch.lab(&[&["report", "one"][..], args].concat());
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", told(&output));
        text(&output)
    };
    assert_eq!(report(&[]).trim(), "runs/one/report.html");
    let page = fs::read_to_string(run.join("report.html")).expect("written");
    assert!(page.contains("short: VALID") || page.contains("short: WARN"), "{}", &page[..400]);
    assert_eq!(report(&["-o", "-"]), page, "the same run gives the same page");
    let summary: Value = serde_json::from_str(&report(&["--format", "json"])).expect("JSON");
    assert_eq!(summary, json(&run.join("summary.json")));
    let cases = report(&["--format", "junit"]);
    assert!(
        cases.starts_with("<?xml") && cases.contains("<testcase name=\"concurrency.busy.rejected &gt; 0\""),
        "{cases}"
    );
    let table = report(&["--format", "csv"]);
    // Four turns of two phases, each with all of it, one type and two classes.
    assert_eq!(table.lines().count(), 1 + 4 * 2 * 4, "{table}");
    report(&["--format", "md", "-o", "comment.md"]);
    let comment = fs::read_to_string(scratch.path().join("comment.md")).expect("written");
    assert!(comment.starts_with("### short: "), "{comment}");
    let output = scratch.lab(&["report", "one", "-o", "no/such/folder.html"]);
    assert!(output.status.code() == Some(1) && told(&output).contains("name another place"), "{}", told(&output));
}

#[test]
fn every_form_begins_with_the_answer() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &["--repeat", "2"]);
    let report = |args: &[&str]| {
        let output = scratch.lab(&[&["report", "one", "--format"][..], args].concat());
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", told(&output));
        text(&output)
    };
    let said = report(&["text"]);
    let [order, none, concurrency] = said.lines().take(3).collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert!(order.starts_with("Goodput under overload, most first: concurrency "), "{said}");
    assert!(none.starts_with("Without control: ") && concurrency.starts_with("concurrency: "), "{said}");
    for wanted in ["goodput/s", "overload", "  class 1", "medians of 2 blocks [lowest, highest]"] {
        assert!(said.contains(wanted), "no {wanted:?} in:\n{said}");
    }
    assert!(!said.contains("ledger") && report(&["text", "--details"]).contains("ledger"), "{said}");
    let comment = report(&["md"]);
    let at = |part: &str| comment.find(part).unwrap_or_else(|| panic!("{part} in {comment}"));
    assert!(at("Goodput under overload, most first: ") < at("- Without control: "));
    assert!(at("- Without control: ") < at("| arm | phase | goodput/s |") && at("goodput/s") < at("<details>"));
    let summary: Value = serde_json::from_str(&report(&["json"])).expect("JSON");
    let columns = summary["answer"]["columns"].as_array().expect("columns");
    let roles: Vec<_> = columns.iter().map(|column| column["role"].as_str()).collect();
    assert_eq!(roles, [Some("calm"), Some("overload")]);
    assert_eq!((&summary["answer"]["order"], &summary["answer"]["arms"][0]["sentence"]), (&order.into(), &none.into()));
    assert!(scratch.lab(&["report", "one"]).status.success());
    let page = fs::read_to_string(run.join("report.html")).expect("written");
    assert!(page.contains("Goodput under overload, most first: concurrency "), "the page has the order");
    let output = scratch.lab(&["report", "one", "--format", "md", "--details"]);
    assert!(output.status.code() == Some(2) && told(&output).contains("--format text"), "{}", told(&output));
}

#[test]
fn a_browser_shows_it_and_runs_nothing_of_it() {
    let scratch = Scratch::new();
    let hostile = "</title><script>document.title='taken'</script><img src=x onerror=document.title='taken'>";
    let text = EXPERIMENT.replace("an <emulated> service & one server", hostile);
    assert!(text.contains("<script>"));
    fs::write(scratch.path().join("short.yaml"), text).expect("written");
    let run = scratch.run("one", &[]);
    let output = scratch.lab(&["report", "one"]);
    assert!(output.status.success(), "{}", told(&output));
    let Some(dom) = browser::dom(&run.join("report.html")) else { return };
    assert!(dom.contains("<title>short: "), "{}", &dom[..dom.len().min(400)]);
    assert!(!dom.contains("<script>") && !dom.contains("<img"), "it stayed text");
    // A style sheet that the policy refuses has no rules; the figures are elements, not text.
    assert!(dom.matches("<svg").count() >= 3 && dom.matches("<rect class=\"at\"").count() > 10);
    assert!(dom.contains("</path>") && !dom.contains("&lt;path"));
}

#[test]
fn a_text_only_browser_reads_its_tables() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &[]);
    assert!(scratch.lab(&["report", "one"]).status.success());
    let Some(plain) = browser::plain(&run.join("report.html")) else { return };
    let words = |line: &&str| line.split_whitespace().take(2).eq(["concurrency", "busy"]);
    let row = plain.lines().find(words).expect("a row of phases");
    assert!(row.contains(" % ") || row.contains(" ms") || row.contains(" s"), "{row}");
    assert!(plain.contains("Can it be believed?") && plain.contains("Limits of what was measured"), "{plain}");
    assert!(plain.contains("gates found nothing: what each saw"), "{plain}");
    // Of a figure its table alone: between its title and that stands no tick, and no name of a line.
    let figure = plain.split("Rejected, over time, s.").nth(1).expect("a figure");
    let before_table = figure.split("As a table").next().expect("its table");
    assert_eq!(before_table.trim(), "", "{plain}");
}

#[test]
fn a_run_without_a_summary_says_what_there_is() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &[]);
    fs::remove_file(run.join("summary.json")).expect("there");
    let output = scratch.lab(&["report", "one"]);
    assert!(output.status.code() == Some(1) && told(&output).contains("timeline.jsonl"), "{}", told(&output));
}
