//! Arms and runs side by side: a table of figures, and a plot of the figure under the cursor.

use std::collections::BTreeSet;

use analysis::{
    judge::gates::{excluded, first_kept},
    live::TimelineSecond,
    series::value::Value,
    summary::{Arm, Comparison, Measured, Touched, whole_blocks},
    text::scrubbed,
};

use super::{OpenRun, cursor::moved};
use crate::tui::keymap::Action;

/// A figure: a column of the table, and a curve over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tui) enum Column {
    Goodput,
    Offered,
    Rejected,
    P50,
    P90,
    P99,
    TimedOut,
}

impl Column {
    pub const ALL: [Self; 7] =
        [Self::Goodput, Self::Offered, Self::Rejected, Self::P50, Self::P90, Self::P99, Self::TimedOut];

    pub fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput/s",
            Self::Offered => "offered/s",
            Self::Rejected => "rejected",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::TimedOut => "timed out",
        }
    }

    /// What stands behind a number of its axis.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rejected => " %",
            Self::Goodput | Self::Offered | Self::TimedOut => "/s",
            Self::P50 | Self::P90 | Self::P99 => "",
        }
    }

    /// Drawn on a logarithmic axis.
    pub fn is_time(self) -> bool {
        matches!(self, Self::P50 | Self::P90 | Self::P99)
    }

    /// Its name in `summary.json`, for comparisons.
    fn metric(self) -> &'static str {
        match self {
            Self::Goodput => "goodput_per_s",
            Self::Rejected => "reject_fraction",
            Self::P90 => "response_time_ms.p90",
            Self::P99 => "response_time_ms.p99",
            Self::Offered | Self::P50 | Self::TimedOut => "",
        }
    }

    /// Of a phase, and whether it is only a bound from below.
    fn of(self, measured: &Measured) -> Option<Value> {
        let times = &measured.response_time_ms;
        match self {
            Self::Goodput => Some(Value::known(measured.goodput_per_s)),
            Self::Offered => Some(Value::known(measured.offered_per_s)),
            Self::Rejected => (measured.sent > 0).then_some(Value::known(measured.reject_fraction)),
            Self::P50 => Value::of(times.p50, times.p50_at_least),
            Self::P90 => Value::of(times.p90, times.p90_at_least),
            Self::P99 => Value::of(times.p99, times.p99_at_least),
            Self::TimedOut => Some(Value::known(measured.timed_out as f64)),
        }
    }

    /// Of a second.
    pub fn at(self, second: &TimelineSecond) -> Option<Value> {
        match self {
            Self::Goodput => Some(Value::known(second.served as f64)),
            Self::Offered => Some(Value::known(second.offered as f64)),
            Self::Rejected => {
                let share = 100.0 * second.rejected as f64 / second.planned as f64;
                (second.planned > 0).then_some(Value::known(share))
            }
            Self::P50 => Value::of(second.p50_ms, second.p50_at_least_ms),
            Self::P90 => Value::of(second.p90_ms, second.p90_at_least_ms),
            Self::P99 => Value::of(second.p99_ms, second.p99_at_least_ms),
            Self::TimedOut => Some(Value::known(second.timed_out as f64)),
        }
    }
}

/// An arm of a run: a row, and a line of the plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tui) struct Course {
    pub run: usize,
    pub arm: usize,
}

/// Lines that stay on the screen at the end of what lies behind the verdicts.
const LEFT_BEHIND: usize = 4;

#[derive(Debug, Default)]
pub(in crate::tui) struct Compare {
    pub runs: Vec<OpenRun>,
    /// Names of arms, run by run.
    arms: Vec<Vec<String>>,
    pub courses: Vec<Course>,
    pub hidden: BTreeSet<usize>,
    pub at: usize,
    pub column: usize,
    pub phases: Vec<String>,
    pub phase: usize,
    pub enlarged: bool,
    /// What lies behind the verdicts is shown, from this line on.
    pub behind: Option<usize>,
}

impl Compare {
    pub fn of(runs: Vec<OpenRun>) -> Self {
        let arms: Vec<Vec<String>> = runs.iter().map(names).collect();
        let courses = arms
            .iter()
            .enumerate()
            .flat_map(|(run, names)| (0..names.len()).map(move |arm| Course { run, arm }))
            .collect();
        let mut phases: Vec<String> = Vec::new();
        for phase in runs.iter().flat_map(|run| &run.summary.arms).flat_map(|arm| &arm.phases) {
            if !phases.contains(&phase.name) {
                phases.push(phase.name.clone());
            }
        }
        // The phase with the most requests is what the experiment is about.
        let busiest = runs.first().and_then(|run| run.summary.arms.first()).and_then(|arm| {
            let phase = arm.phases.iter().max_by_key(|phase| phase.measured.planned)?;
            phases.iter().position(|name| *name == phase.name)
        });
        Self { runs, arms, courses, phase: busiest.unwrap_or(0), phases, ..Self::default() }
    }

    pub fn pressed(&mut self, action: Action) {
        if let Some(line) = self.behind {
            self.behind = match action {
                Action::Choose => None,
                _ => Some(moved(line, self.lines_behind().saturating_sub(LEFT_BEHIND), action).unwrap_or(line)),
            };
            return;
        }
        if let Some(at) = moved(self.at, self.courses.len(), action) {
            self.at = at;
        }
        match action {
            Action::Choose => self.behind = Some(0),
            Action::Left => self.column = self.column.saturating_sub(1),
            Action::Right => self.column = (self.column + 1).min(Column::ALL.len() - 1),
            Action::NextPhase if !self.phases.is_empty() => self.phase = (self.phase + 1) % self.phases.len(),
            Action::Tick if self.hidden.remove(&self.at) => {}
            Action::Tick => _ = self.hidden.insert(self.at),
            Action::Enlarge => self.enlarged = !self.enlarged,
            _ => {}
        }
    }

    /// One step back within it: `false` if there is none.
    pub fn back(&mut self) -> bool {
        self.behind.take().is_some() || std::mem::take(&mut self.enlarged)
    }

    /// At least so many lines lie behind the verdicts: some may take several on the screen.
    fn lines_behind(&self) -> usize {
        let of = |run: &OpenRun| 2 + run.made.len() + 2 * run.summary.reasons.len() + 2 * run.summary.thresholds.len();
        self.runs.iter().map(of).sum()
    }

    /// Of which phase and in which figures arms were compared, where nothing was found of what is shown.
    pub fn compared_elsewhere(&self) -> Option<String> {
        let known = |course: &Course| self.verdict(*course, self.column()).is_some();
        if self.courses.iter().any(known) {
            return None;
        }
        let run = self.runs.get(self.courses.get(self.at)?.run)?;
        let found = run.summary.comparisons.first()?;
        let figures: Vec<&str> = Column::ALL
            .into_iter()
            .filter(|column| run.summary.comparisons.iter().any(|found| found.metric == column.metric()))
            .map(Column::name)
            .collect();
        Some(format!(" compared in {}: {} ", scrubbed(&found.phase), figures.join(", ")))
    }

    pub fn column(&self) -> Column {
        Column::ALL[self.column.min(Column::ALL.len() - 1)]
    }

    pub fn phase_name(&self) -> &str {
        self.phases.get(self.phase).map_or("", String::as_str)
    }

    pub fn arm_name(&self, course: Course) -> &str {
        self.arms[course.run].get(course.arm).map_or("", String::as_str)
    }

    /// `seda`, or with several runs `seda · B`.
    pub fn name(&self, course: Course) -> String {
        let arm = self.arm_name(course);
        if self.runs.len() > 1 { format!("{arm} · {}", letter(course.run)) } else { arm.to_owned() }
    }

    /// `flash-crowd-2`, or with several runs `B: flash-crowd-2`.
    pub fn run_name(&self, run: usize) -> String {
        let name = scrubbed(&self.runs[run].name);
        if self.runs.len() > 1 { format!("{}: {name}", letter(run)) } else { name }
    }

    /// Against which arm what was found of the figure under the cursor is told; `None`: nothing was.
    pub fn baseline(&self) -> Option<&str> {
        let found = self.courses.iter().find_map(|&course| self.verdict(course, self.column()))?;
        Some(&found.baseline)
    }

    /// Turns of an arm, block by block, without what the machine spoiled.
    pub fn turns(&self, course: Course) -> impl Iterator<Item = &Arm> {
        let (name, arms) = (self.arm_name(course), &self.runs[course.run].summary.arms);
        let left_out = excluded(arms);
        arms.iter().filter(move |arm| arm.shown_name() == name && !left_out.contains(&arm.block))
    }

    /// Blocks of which figures are the medians, at most.
    pub fn kept(&self) -> usize {
        (0..self.runs.len()).map(|run| self.blocks_of(run).len()).max().unwrap_or(1)
    }

    /// Blocks of a run of which figures are the medians: those that the machine did not spoil, and of a run that was stopped only
    /// whole ones, as long as there are any.
    fn blocks_of(&self, run: usize) -> BTreeSet<u32> {
        let arms = &self.runs[run].summary.arms;
        let left_out = excluded(arms);
        let kept = |blocks: BTreeSet<u32>| -> BTreeSet<u32> { blocks.difference(&left_out).copied().collect() };
        let whole = kept(whole_blocks(arms, self.arms[run].len()));
        if whole.is_empty() { kept(arms.iter().map(|arm| arm.block).collect()) } else { whole }
    }

    /// Turns of an arm that its figures are made of.
    fn counted(&self, course: Course) -> impl Iterator<Item = &Arm> {
        let blocks = self.blocks_of(course.run);
        self.turns(course).filter(move |arm| blocks.contains(&arm.block))
    }

    /// The run was stopped in the phase that is shown: the arm's figures are those of a part of it.
    pub fn is_cut_off(&self, course: Course) -> bool {
        let phase = self.phase_name();
        let mut phases = self.counted(course).flat_map(|arm| &arm.phases);
        phases.any(|found| found.name == phase && found.cut_off)
    }

    /// The block of a run that is drawn; more would hide each other.
    pub fn drawn_block(&self, run: usize) -> u32 {
        first_kept(&self.runs[run].summary.arms)
    }

    /// The median over blocks of a figure in the phase that is shown, and whether time-outs leave only a bound. The lower
    /// one of two in the middle.
    pub fn figure(&self, course: Course, column: Column) -> Option<Value> {
        let phase = self.phase_name();
        let phases = self.counted(course).flat_map(|arm| &arm.phases).filter(|found| found.name == phase);
        let mut values: Vec<Value> = phases.filter_map(|phase| column.of(&phase.measured)).collect();
        values.sort_by(|a, b| a.at.total_cmp(&b.at));
        values.get(values.len().checked_sub(1)? / 2).copied()
    }

    /// Over time, of the block that is drawn.
    pub fn seconds(&self, course: Course) -> impl Iterator<Item = &TimelineSecond> {
        let (name, block) = (self.arm_name(course), self.drawn_block(course.run));
        self.runs[course.run].timeline.iter().filter(move |second| second.arm == name && second.block == block)
    }

    /// What a person changed in the turn that is drawn.
    pub fn touches(&self, course: Course) -> impl Iterator<Item = &Touched> {
        let block = self.drawn_block(course.run);
        self.turns(course).filter(move |arm| arm.block == block).flat_map(|arm| &arm.touches)
    }

    /// What was found against the baseline.
    pub fn verdict(&self, course: Course, column: Column) -> Option<&Comparison> {
        let (arm, phase) = (self.arm_name(course), self.phase_name());
        self.runs[course.run].summary.comparisons.iter().find(|comparison| {
            comparison.policy == arm && comparison.phase == phase && comparison.metric == column.metric()
        })
    }

    pub fn objective_ms(&self) -> Option<f64> {
        self.runs.first().map(|run| run.summary.objective.response_time_ms)
    }
}

/// Runs stand for their names, which are long and much alike.
fn letter(run: usize) -> String {
    match u8::try_from(run) {
        Ok(n @ 0..26) => char::from(b'A' + n).to_string(),
        _ => (run + 1).to_string(),
    }
}

/// Arms in the order of the file.
fn names(run: &OpenRun) -> Vec<String> {
    let ran = run.summary.arm_names();
    let planned = run.shape.iter().flat_map(|shape| shape.arms.iter().map(String::as_str));
    let mut names: Vec<&str> = planned.filter(|name| ran.contains(name)).collect();
    names.extend(ran.iter().filter(|name| !names.contains(name)).copied().collect::<Vec<_>>());
    names.into_iter().map(str::to_owned).collect()
}
