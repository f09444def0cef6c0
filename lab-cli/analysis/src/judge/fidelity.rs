//! Agreement of runs in virtual time with live ones: by experiment, arm and phase.

mod speed;

use std::fmt::Write;

use crate::{
    judge::steady::median,
    series::value::Value,
    summary::{PhaseSummary, RunSummary},
};

pub use speed::{ServiceSpeed, speeds};

/// Virtual goodput over live goodput may be this far from 1.
pub const GOODPUT: f64 = 0.15;
/// Virtual p90 may be outside of the live ones' range by this factor.
pub const P90: f64 = 1.5;
/// Goodputs that are both under this, per second, agree: a share of next to nothing says nothing.
pub const NOTHING: f64 = 1.0;

/// One phase of one arm.
#[derive(Debug, Clone, PartialEq)]
pub struct FidelityCell {
    /// Experiment.
    pub experiment: String,
    /// Arm.
    pub arm: String,
    /// Phase.
    pub phase: String,
    /// Goodput of each live run, per second.
    pub live_goodputs: Vec<f64>,
    /// The same in virtual time, run by run.
    pub virtual_goodputs: Vec<f64>,
    /// Lowest and highest 90th percentile of response times, ms, of the runs that have one.
    pub live_p90: Option<(Value, Value)>,
    /// Median in virtual time.
    pub virtual_p90: Option<Value>,
}

/// The 90th percentile of a phase's response times, in milliseconds.
fn p90(phase: &PhaseSummary) -> Option<Value> {
    let times = &phase.measured.response_time_ms;
    Value::of(times.p90, times.p90_at_least)
}

fn time(ms: f64) -> String {
    if ms < 1000.0 { format!("{ms:.0} ms") } else { format!("{:.2} s", ms / 1e3) }
}

impl FidelityCell {
    /// Median live goodput, per second.
    pub fn live_goodput(&self) -> f64 {
        median(&self.live_goodputs)
    }

    /// The same in virtual time.
    pub fn virtual_goodput(&self) -> f64 {
        median(&self.virtual_goodputs)
    }

    /// Virtual goodput over the live one.
    pub fn ratio(&self) -> f64 {
        self.virtual_goodput() / self.live_goodput()
    }

    /// Does the goodput agree?
    pub fn goodput_agrees(&self) -> bool {
        let nothing = self.live_goodput() < NOTHING && self.virtual_goodput() < NOTHING;
        nothing || (self.ratio() - 1.0).abs() <= GOODPUT
    }

    /// Does the percentile agree? `None` where both worlds, or one of them, had too few answers for one.
    pub fn p90_agrees(&self) -> Option<bool> {
        let ((low, high), simulated) = self.live_p90.zip(self.virtual_p90)?;
        // Above a live bound anything may be.
        let under = high.at_least || simulated.at <= high.at * P90;
        let over = simulated.at_least || simulated.at >= low.at / P90;
        Some(under && over)
    }

    /// Do both, as far as they are known?
    pub fn agrees(&self) -> bool {
        self.goodput_agrees() && self.p90_agrees() != Some(false)
    }
}

/// Compares runs of one experiment. Live runs that are INVALID are to be left out before.
pub fn cells(live: &[RunSummary], simulated: &[RunSummary]) -> Vec<FidelityCell> {
    let Some(first) = live.first() else { return Vec::new() };
    let mut cells = Vec::new();
    let mut seen = Vec::new();
    for arm in &first.arms {
        if seen.contains(&&arm.name) {
            continue;
        }
        seen.push(&arm.name);
        for phase in &arm.phases {
            let (live, simulated) = (phases(live, &arm.name, &phase.name), phases(simulated, &arm.name, &phase.name));
            let goodputs = |of: &[&PhaseSummary]| of.iter().map(|phase| phase.measured.goodput_per_s).collect();
            let p90s = sorted(live.iter().filter_map(|phase| p90(phase)).collect());
            let of_virtual = simulated.iter().filter_map(|phase| p90(phase)).collect();
            let of_virtual = sorted(of_virtual);
            cells.push(FidelityCell {
                experiment: first.experiment.clone(),
                arm: arm.name.clone(),
                phase: phase.name.clone(),
                live_goodputs: goodputs(&live),
                virtual_goodputs: goodputs(&simulated),
                live_p90: p90s.first().copied().zip(p90s.last().copied()),
                virtual_p90: of_virtual.get(of_virtual.len() / 2).copied(),
            });
        }
    }
    cells
}

/// A Markdown table, cells that disagree marked, and a line that counts them.
pub fn table(cells: &[FidelityCell]) -> String {
    let mut text = String::from(
        "| experiment | arm | phase | runs | live goodput/s | virtual | ratio | live p90 | virtual | |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for cell in cells {
        let FidelityCell { experiment, arm, phase, .. } = cell;
        let runs = cell.live_goodputs.len();
        let (a, b) = (cell.live_goodput(), cell.virtual_goodput());
        let ratio = if a > 0.0 { format!("{:.2}", cell.ratio()) } else { "-".to_owned() };
        let live = cell
            .live_p90
            .map_or_else(|| "-".to_owned(), |(low, high)| format!("{} .. {}", low.shown(time), high.shown(time)));
        let simulated = cell.virtual_p90.map_or_else(|| "-".to_owned(), |p90| p90.shown(time));
        let missed = match (cell.goodput_agrees(), cell.p90_agrees()) {
            (false, Some(false)) => "MISS goodput, p90",
            (false, _) => "MISS goodput",
            (true, Some(false)) => "MISS p90",
            (true, _) => "",
        };
        let _ = writeln!(
            text,
            "| {experiment} | {arm} | {phase} | {runs} | {a:.1} | {b:.1} | {ratio} | {live} | {simulated} | {missed} |"
        );
    }
    let missed = cells.iter().filter(|cell| !cell.agrees()).count();
    let _ = writeln!(text, "\n{missed} of {} cells miss.", cells.len());
    text
}

/// A Markdown table of each run's goodput: whether cells that disagree do so in every run.
pub fn by_run(cells: &[FidelityCell]) -> String {
    let mut text =
        String::from("| experiment | arm | phase | live goodput/s, run by run | virtual |\n|---|---|---|---|---|\n");
    for FidelityCell { experiment, arm, phase, live_goodputs, virtual_goodputs, .. } in cells {
        let list = |of: &[f64]| of.iter().map(|goodput| format!("{goodput:.1}")).collect::<Vec<_>>().join(", ");
        let (live, simulated) = (list(live_goodputs), list(virtual_goodputs));
        let _ = writeln!(text, "| {experiment} | {arm} | {phase} | {live} | {simulated} |");
    }
    text
}

fn phases<'a>(runs: &'a [RunSummary], arm: &str, phase: &str) -> Vec<&'a PhaseSummary> {
    let arms = runs.iter().flat_map(|run| &run.arms).filter(|found| found.name == arm);
    arms.flat_map(|arm| &arm.phases).filter(|found| found.name == phase).collect()
}

fn sorted<T: PartialOrd>(mut values: Vec<T>) -> Vec<T> {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Arm, Measured, Times};

    fn run(goodput_per_s: f64, p90: Option<f64>, p90_at_least: Option<f64>) -> RunSummary {
        let response_time_ms = Times { p90, p90_at_least, ..Times::default() };
        let measured = Measured { goodput_per_s, response_time_ms, ..Measured::default() };
        let phase = PhaseSummary { name: "spike".to_owned(), measured, ..PhaseSummary::default() };
        let arm = Arm { name: "seda".to_owned(), phases: vec![phase], ..Arm::default() };
        RunSummary { experiment: "x".to_owned(), arms: vec![arm], ..RunSummary::default() }
    }

    fn known(goodput: f64, p90: f64) -> RunSummary {
        run(goodput, Some(p90), None)
    }

    #[test]
    fn medians_are_held_together_and_percentiles_against_the_range() {
        let live = [known(50.0, 100.0), known(70.0, 300.0), known(60.0, 200.0)];
        let verdict = |simulated: RunSummary| {
            let cell = cells(&live, &[simulated]).remove(0);
            (cell.goodput_agrees(), cell.p90_agrees())
        };
        // 60 a second: from 51 to 69; 100 to 300 ms: from 67 to 450.
        assert_eq!(verdict(known(51.1, 67.0)), (true, Some(true)));
        assert_eq!(verdict(known(68.9, 449.0)), (true, Some(true)));
        assert_eq!(verdict(known(50.9, 66.0)), (false, Some(false)));
        assert_eq!(verdict(known(69.1, 451.0)), (false, Some(false)));
        assert_eq!(verdict(run(60.0, None, None)), (true, None));
    }

    #[test]
    fn bounds_agree_with_what_may_be_above_them() {
        let bound = |ms: f64| run(60.0, None, Some(ms));
        let agrees = |live: RunSummary, simulated: RunSummary| cells(&[live], &[simulated]).remove(0).p90_agrees();
        assert_eq!(agrees(bound(10_000.0), known(60.0, 40_000.0)), Some(true));
        assert_eq!(agrees(bound(10_000.0), known(60.0, 4_000.0)), Some(false), "it is known to be less");
        assert_eq!(agrees(known(60.0, 1_000.0), bound(10_000.0)), Some(false), "it is known to be more");
    }

    #[test]
    fn next_to_nothing_agrees_with_nothing() {
        assert!(cells(&[known(0.0, 1.0)], &[known(0.4, 1.0)])[0].agrees());
        assert!(!cells(&[known(0.0, 1.0)], &[known(2.0, 1.0)])[0].agrees());
        let text = table(&cells(&[known(0.0, 1.0)], &[known(2.0, 1.0)]));
        assert!(text.contains("MISS goodput |") && text.contains("1 of 1 cells miss"), "{text}");
    }

    #[test]
    fn a_second_table_tells_each_run() {
        let text = by_run(&cells(&[known(50.0, 1.0), known(70.25, 1.0)], &[known(51.0, 1.0), known(69.0, 1.0)]));
        assert!(text.ends_with("\n| x | seda | spike | 50.0, 70.2 | 51.0, 69.0 |\n"), "{text}");
    }
}
