//! What became of recorded requests, where a recording was replayed.

use super::{count, name};
use crate::{
    summary::{Arm, Summary},
    text::{
        columns::{Align, Columns},
        percent,
    },
};

/// What is told of an arm.
pub(super) const FIGURES: [&str; 5] = ["recorded", "asked", "passed over", "cut off", "asked besides"];

/// The arms that replayed something, with what is told of them in the order of [`FIGURES`].
pub(super) fn replayed(summary: &Summary) -> impl Iterator<Item = (&Arm, [String; FIGURES.len()])> {
    summary.arms.iter().filter_map(|arm| Some((arm, figures(arm)?)))
}

fn figures(arm: &Arm) -> Option<[String; FIGURES.len()]> {
    let found = arm.replayed?;
    let first: u64 = arm.phases.iter().map(|phase| phase.measured.planned.saturating_sub(phase.measured.retries)).sum();
    let share = match found.asked as f64 / found.recorded.max(1) as f64 {
        share if found.asked < found.recorded => format!("{} ({})", count(found.asked), percent(share)),
        _ => count(found.asked),
    };
    let besides = first.saturating_sub(found.asked);
    Some([count(found.recorded), share, count(found.passed_over), count(found.cut_off), count(besides)])
}

/// One line an arm; nothing where nothing was replayed.
pub(super) fn table(summary: &Summary) -> String {
    let header: Vec<_> =
        [("recording", Align::Left)].into_iter().chain(FIGURES.map(|name| (name, Align::Right))).collect();
    let mut table = Columns::new(&header);
    let mut any = false;
    for (arm, figures) in replayed(summary) {
        any = true;
        table.row([vec![name(arm, summary)], figures.to_vec()].concat());
    }
    if any { table.into_text() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use measure::Replayed;

    use super::*;
    use crate::summary::{Measured, Phase};

    #[test]
    fn what_was_cut_off_stands_beside_what_was_asked() {
        let measured = Measured { planned: 2300, retries: 34, ..Measured::default() };
        let replayed = Some(Replayed { recorded: 6152, asked: 2166, passed_over: 20, cut_off: 3966 });
        let phases = vec![Phase { measured, ..Phase::default() }];
        let arm =
            |replayed| Arm { policy: "none".to_owned(), block: 1, phases: phases.clone(), replayed, ..Arm::default() };
        let summary = |arm| Summary { arms: vec![arm], ..Summary::default() };
        assert_eq!(table(&summary(arm(None))), "");
        let text = table(&summary(arm(replayed)));
        let cells = text.lines().nth(1).expect("a row").split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        assert_eq!(cells.collect::<Vec<_>>(), ["none", "6152", "2166 (35 %)", "20", "3966", "100"], "{text}");
    }
}
