//! Values of a figure, from the files of a run.

use std::{collections::BTreeSet, ops::Range, path::Path};

use controllers::webq::{Cubic, ScaledPoint};

use super::plan::{FigurePlan, Over, PanelPlan, PlannedLine};
use crate::{
    FolderError, Manifest, Recorded,
    arm_runs::{ArmRun, arm_runs},
    chart::{Against, Band, Chart, ChartAxis, ChartLine, ChartPanel, PaperNumber, Point, Scale},
    judge::{
        gates::first_kept,
        threshold::{Evidence, OfPhase, PhaseMeasure, Threshold},
    },
    live::TimelineSecond,
    series::value::Value,
    summary::{Arm, PhaseSummary, PlannedLoad},
};

/// Points of a line over time: gauges of more seconds are averaged.
const POINTS: usize = 600;
/// The report window of the SEDA papers, in seconds: the shortest in which requests are counted over time.
const WINDOW: f64 = 5.0;
/// Windows of a phase, in twentieths of its length.
const TWENTIETHS: [u32; 6] = [1, 2, 4, 5, 10, 20];

/// Draws the figure of a run: of its first block that the machine did not spoil. `plan`: what its experiment declares.
///
/// # Errors
/// If the run's files cannot be read.
pub fn drawn(folder: &Path, plan: Option<&FigurePlan>) -> Result<Chart, FolderError> {
    let undeclared = FigurePlan::undeclared();
    let manifest = Manifest::read(folder)?;
    let recorded = Recorded::read(folder)?;
    let arm_runs = arm_runs(folder, &manifest, &recorded, &mut Vec::new())?;
    let arms: Vec<Arm> = arm_runs.iter().map(|arm_run| arm_run.arm.clone()).collect();
    let run = MeasuredRun { arms: &arms, arm_runs: &arm_runs, timeline: &recorded.timeline };
    let several = manifest.blocks.len() > 1;
    let block = first_kept(&arms);
    let of_block = if several { format!(", block {block} of {}", manifest.blocks.len()) } else { String::new() };
    let planned = &manifest.experiment;
    let title = format!("{}: {}{of_block}", planned.name, planned.about);
    let figure = Evaluation { plan: plan.unwrap_or(&undeclared), run, block, order: manifest.arms() }.figure(title);
    Ok(figure)
}

/// A run, as far as figures ask for it.
#[derive(Clone, Copy)]
pub(super) struct MeasuredRun<'a> {
    pub arms: &'a [Arm],
    pub arm_runs: &'a [ArmRun],
    pub timeline: &'a [TimelineSecond],
}

/// A figure of one block.
pub(super) struct Evaluation<'a> {
    pub plan: &'a FigurePlan,
    pub run: MeasuredRun<'a>,
    pub block: u32,
    /// Arms, in the order of the file.
    pub order: Vec<String>,
}

/// A line, found in the run.
struct FoundLine<'a> {
    name: String,
    /// `None`: arms go to the right.
    arm: Option<&'a Arm>,
    measure: PhaseMeasure,
    /// Name of its only phase, if it has one.
    phase: Option<&'a str>,
}

/// A line's points.
type Points = Vec<Point>;

impl<'a> Evaluation<'a> {
    pub fn figure(&self, title: String) -> Chart {
        let mut names: Vec<String> = Vec::new();
        let mut windows: Option<[f64; 2]> = None;
        let panels: Vec<ChartPanel> =
            self.plan.panels.iter().map(|panel| self.panel(panel, &mut names, &mut windows)).collect();
        let mut notes: Vec<String> = Vec::new();
        if let Some([shortest, longest]) = windows {
            let about =
                if shortest < longest { format!("{shortest:.0} to {longest:.0}") } else { format!("{longest:.0}") };
            notes.push(format!("A point of what became of requests is a window of {about} s."));
        }
        if self.plan.skip > 0.0 {
            notes.push(format!("The first {:.0} % of each phase are left out.", self.plan.skip * 100.0));
        }
        notes.extend(self.plan.note.clone());
        Chart { title, across: self.across(&panels), panels, notes }
    }

    /// An arm in the block that is drawn.
    fn arm(&self, name: &str) -> Option<&'a Arm> {
        self.run.arms.iter().find(|arm| arm.block == self.block && !arm.bound && arm.shown_name() == name)
    }

    fn arms(&self) -> Vec<&'a str> {
        self.order.iter().filter_map(|name| Some(self.arm(name)?.shown_name())).collect()
    }

    fn any_arm(&self) -> Option<&'a Arm> {
        self.run.arms.iter().find(|arm| arm.block == self.block && !arm.bound)
    }

    /// Phases of an arm that are drawn, with the second in which each begins.
    fn begins(&self, arm: &'a Arm) -> impl Iterator<Item = (f64, &'a PhaseSummary)> {
        let of_all = arm.phases.iter().scan(0.0, |at, phase| {
            let begins = *at;
            *at += phase.seconds;
            Some((begins, phase))
        });
        of_all.filter(|(_, phase)| {
            !phase.cut_off && (self.plan.phases.is_empty() || self.plan.phases.contains(&phase.name))
        })
    }

    fn phases(&self, arm: &'a Arm) -> impl Iterator<Item = &'a PhaseSummary> {
        self.begins(arm).map(|(_, phase)| phase)
    }

    fn panel(&self, panel: &PanelPlan, names: &mut Vec<String>, windows: &mut Option<[f64; 2]>) -> ChartPanel {
        let found = self.lines(panel);
        let is_time = found.first().is_some_and(|line| line.measure.is_time());
        let scale = if is_time { 1e-3 } else { 1.0 };
        let mut lines = Vec::new();
        for line in found {
            let colour = names.iter().position(|known| *known == line.name).unwrap_or(names.len());
            if colour == names.len() {
                names.push(line.name.clone());
            }
            let points = self.points(panel, &line, windows).into_iter();
            let points = points.map(|(x, value)| (x, value.map(|value| value.map(|at| at * scale)))).collect();
            lines.push(ChartLine { name: line.name, colour: Some(colour), points, ..ChartLine::default() });
        }
        if self.plan.cubic {
            let fitted: Vec<ChartLine> = lines.iter().filter_map(cubic).collect();
            lines.extend(fitted);
        }
        for curve in &panel.paper {
            let colour = curve.beside.as_ref().and_then(|name| names.iter().position(|known| known == name));
            let points = curve.points.iter().map(|[x, y]| (*x, Some(Value::known(*y)))).collect();
            lines.push(ChartLine { name: curve.name.clone(), colour, paper: true, points, ..ChartLine::default() });
        }
        let unit = if is_time { "s".to_owned() } else { panel.unit.clone() };
        let against = panel.limit.iter().map(|limit| Against::level(&limit.name, limit.at)).collect();
        let (title, log) = (panel.title.clone(), panel.log);
        let drawn = ChartPanel { title, unit, log, against, lines, ..ChartPanel::default() };
        let number = |(name, equation): (&String, &String)| self.beside(&drawn, name, equation);
        ChartPanel { printed: panel.printed.iter().filter_map(number).collect(), ..drawn }
    }

    /// A number of the paper, and ours.
    fn beside(&self, panel: &ChartPanel, name: &str, equation: &str) -> Option<PaperNumber> {
        let threshold = Threshold::parse(equation).ok()?;
        let scale = if threshold.is_of_time() { 1e-3 } else { 1.0 };
        let (ours, paper) = self.with_evidence(|evidence| threshold.equated(self.block, evidence))?;
        let ours = ours.map(|ours| ours.map(|at| at * scale));
        Some(PaperNumber { panel: panel.with_unit(), name: name.to_owned(), paper: paper * scale, ours })
    }

    fn lines<'p>(&self, panel: &'p PanelPlan) -> Vec<FoundLine<'a>>
    where
        'p: 'a,
    {
        let all: Vec<&'a str> =
            self.any_arm().map_or_else(Vec::new, |arm| arm.phases.iter().map(|p| p.name.as_str()).collect());
        let phases = self.plan.phases_of(panel, &all);
        let arms = self.plan.arms_of(panel, &self.arms());
        let found = |line: PlannedLine<'a>| {
            let arm = match line.arm {
                Some(name) => Some(self.arm(name)?),
                None => None,
            };
            let measure = PhaseMeasure::parse(&line.measure.measure).ok()?;
            Some(FoundLine { name: line.name, arm, measure, phase: line.phase })
        };
        self.plan.lines(panel, &arms, &phases).into_iter().filter_map(found).collect()
    }

    fn points(&self, panel: &PanelPlan, line: &FoundLine<'a>, windows: &mut Option<[f64; 2]>) -> Points {
        let numbered = |values: Vec<Option<Value>>| (0_u32..).map(f64::from).zip(values).collect();
        let Some(arm) = line.arm else {
            let arms = self.plan.arms_of(panel, &self.arms());
            return numbered(arms.iter().map(|name| self.in_phase(self.arm(name)?, line)).collect());
        };
        match self.plan.over {
            Over::Arms => Vec::new(),
            Over::Load => self
                .phases(arm)
                .filter_map(|phase| Some((self.x(panel, arm, phase)?, self.value(arm, &line.measure, phase))))
                .collect(),
            Over::Phases => numbered(self.phases(arm).map(|phase| self.value(arm, &line.measure, phase)).collect()),
            Over::Types => {
                let of_type = |kind: &String| {
                    let measure = line.measure.of_type(kind);
                    self.in_phase(arm, &FoundLine { name: String::new(), arm: None, measure, phase: line.phase })
                };
                numbered(self.plan.types.iter().map(of_type).collect())
            }
            Over::Time if line.measure.is_of_seconds() => self.seconds(arm, &line.measure),
            Over::Time => self.in_windows(arm, &line.measure, windows),
        }
    }

    /// Place of a phase on the axis to the right.
    fn x(&self, panel: &PanelPlan, arm: &Arm, phase: &PhaseSummary) -> Option<f64> {
        match &panel.x {
            None => Some(load(phase)),
            Some(measure) => Some(self.value(arm, &PhaseMeasure::parse(measure).ok()?, phase)?.at),
        }
    }

    /// The value of a line that is of one phase.
    fn in_phase(&self, arm: &Arm, line: &FoundLine<'_>) -> Option<Value> {
        let phase = arm.phases.iter().find(|phase| Some(phase.name.as_str()) == line.phase && !phase.cut_off)?;
        self.value(arm, &line.measure, phase)
    }

    fn value(&self, arm: &Arm, measure: &PhaseMeasure, phase: &PhaseSummary) -> Option<Value> {
        let part = (self.plan.skip > 0.0 && !measure.is_of_whole_phases()).then_some(self.plan.skip..1.0);
        self.asked(arm, measure, phase, part)
    }

    fn asked(
        &self,
        arm: &Arm,
        measure: &PhaseMeasure,
        phase: &PhaseSummary,
        part: Option<Range<f64>>,
    ) -> Option<Value> {
        let of = OfPhase { arm: arm.shown_name(), phase: &phase.name, part, block: self.block };
        self.with_evidence(|evidence| measure.value(&of, evidence))
    }

    fn with_evidence<T>(&self, ask: impl FnOnce(&Evidence<'_>) -> T) -> T {
        let MeasuredRun { arms, arm_runs, timeline } = self.run;
        let parts = |index: usize, phase: &str, part: Range<f64>| arm_runs.get(index)?.part(phase, part);
        ask(&Evidence { arms, left_out: &BTreeSet::new(), timeline, parts: &parts })
    }

    /// A gauge, second by second; one that is shown less often is joined over the seconds between.
    fn seconds(&self, arm: &'a Arm, measure: &PhaseMeasure) -> Points {
        let mut points = Points::new();
        for (begins, phase) in self.begins(arm) {
            let of = OfPhase { arm: arm.shown_name(), phase: &phase.name, part: None, block: self.block };
            let values = self.with_evidence(|evidence| measure.seconds(&of, evidence));
            points.extend((0_u32..).zip(values).map(|(n, value)| (begins + f64::from(n) + 0.5, value)));
        }
        let points = joined(&points);
        let step = points.len() / POINTS + 1;
        points.chunks(step).map(mean).collect()
    }

    /// Points of a measure of requests: in windows of each phase, as short as there are enough of them.
    fn in_windows(&self, arm: &'a Arm, measure: &PhaseMeasure, windows: &mut Option<[f64; 2]>) -> Points {
        let mut points = Vec::new();
        for (begins, phase) in self.begins(arm) {
            let mut found = Points::new();
            for twentieths in TWENTIETHS {
                let share = f64::from(twentieths) / 20.0;
                let window = share * phase.seconds;
                if window < WINDOW && twentieths < 20 {
                    continue;
                }
                let one = |n: u32| {
                    let part = (twentieths < 20).then(|| f64::from(n) * share..f64::from(n + 1) * share);
                    let value = self.asked(arm, measure, phase, part);
                    (begins + (f64::from(n) + 0.5) * window, value)
                };
                found = (0..20 / twentieths).map(one).collect();
                if found.iter().filter(|(_, value)| value.is_some()).count() * 2 >= found.len() {
                    let [shortest, longest] = windows.unwrap_or([window, window]);
                    *windows = Some([shortest.min(window), longest.max(window)]);
                    break;
                }
            }
            points.extend(found);
        }
        points
    }

    fn across(&self, panels: &[ChartPanel]) -> ChartAxis {
        let any = self.any_arm();
        let begins: Vec<(f64, &PhaseSummary)> = any.map_or_else(Vec::new, |arm| self.begins(arm).collect());
        let phases = || begins.iter().map(|(_, phase)| *phase);
        let (title, scale) = match self.plan.over {
            Over::Types => ("request type", Scale::Groups(self.plan.types.clone())),
            Over::Phases => ("phase", Scale::Groups(phases().map(|phase| phase.name.clone()).collect())),
            Over::Arms => {
                let all = self.arms();
                let drawn =
                    self.plan.panels.first().map_or_else(|| all.clone(), |panel| self.plan.arms_of(panel, &all));
                ("arm", Scale::Groups(drawn.into_iter().map(str::to_owned).collect()))
            }
            Over::Load => {
                let unit = phases().find_map(|phase| phase.measures.load).map_or("users", PlannedLoad::unit);
                let mut places: Vec<f64> = panels
                    .iter()
                    .flat_map(|panel| &panel.lines)
                    .flat_map(|line| &line.points)
                    .map(|(x, _)| *x)
                    .filter(|x| *x > 0.0)
                    .collect();
                places.sort_by(f64::total_cmp);
                places.dedup();
                let most = places.last().copied().unwrap_or(1.0);
                (unit, if self.plan.log { Scale::Log(places) } else { Scale::Linear([0.0, most]) })
            }
            Over::Time => {
                let start = begins.first().map_or(0.0, |(at, _)| *at);
                let end = begins.last().map_or(1.0, |(at, phase)| at + phase.seconds);
                ("time, s", Scale::Linear([start, end]))
            }
        };
        let dense = self.plan.over == Over::Time;
        let band = |(from, phase): &(f64, &PhaseSummary)| Band {
            name: phase.name.clone(),
            from: *from,
            to: from + phase.seconds,
        };
        let bands = begins.iter().filter(|_| dense).map(band).collect();
        let title = self.plan.across.clone().unwrap_or_else(|| title.to_owned());
        ChartAxis { title, scale, scattered: self.plan.scatter, dense, bands, faults: Vec::new() }
    }
}

/// The cubic through a line's points by least squares, as WebQ fits one to power ratios.
fn cubic(line: &ChartLine) -> Option<ChartLine> {
    /// Straight pieces that a curve is drawn with.
    const PIECES: u32 = 60;
    let points: Vec<ScaledPoint> =
        line.points.iter().filter_map(|(load, value)| Some(ScaledPoint { load: *load, power: (*value)?.at })).collect();
    let cubic = Cubic::fit(&points)?;
    let loads = points.iter().map(|point| point.load);
    let (low, high) = loads.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let place = |n: u32| low + (high - low) * f64::from(n) / f64::from(PIECES);
    // Ratios have no negative values, cubics have.
    let at = |load: f64| (load, Some(cubic.at(load)).filter(|power| *power >= 0.0).map(Value::known));
    let points = (0..=PIECES).map(place).map(at).collect();
    Some(ChartLine {
        name: format!("{}, cubic", line.name),
        colour: line.colour,
        fitted: true,
        points,
        ..ChartLine::default()
    })
}

/// Planned load of a phase; where that changes, the users at most, or what was offered a second.
fn load(phase: &PhaseSummary) -> f64 {
    let users = (phase.users > 0).then(|| f64::from(phase.users));
    phase.measures.load.map(PlannedLoad::amount).or(users).unwrap_or(phase.measured.offered_per_s)
}

/// Points without those that have no value, but for a gap wherever the next value is more than a report window away.
fn joined(points: &[Point]) -> Points {
    let mut joined = Points::new();
    for (x, value) in points.iter().filter(|(_, value)| value.is_some()) {
        if let Some((last, _)) = joined.last().filter(|(last, _)| x - last > WINDOW) {
            joined.push((f64::midpoint(*last, *x), None));
        }
        joined.push((*x, *value));
    }
    joined
}

/// The middle of some points; a gap if one is.
fn mean(points: &[Point]) -> Point {
    let count = points.len() as f64;
    let known: Option<Vec<Value>> = points.iter().map(|(_, value)| *value).collect();
    let value = known.map(|values| Value {
        at: values.iter().map(|value| value.at).sum::<f64>() / count,
        at_least: values.iter().any(|value| value.at_least),
    });
    (points.iter().map(|(x, _)| x).sum::<f64>() / count, value)
}
