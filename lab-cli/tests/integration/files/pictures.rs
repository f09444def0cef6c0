//! Pictures of a run: an arm whose answers all time out is there, at its bound.

use super::{Scratch, fs, json, text, told};

/// The spike of `metastable`, whose first arm answers nothing in time ever after.
#[test]
fn an_arm_whose_answers_all_time_out_is_drawn_at_its_bound() {
    let scratch = Scratch::new();
    let made = scratch.lab(&["run", "metastable", "--virtual", "--out", "out", "--svg", "out.svg", "--seed", "1"]);
    assert!(matches!(made.status.code(), Some(0 | 4)), "{}", told(&made));
    let run = scratch.path().join("out");
    let timeline = fs::read_to_string(run.join("timeline.jsonl")).expect("there");
    let hidden = |line: &&str| line.contains("\"arm\":\"none\"") && line.contains("\"p90_at_least_ms\":");
    let hidden = timeline.lines().filter(hidden).count();
    assert!(hidden > 60, "{hidden} seconds of none are hidden by time-outs");

    let picture = fs::read_to_string(scratch.path().join("out.svg")).expect("written");
    let of_none = |element: &&str| element.contains("class=\"line c0\"");
    // The first is in the legend, the next in the panel of goodput, the third in that of the percentile.
    let line = picture.split('<').filter(of_none).nth(2).expect("a line");
    let points = line.matches(['M', 'L']).count();
    assert!(points > hidden, "{points} points");
    assert!(picture.contains("h8l-4 -8z\" class=\"arrow c0\""), "no arrows");

    let page = text(&scratch.lab(&["report", "out", "-o", "-"]));
    assert!(page.contains("class=\"arrow c0\"") && !page.contains("class=\"arrow c1\""));
    // What the pointer tells, and the table of the figure.
    assert!(page.contains("none: &gt;= ") || page.contains("none: >= "), "the pointer tells a bound");
    assert_eq!(json(&run.join("summary.json"))["arms"][0]["policy"], "none");
}
