use base64::Engine as _;
use sha2::{Digest, Sha256};

use super::*;
use crate::{
    judge::gates::GATES,
    report::whole::sample::{hostile, run},
    summary::{Curve, CurvePoint, Measures, Recovery},
};

#[test]
fn the_answer_comes_first_then_what_speaks_against_it_and_details_are_folded() {
    let page = document(&run());
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    let order = ["answer", "validity", "thresholds", "comparison", "pictures", "phases", "limits"];
    let order = order.map(|id| at(&format!("id=\"{id}\"")));
    assert!(order.is_sorted(), "{order:?}");
    assert!(page.contains("seda: 5.0/s of 6.6/s offered at p90 900 ms, 25 % rejected."));
    assert!(page.contains("<details class=\"part\" id=\"phases\">"));
    assert!(page.contains("nothing is decided"), "one block");
    assert!(page.contains("FAILED") && page.contains(">passed<"));
}

#[test]
fn nothing_in_it_can_load_or_run_anything() {
    let page = document(&run());
    let loads =
        ["<script", "<link", "<img", "<iframe", "<object", "http:", "https:", " src=", " href=", "url(", "@import"];
    for bad in loads.into_iter().chain([" style=", "onload", "onclick", "javascript:"]) {
        assert!(!page.contains(bad), "{bad}");
    }
    // The hash is that of the sheet which is there.
    let sheet = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).expect("a sheet");
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(sheet));
    assert!(page.contains(&format!("style-src 'sha256-{hash}'")), "the policy names its hash");
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn names_stay_names() {
    for name in [
        "</script><script>alert(1)</script>",
        "</title><img src=x onerror=alert(1)>",
        "\"><svg onload=alert(1)>",
        "</style><b>",
        "a\u{202e}b\u{1b}[2J",
    ] {
        let page = document(&hostile(name));
        for bad in ["<script>", "<img", "<svg onload", "</style><b>", "\u{202e}", "\u{1b}"] {
            assert!(!page.contains(bad), "{name}: {bad}");
        }
        assert_eq!(page.matches("</style>").count(), 1, "{name}");
        assert!(page.matches("<title>").count() > 1, "figures tell their values");
    }
}

#[test]
fn tables_can_be_read_without_a_screen() {
    let page = document(&run());
    let tables = page.matches("<table").count();
    assert!(tables >= 6);
    assert_eq!((page.matches("<caption>").count(), page.matches("<thead>").count()), (tables, tables));
    assert!(!page.contains("<th>"), "each head says what it heads");
    // A percentile that time-outs hide is a bound, never a number.
    assert!(
        page.contains("60.0 s")
            && (page.contains("&gt; 60.0 s") || page.contains("&gt;= 60.0 s") || page.contains("\u{2265} 60.0 s"))
    );
}

#[test]
fn a_replay_tells_how_far_behind_it_was() {
    assert!(!document(&run()).contains("id=\"behind\""));
    let mut replay = run();
    let behind = crate::summary::Times { p90: Some(1420.0), ..Default::default() };
    replay.summary.arms[1].phases[0].measured.behind_ms = Some(behind);
    let page = document(&replay);
    let section = page.split("id=\"behind\"").nth(1).expect("a part");
    assert!(section.contains("<td class=\"n\">1.42 s</td>"), "{section}");
}

#[test]
fn figures_tell_their_values_and_have_a_gap_where_there_is_none() {
    let page = document(&run());
    assert!(page.contains("<title>10.5 s\nnone: 1.00 s\nseda: 1.00 s</title>"), "p90 of second 10");
    assert!(page.contains("<title>0.5 s\nnone: -\nseda: -</title>"));
    // A line is drawn against what was offered, and against the capacity where that is known.
    assert!(page.contains("class=\"area\"") && !page.contains("dashed: capacity"));
    assert!(!page.contains("id=\"load\""), "one load is no sweep");
    let phases = page.split("id=\"phases\"").nth(1).expect("a table of phases");
    assert!(phases.contains("<td>1000 users</td>"), "the load as it was planned");
    let point = |n: u32| CurvePoint {
        phase: format!("at-{n}"),
        planned: f64::from(n) * 10.0,
        goodput_per_s: 7.0,
        goodput_range: [6.0, 8.0],
        p99_at_least_ms: (n == 3).then_some(10_000.0),
        p99_ms: (n < 3).then_some(100.0),
        blocks: 7,
        ..CurvePoint::default()
    };
    let mut sweep = run();
    sweep.summary.curves = vec![Curve { arm: "none".to_owned(), points: (1..=3).map(point).collect() }];
    let page = document(&sweep);
    let load = page.split("id=\"load\"").nth(1).and_then(|rest| rest.split("</section>").next()).expect("curves");
    assert!(load.contains("6.0 to 8.0") && load.contains("&gt;= 10.0 s"));
    assert!(load.contains("<title>20 load\nnone: 7.0/s</title>"), "{load}");
}

#[test]
fn what_is_read_without_a_style_sheet_is_tables_and_no_label_of_a_figure() {
    let page = document(&run());
    // All text between tags, with which a text-only browser is left: no tick, no legend.
    for figure in page.split("<svg").skip(1) {
        let figure = figure.split("</svg>").next().expect("an end");
        let titles: usize = figure.split("<title>").skip(1).map(|rest| rest.find("</title>").expect("an end")).sum();
        let all: usize = figure.split('<').skip(1).filter_map(|tag| Some(tag.len() - tag.find('>')? - 1)).sum();
        assert_eq!(all, titles, "{figure}");
        assert!(figure.contains("aria-hidden=\"true\"") || figure.contains("aria-label="));
    }
    // p90 is known from second 4 on, and second n has n hundred milliseconds: 26 of them.
    assert!(page.contains("<td class=\"n\">1.70 s (2.90 s)</td>"), "median and highest of a phase");
    // Second n serves n: 14.5 on average.
    assert!(["14", "15"].iter().any(|mean| page.contains(&format!("<td class=\"n\">{mean}/s (29/s)</td>"))), "mean");
}

#[test]
fn measures_and_every_gate_with_what_it_saw_are_in_it() {
    let mut whole = run();
    let recovery = Recovery { after_s_at_least: Some(51.0), verdict: "metastable".to_owned(), ..Recovery::default() };
    let phase = &mut whole.summary.arms[0].phases[0];
    phase.measures = Measures {
        amplification: Some(2.5),
        wasted: Some(0.25),
        class_fairness: Some(0.75),
        recovery: Some(recovery),
        ..Measures::default()
    };
    whole.summary.arms[0].generator.cpu = 0.42;
    let page = document(&whole);
    for wanted in ["2.50", "25 %", "0.75", "not within 51.0 s: metastable"] {
        assert!(page.contains(&format!("<td>{wanted}</td>")), "{wanted}");
    }
    for gate in &GATES {
        assert!(page.contains(&format!("<th scope=\"row\">{}</th>", gate.code)), "{}", gate.code);
    }
    let folded =
        page.split("gates found nothing").nth(1).and_then(|rest| rest.split("</details>").next()).expect("a fold");
    assert!(folded.contains("42 % (none)") && folded.contains("stop other programs"));
    assert!(!folded.contains(">STEAL<"), "it found something, and is not folded away");
}
