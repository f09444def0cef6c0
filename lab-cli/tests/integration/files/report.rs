use super::*;

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
