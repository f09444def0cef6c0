use super::*;
use crate::report::whole::sample::{hostile, run};

#[test]
fn the_verdict_comes_before_every_figure() {
    let page = document(&run());
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    let order = ["id=\"validity\"", "id=\"comparison\"", "id=\"thresholds\"", "<svg", "id=\"phases\"", "id=\"limits\""];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])));
    assert!(page.contains("decides nothing"), "one block");
    assert!(page.contains("FAILED") && page.contains(">held<"));
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
    let tables = page.matches("<table>").count();
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
fn figures_tell_their_values_and_have_a_gap_where_there_is_none() {
    let page = document(&run());
    assert!(page.contains("<title>10.5 s\nnone: 1.00 s\nseda: 1.00 s</title>"), "p90 of second 10");
    assert!(page.contains("<title>0.5 s\nnone: -\nseda: -</title>"));
    assert!(!page.contains("id=\"load\""), "one load is no sweep");
    let mut sweep = run();
    for arm in &mut sweep.summary.arms {
        let phase = arm.phases[0].clone();
        arm.phases = (1..=4_u32)
            .map(|n| {
                let mut phase = phase.clone();
                phase.name = format!("at-{n}");
                phase.measured.offered_per_s = f64::from(n) * 10.0;
                phase
            })
            .collect();
    }
    assert!(document(&sweep).contains("id=\"load\""));
}
