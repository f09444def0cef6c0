//! How far behind their recorded times requests were, where a recording was replayed.

use super::{name, percentile};
use crate::{
    summary::{Arm, Phase, Summary, Times},
    text::{
        columns::{Align, Columns},
        time,
    },
};

/// The phases that were replayed, each with its arm.
pub(super) fn replayed(summary: &Summary) -> impl Iterator<Item = (&Arm, &Phase, &Times)> {
    let phases = summary.arms.iter().flat_map(|arm| arm.phases.iter().map(move |phase| (arm, phase)));
    phases.filter_map(|(arm, phase)| Some((arm, phase, phase.measured.behind_ms.as_ref()?)))
}

/// What is told of them.
pub(super) const FIGURES: [&str; 4] = ["p50", "p90", "p99", "most"];

/// In the order of [`FIGURES`].
pub(super) fn figures(times: &Times) -> [String; FIGURES.len()] {
    [
        percentile(times.p50, times.p50_at_least),
        percentile(times.p90, times.p90_at_least),
        percentile(times.p99, times.p99_at_least),
        times.max.map_or_else(|| "-".to_owned(), time),
    ]
}

/// One line a phase; nothing where nothing was replayed.
pub(super) fn table(summary: &Summary) -> String {
    let header = [("behind the recording", Align::Left), ("phase", Align::Left)];
    let header: Vec<_> = header.into_iter().chain(FIGURES.map(|figure| (figure, Align::Right))).collect();
    let mut table = Columns::new(&header);
    let mut any = false;
    for (arm, phase, times) in replayed(summary) {
        any = true;
        table.row([vec![name(arm, summary), phase.name.clone()], figures(times).to_vec()].concat());
    }
    if any { table.into_text() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Measured;

    #[test]
    fn phases_that_were_replayed_are_told_and_others_are_not() {
        let phase = |name: &str, behind_ms: Option<Times>| Phase {
            name: name.to_owned(),
            measured: Measured { behind_ms, ..Measured::default() },
            ..Phase::default()
        };
        let behind = Times { p50: Some(0.0), p90: Some(1420.0), max: Some(9000.0), count: 100, ..Times::default() };
        let arm = |phases| Arm { policy: "none".to_owned(), block: 1, phases, ..Arm::default() };
        let summary = |phases| Summary { arms: vec![arm(phases)], ..Summary::default() };
        assert_eq!(table(&summary(vec![phase("calm", None)])), "");
        let text = table(&summary(vec![phase("calm", None), phase("replay", Some(behind))]));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        let cells = lines[1].split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        assert_eq!(cells.collect::<Vec<_>>(), ["none", "replay", "0.00 ms", "1.42 s", "-", "9.00 s"]);
    }
}
