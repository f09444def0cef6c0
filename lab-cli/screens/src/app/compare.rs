//! Arms and runs side by side: a table of figures, and a plot of the figure under the cursor.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{
    answer::{Opening, of_summary, opening, table::recovery_in_words},
    judge::gates::{excluded, first_kept},
    live::TimelineSecond,
    recommend::{Recommendation, recommendation},
    series::value::Value,
    summary::{Arm, ArmAnswer, Comparison, PhaseRole, RunAnswer, Touched, busiest, whole_blocks},
    text::scrubbed,
};

use super::cursor::{ListWindow, moved};
use crate::{
    column::Column,
    keymap::Action,
    messages::{OpenRun, RunsCompared},
};

mod arm_series;
mod between;
mod export;
mod found;
mod look;
mod ranks;

pub(crate) use arm_series::ArmSeries;
use look::Look;
pub(crate) use look::View;
pub(crate) use ranks::Rank;

/// Lines that stay on the screen at the end of what lies behind the verdicts.
const LEFT_BEHIND: usize = 4;

/// Values that are made of the runs once, and not for every frame.
#[derive(Debug, Default)]
struct Known {
    /// Names of arms, run by run.
    arms: Vec<Vec<String>>,
    /// First lines of reports, run by run.
    openings: Vec<Vec<Opening>>,
    /// Blocks that figures are made of, run by run.
    blocks: Vec<BTreeSet<u32>>,
    /// Answers, run by run.
    answers: Vec<RunAnswer>,
    /// Arms to deploy, run by run.
    recommended: Vec<Option<Recommendation>>,
    /// The second of two runs against the first.
    between: Option<RunsCompared>,
}

#[derive(Debug, Default)]
pub(crate) struct Compare {
    pub runs: Vec<OpenRun>,
    known: Known,
    pub all_series: Vec<ArmSeries>,
    pub hidden: BTreeSet<usize>,
    pub at: usize,
    /// Parts that are shown of the table, and of the heat map.
    windows: [ListWindow; 2],
    pub column: usize,
    pub phases: Vec<String>,
    pub phase: usize,
    pub look: Look,
    /// It was opened from the past runs: that is where it leads back to.
    pub of_the_past: bool,
    /// Figures that are known of any of the runs.
    pub columns: Vec<Column>,
    /// The overlay of what lies behind the verdicts, from this line on.
    pub behind: Option<usize>,
}

impl Compare {
    pub fn of(runs: Vec<OpenRun>) -> Self {
        let arms: Vec<Vec<String>> = runs.iter().map(names).collect();
        let all_series = arms
            .iter()
            .enumerate()
            .flat_map(|(run, names)| (0..names.len()).map(move |arm| ArmSeries { run, arm }))
            .collect();
        let mut phases: Vec<String> = Vec::new();
        for phase in runs.iter().flat_map(|run| &run.summary.arms).flat_map(|arm| &arm.phases) {
            if !phases.contains(&phase.name) {
                phases.push(phase.name.clone());
            }
        }
        // The busiest phase is what the experiment is about.
        let busiest = runs.first().and_then(|run| run.summary.arms.first()).and_then(|arm| {
            let phase = busiest(&arm.phases)?;
            phases.iter().position(|name| *name == phase.name)
        });
        let shows =
            |column: &Column| runs.iter().flat_map(|run| &run.timeline).any(|second| column.at(second).is_some());
        // Older runs do not have it.
        let measured = || runs.iter().flat_map(|run| &run.summary.arms).flat_map(|arm| &arm.phases);
        let of_all = measured().any(|phase| Column::P90All.of_phase(&phase.measured).is_some());
        let of_users = Column::OF_USERS.into_iter().filter(|column| of_all || *column != Column::P90All);
        let columns = of_users.chain(Column::OF_POLICIES.into_iter().filter(shows)).collect();
        let openings = runs.iter().map(|run| opening(&run.summary)).collect();
        let answers = runs.iter().map(|run| of_summary(&run.summary)).collect();
        let recommended = runs.iter().map(|run| recommendation(&run.summary)).collect();
        let blocks = runs.iter().zip(&arms).map(|(run, arms)| counted_blocks(&run.summary.arms, arms.len())).collect();
        let known = Known { arms, openings, blocks, answers, recommended, ..Known::default() };
        let mut of = Self { runs, known, all_series, phase: busiest.unwrap_or(0), phases, columns, ..Self::default() };
        // The eye meets the winner.
        of.at = of.order().first().copied().unwrap_or(0);
        of
    }

    pub fn pressed(&mut self, action: Action) {
        if let Some(line) = self.behind {
            self.behind = match action {
                Action::Choose => None,
                _ => Some(moved(line, self.lines_behind().saturating_sub(LEFT_BEHIND), action).unwrap_or(line)),
            };
            return;
        }
        if let Some(row) = moved(self.row(), self.all_series.len(), action) {
            self.at = self.order().get(row).copied().unwrap_or(0);
        }
        match action {
            Action::Choose => self.behind = Some(0),
            Action::Left => self.column = self.column.saturating_sub(1),
            Action::Right => self.column = (self.column + 1).min(self.columns.len().saturating_sub(1)),
            Action::NextPhase | Action::PreviousPhase if !self.phases.is_empty() => {
                let by = if action == Action::NextPhase { 1 } else { self.phases.len() - 1 };
                self.phase = (self.phase + by) % self.phases.len();
            }
            Action::View => self.look.view = self.next_view(),
            Action::Zoom => self.look.zoomed = !self.look.zoomed,
            Action::Sort => self.look.sorted = !self.look.sorted,
            Action::Baseline => {
                self.look.baseline = Some(self.at).filter(|_| self.look.baseline != Some(self.at));
                self.look.across = false;
            }
            Action::Moment(by) => self.move_moment(by),
            Action::Solo => {
                let others: BTreeSet<usize> = (0..self.all_series.len()).filter(|n| *n != self.at).collect();
                self.hidden = if self.hidden == others { BTreeSet::new() } else { others };
            }
            Action::Tick if self.hidden.remove(&self.at) => {}
            Action::Tick => _ = self.hidden.insert(self.at),
            Action::Enlarge => self.look.enlarged = !self.look.enlarged,
            _ => {}
        }
    }

    /// One step back within it: `false` if there is none.
    pub fn back(&mut self) -> bool {
        self.behind.take().is_some()
            || self.look.moment.take().is_some()
            || std::mem::take(&mut self.look.enlarged)
            || std::mem::take(&mut self.look.zoomed)
            || std::mem::take(&mut self.look.view) != View::OverTime
    }

    /// The arm under the cursor.
    pub fn chosen(&self) -> Option<ArmSeries> {
        self.all_series.get(self.at).copied()
    }

    /// The next arm of those that are listed, or the one before.
    pub fn next_arm(&mut self, by: i8) {
        let (row, count) = (self.row(), self.all_series.len().max(1));
        let to = if by > 0 { row + 1 } else { row + count - 1 } % count;
        self.at = self.order().get(to).copied().unwrap_or(0);
    }

    /// Row of the arm under the cursor.
    fn row(&self) -> usize {
        self.order().iter().position(|at| *at == self.at).unwrap_or(0)
    }

    /// First row that is shown of so many that have room, in the table or in the heat map.
    pub fn first_row(&self, in_heat: bool, room: usize) -> usize {
        self.windows[usize::from(in_heat)].first(self.row(), self.all_series.len(), room)
    }

    /// Pictures that have something to show.
    pub fn views(&self) -> impl Iterator<Item = View> {
        let has_curves = self.runs.iter().any(|run| run.summary.curves.iter().any(|curve| curve.points.len() > 1));
        View::ALL.into_iter().filter(move |view| *view != View::OverLoad || has_curves)
    }

    /// The picture after this one.
    fn next_view(&self) -> View {
        let mut after = self.views().skip_while(|view| *view != self.look.view).skip(1);
        after.next().unwrap_or_default()
    }

    fn move_moment(&mut self, by: i8) {
        let Some(arm_series) = self.chosen() else { return };
        let last =
            self.all_series.iter().flat_map(|arm_series| self.seconds(*arm_series)).map(|second| second.second).max();
        let begin = self.phase_span(arm_series.run).map_or(0.0, |[begin, _]| begin);
        let to = self.look.moment.map_or(begin, |at| at + f64::from(by));
        self.look.moment = last.map(|last| to.clamp(0.0, f64::from(last)));
    }

    /// The begin and the end of the phase that is shown, in seconds of an arm.
    pub fn phase_span(&self, run: usize) -> Option<[f64; 2]> {
        let shape = self.runs.get(run)?.shape.as_ref()?;
        let at = shape.phases.iter().position(|phase| phase.name == self.phase_name())?;
        let end = shape.ends()[at];
        Some([end - shape.phases[at].seconds, end])
    }

    /// The arm of a run to deploy.
    pub fn recommended(&self, run: usize) -> Option<&Recommendation> {
        self.known.recommended.get(run)?.as_ref()
    }

    fn answer(&self, arm_series: ArmSeries) -> Option<&ArmAnswer> {
        let name = self.arm_name(arm_series);
        self.known.answers.get(arm_series.run)?.arms.iter().find(|answer| answer.arm == name)
    }

    /// The arm knows what no policy can know.
    fn is_hindsight(&self, arm_series: ArmSeries) -> bool {
        self.answer(arm_series).is_some_and(|answer| answer.hindsight) || self.turns(arm_series).any(|arm| arm.bound)
    }

    /// Its goodput in calm, and by which share that is more than the baseline's.
    pub fn calm(&self, arm_series: ArmSeries) -> Option<(f64, Option<f64>)> {
        let of_run = self.known.answers.get(arm_series.run)?;
        let at = of_run.columns.iter().position(|column| column.role == Some(PhaseRole::Calm))?;
        let goodput = |answer: &ArmAnswer| Some(answer.columns[at].as_ref()?.goodput_per_s.median);
        let own = goodput(self.answer(arm_series)?)?;
        let baseline = of_run.arms.iter().find(|answer| answer.arm == of_run.baseline).and_then(goodput);
        Some((own, baseline.filter(|baseline| *baseline > 0.0).map(|baseline| own / baseline - 1.0)))
    }

    /// How it came back from overload or fault, in words.
    pub fn comeback(&self, arm_series: ArmSeries) -> Option<String> {
        self.answer(arm_series)?.recovery.as_ref().map(recovery_in_words)
    }

    /// The number of an arm's colour: arms of one name have the same in all runs.
    pub fn colour(&self, at: usize) -> usize {
        let name = self.arm_name(self.all_series[at]);
        self.all_series.iter().position(|other| self.arm_name(*other) == name).unwrap_or(at)
    }

    /// First lines of a run's report.
    pub fn opening(&self, run: usize) -> &[Opening] {
        self.known.openings.get(run).map_or(&[], Vec::as_slice)
    }

    /// The folder of the run under the cursor.
    pub fn folder(&self) -> Option<&std::path::Path> {
        Some(&self.runs.get(self.chosen()?.run)?.folder)
    }

    /// Lines behind the verdicts, at the least: some may take several on the screen.
    fn lines_behind(&self) -> usize {
        let of = |(at, run): (usize, &OpenRun)| {
            let (reasons, thresholds) = (run.summary.reasons.len(), run.summary.thresholds.len());
            let recommended = self.recommended(at).map_or(0, |recommended| recommended.lines().len());
            3 + self.opening(at).len() + recommended + run.made.len() + 2 * reasons + 2 * thresholds
        };
        self.runs.iter().enumerate().map(of).sum()
    }

    pub fn column(&self) -> Column {
        self.columns.get(self.column).copied().unwrap_or(Column::Goodput)
    }

    pub fn phase_name(&self) -> &str {
        self.phases.get(self.phase).map_or("", String::as_str)
    }

    pub fn arm_name(&self, arm_series: ArmSeries) -> &str {
        self.known.arms[arm_series.run].get(arm_series.arm).map_or("", String::as_str)
    }

    /// Several runs stand for their names, which are long and much alike.
    pub fn letter(&self, run: usize) -> Option<String> {
        let letter = match u8::try_from(run) {
            Ok(n @ 0..26) => char::from(b'A' + n).to_string(),
            _ => (run + 1).to_string(),
        };
        (self.runs.len() > 1).then_some(letter)
    }

    /// `seda`, or with several runs `seda · B`.
    pub fn name(&self, arm_series: ArmSeries) -> String {
        let arm = self.arm_name(arm_series);
        self.letter(arm_series.run).map_or_else(|| arm.to_owned(), |letter| format!("{arm} · {letter}"))
    }

    /// `flash-crowd-2`, or with several runs `B: flash-crowd-2`.
    pub fn run_name(&self, run: usize) -> String {
        let name = scrubbed(&self.runs[run].name);
        self.letter(run).map_or_else(|| name.clone(), |letter| format!("{letter}: {name}"))
    }

    /// Turns of an arm, block by block, without what the machine spoiled.
    pub fn turns(&self, arm_series: ArmSeries) -> impl Iterator<Item = &Arm> {
        let (name, arms) = (self.arm_name(arm_series), &self.runs[arm_series.run].summary.arms);
        let left_out = excluded(arms);
        arms.iter().filter(move |arm| arm.shown_name() == name && !left_out.contains(&arm.block))
    }

    /// Blocks of which figures are the medians, in the run with the fewest and in that with the most.
    pub fn kept(&self) -> (usize, usize) {
        let counts = || self.known.blocks.iter().map(BTreeSet::len);
        (counts().min().unwrap_or(1), counts().max().unwrap_or(1))
    }

    /// Turns of an arm that its figures are made of.
    pub fn counted(&self, arm_series: ArmSeries) -> impl Iterator<Item = &Arm> {
        let (name, blocks) = (self.arm_name(arm_series), &self.known.blocks[arm_series.run]);
        let arms = self.runs[arm_series.run].summary.arms.iter();
        arms.filter(move |arm| arm.shown_name() == name && blocks.contains(&arm.block))
    }

    /// The run was stopped in the phase that is shown: the arm's figures are those of a part of it.
    pub fn is_cut_off(&self, arm_series: ArmSeries) -> bool {
        let phase = self.phase_name();
        let mut phases = self.counted(arm_series).flat_map(|arm| &arm.phases);
        phases.any(|found| found.name == phase && found.cut_off)
    }

    /// The block of a run that is drawn; more would hide each other.
    pub fn drawn_block(&self, run: usize) -> u32 {
        first_kept(&self.runs[run].summary.arms)
    }

    /// The median over blocks of a figure in the phase that is shown, and whether time-outs leave only a bound: the higher
    /// one of two in the middle, as in the answer. Of what is known of seconds alone: the median of the phase's seconds in the
    /// block that is drawn. While a second is looked at: its value.
    pub fn figure(&self, arm_series: ArmSeries, column: Column) -> Option<Value> {
        if let Some(moment) = self.look.moment {
            return self
                .seconds(arm_series)
                .find(|second| second.second == moment as u32)
                .and_then(|second| column.at(second))
                .map(
                    // As in the summary: a share.
                    |value| if column == Column::Rejected { value.map(|percent| percent / 100.0) } else { value },
                );
        }
        if column.is_of_policies() {
            return self.in_phase(arm_series, column, self.phase);
        }
        Value::median(&self.by_block(arm_series, column).into_values().collect::<Vec<_>>())
    }

    /// The median of the seconds of a phase, by its number.
    pub fn in_phase(&self, arm_series: ArmSeries, column: Column, phase: usize) -> Option<Value> {
        let phase = self.phases.get(phase)?;
        let seconds = self.seconds(arm_series).filter(|second| second.phase == *phase);
        Value::median(&seconds.filter_map(|second| column.at(second)).collect::<Vec<_>>())
    }

    /// A figure of the phase that is shown in each block that counts.
    pub fn by_block(&self, arm_series: ArmSeries, column: Column) -> BTreeMap<u32, Value> {
        let phase = self.phase_name();
        let of = |arm: &Arm| {
            let found = arm.phases.iter().find(|found| found.name == phase)?;
            Some((arm.block, column.of_phase(&found.measured)?))
        };
        self.counted(arm_series).filter_map(of).collect()
    }

    /// Over time, of the block that is drawn.
    pub fn seconds(&self, arm_series: ArmSeries) -> impl Iterator<Item = &TimelineSecond> {
        let (name, block) = (self.arm_name(arm_series), self.drawn_block(arm_series.run));
        self.runs[arm_series.run].timeline.iter().filter(move |second| second.arm == name && second.block == block)
    }

    /// Interventions in the turn that is drawn.
    pub fn touches(&self, arm_series: ArmSeries) -> impl Iterator<Item = &Touched> {
        let block = self.drawn_block(arm_series.run);
        self.turns(arm_series).filter(move |arm| arm.block == block).flat_map(|arm| &arm.touches)
    }

    /// The comparison with the baseline.
    pub fn verdict(&self, arm_series: ArmSeries, column: Column) -> Option<&Comparison> {
        let (arm, phase) = (self.arm_name(arm_series), self.phase_name());
        self.runs[arm_series.run].summary.comparisons.iter().find(|comparison| {
            comparison.policy == arm && comparison.phase == phase && comparison.metric == column.metric()
        })
    }

    pub fn objective_ms(&self) -> Option<f64> {
        self.runs.first().map(|run| run.summary.objective.response_time_ms)
    }

    /// The percentile of response times that the objective bounds.
    pub fn time(&self) -> Column {
        self.runs.first().map_or(Column::P90, |run| Column::bounded_by(&run.summary.objective))
    }
}

/// Blocks of a run of which figures are the medians: those that the machine did not spoil, and of a run that was stopped only
/// whole ones, as long as there are any.
fn counted_blocks(arms: &[Arm], each: usize) -> BTreeSet<u32> {
    let left_out = excluded(arms);
    let kept = |blocks: BTreeSet<u32>| -> BTreeSet<u32> { blocks.difference(&left_out).copied().collect() };
    let whole = kept(whole_blocks(arms, each));
    if whole.is_empty() { kept(arms.iter().map(|arm| arm.block).collect()) } else { whole }
}

/// Arms in the order of the file.
fn names(run: &OpenRun) -> Vec<String> {
    let ran = run.summary.arm_names();
    let planned = run.shape.iter().flat_map(|shape| shape.arms.iter().map(String::as_str));
    let mut names: Vec<&str> = planned.filter(|name| ran.contains(name)).collect();
    names.extend(ran.iter().filter(|name| !names.contains(name)).copied().collect::<Vec<_>>());
    names.into_iter().map(str::to_owned).collect()
}
