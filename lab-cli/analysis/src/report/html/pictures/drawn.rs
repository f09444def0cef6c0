//! Lines of a run's block, from its seconds.

use crate::{
    chart::{Band, Chart, ChartAxis, ChartLine, ChartPanel, Point, Scale},
    live::TimelineSecond,
    manifest::PlannedFault,
    report::RunFiles,
    series::value::Value,
    summary::{AnswerColumn, PhaseRole},
};

/// Points of a line over time: more of them are joined to one.
const POINTS: u32 = 600;

/// One block of a run, arms in the order of the file.
pub(super) struct Drawn<'a> {
    pub run: &'a RunFiles,
    pub arms: Vec<String>,
    pub seconds: Vec<&'a TimelineSecond>,
    /// Seconds that are joined to a point.
    pub step: u32,
    pub bands: Vec<Band>,
    /// Requests a second that the service can serve, where that is known.
    pub capacity: Option<f64>,
}

/// Rule by which several seconds become a point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joined {
    /// Percentiles: the worst.
    Worst,
    /// Counts and levels.
    Mean,
}

impl<'a> Drawn<'a> {
    pub fn of(run: &'a RunFiles) -> Self {
        let block = run.drawn_block();
        let seconds: Vec<_> = run.timeline.iter().filter(|second| second.block == block).collect();
        let last = seconds.iter().map(|second| second.second).max().unwrap_or(0);
        let mut begins = 0.0;
        let mut bands = Vec::new();
        for phase in run.shape().map_or(&[][..], |shape| &shape.phases) {
            let to = begins + phase.seconds;
            bands.push(Band { name: phase.name.clone(), from: begins, to });
            begins = to;
        }
        let arms = run.answer().arms.into_iter().map(|arm| arm.arm).collect();
        let known = run.shape().and_then(|shape| shape.capacity_per_s);
        let capacity = known.or_else(|| run.summary.capacity.as_ref().map(|capacity| capacity.measured_per_s));
        Self { run, arms, seconds, step: last / POINTS + 1, bands, capacity }
    }

    /// Capacity of the service at a second of an arm, where that is known.
    pub fn capacity_at(&self, second: f64) -> Option<f64> {
        self.run.shape().and_then(|shape| shape.capacity_at(second)).or(self.capacity)
    }

    /// Moments at which the capacity changes, with its value from there on.
    pub fn capacity_steps(&self) -> Vec<(f64, f64)> {
        let changes = self.run.shape().map_or(&[][..], |shape| &shape.capacity_changes);
        let moments = std::iter::once(0.0).chain(changes.iter().flat_map(|change| [change.from, change.to]));
        let mut steps: Vec<_> = moments.filter_map(|at| Some((at, self.capacity_at(at)?))).collect();
        steps.dedup_by(|later, earlier| later.0 == earlier.0);
        steps
    }

    /// Axis of seconds.
    pub fn across(&self) -> ChartAxis {
        let measured = self.seconds.iter().map(|second| second.second / self.step + 1).max().unwrap_or(1);
        let end = self.bands.last().map_or(0.0, |band| band.to).max(f64::from(measured * self.step));
        let scale = Scale::Linear([0.0, end]);
        ChartAxis {
            title: "time, s".to_owned(),
            scale,
            scattered: false,
            dense: true,
            bands: self.bands.clone(),
            faults: self.run.manifest.faults().iter().map(fault).collect(),
        }
    }

    /// Chart over time.
    pub fn chart(&self, panels: Vec<ChartPanel>) -> Chart {
        Chart { across: self.across(), panels, ..Chart::default() }
    }

    /// An arm's line of this quantity.
    pub fn line(&self, arm: usize, read: impl Fn(&TimelineSecond) -> Option<Value>, how: Joined) -> ChartLine {
        let name = &self.arms[arm];
        let mut points: Vec<Point> = Vec::new();
        let mut values = Vec::new();
        let mut now = None;
        let mut end = |at: Option<u32>, values: &mut Vec<Value>| {
            let Some(at) = at else { return };
            points.push(((f64::from(at) + 0.5) * f64::from(self.step), joined(values, how)));
            values.clear();
        };
        for second in self.seconds.iter().filter(|second| second.arm == *name) {
            let at = second.second / self.step;
            if now != Some(at) {
                end(now, &mut values);
                now = Some(at);
            }
            values.extend(read(second));
        }
        end(now, &mut values);
        ChartLine { name: name.clone(), colour: Some(arm), points, ..ChartLine::default() }
    }

    /// The lines of all arms that have any.
    pub fn lines(&self, read: impl Fn(&TimelineSecond) -> Option<Value> + Copy, how: Joined) -> Vec<ChartLine> {
        let lines = (0..self.arms.len()).map(|arm| self.line(arm, read, how));
        lines.filter(|line| !line.points.is_empty()).collect()
    }

    /// The phase that pictures of one phase are of: overload, else the one that is compared.
    pub fn phase(&self) -> Option<String> {
        let columns = self.run.answer().columns;
        let stressed = |column: &&AnswerColumn| column.role.is_some_and(PhaseRole::is_stress);
        let named = columns.iter().find(stressed).map(|column| column.phase.clone());
        named.or_else(|| self.run.busiest().map(str::to_owned))
    }
}

fn fault(planned: &PlannedFault) -> Band {
    let [from, lasts] = [planned.at, planned.lasts].map(|time| time.as_secs_f64());
    Band { name: format!("fault: {}", planned.in_words()), from, to: from + lasts }
}

fn joined(values: &[Value], how: Joined) -> Option<Value> {
    let worst = Value::worst(values)?;
    let mean = values.iter().map(|value| value.at).sum::<f64>() / values.len() as f64;
    Some(if how == Joined::Worst { worst } else { Value::known(mean) })
}
