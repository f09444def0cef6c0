//! Chart: panels under each other over one axis. A page and a file draw it as SVG, a terminal as text.

use serde::{Deserialize, Serialize};

use crate::{
    series::{
        axis::{Axis, shown},
        value::Value,
    },
    text::digits,
};

pub(crate) mod layout;
pub(crate) mod palette;
mod svg;

pub use layout::Size;

/// A place on the axis to the right, and the value there; `None`: it is not known.
pub type Point = (f64, Option<Value>);

/// A chart.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    /// Title, with the experiment's name.
    pub title: String,
    /// Axis to the right.
    pub across: ChartAxis,
    /// Panels from above to below.
    pub panels: Vec<ChartPanel>,
    /// Notes for a reader, sentence by sentence.
    pub notes: Vec<String>,
}

/// The axis to the right.
#[derive(Debug, Clone, Default)]
pub struct ChartAxis {
    /// Title with its unit.
    pub title: String,
    /// Scale and its range.
    pub scale: Scale,
    /// Points are not joined to lines.
    pub scattered: bool,
    /// Points lie so close together that some of them have marks, and a line is dotted where one has no value; else each was
    /// measured alone.
    pub dense: bool,
    /// Phases.
    pub bands: Vec<Band>,
    /// Faults, each with its name.
    pub faults: Vec<Band>,
}

/// Scale of an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Linear, from and to.
    Linear([f64; 2]),
    /// Logarithmic, with ticks at these values.
    Log(Vec<f64>),
    /// Shares of requests from none to this one, by log10 of 1 / (1 - share).
    Shares(f64),
    /// Groups of bars.
    Groups(Vec<String>),
}

/// A part of the axis to the right: a phase, or a fault.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// Name of the phase.
    pub name: String,
    /// Begin on the axis.
    pub from: f64,
    /// Begin of the next one.
    pub to: f64,
}

/// A panel.
#[derive(Debug, Clone)]
pub struct ChartPanel {
    /// Title without the unit.
    pub title: String,
    /// Unit of the upright axis; empty: it has none.
    pub unit: String,
    /// Drawn by factors of ten.
    pub log: bool,
    /// Values that lines are read against.
    pub against: Vec<Against>,
    /// The paper's last.
    pub lines: Vec<ChartLine>,
    /// Numbers that the paper prints and draws nowhere, in the panel's unit.
    pub printed: Vec<PaperNumber>,
    /// A value in words.
    pub value: fn(f64) -> String,
}

/// Values that lines are read against, each from its place on to the next one's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Against {
    /// Name: the objective, the capacity, what was offered.
    pub name: String,
    /// Grey from the bottom up, behind the lines; else a dashed line across.
    pub area: bool,
    /// Places and values.
    pub points: Vec<(f64, f64)>,
}

/// A line, or a bar in each group.
#[derive(Debug, Clone, Default)]
pub struct ChartLine {
    /// Name in the legend.
    pub name: String,
    /// The number of its colour, dash and mark; `None`: those of no line.
    pub colour: Option<usize>,
    /// It is the paper's.
    pub paper: bool,
    /// A curve through the points of the line of this colour.
    pub fitted: bool,
    /// Points; without a value the line has a gap. Places of bars: the number of the group.
    pub points: Vec<Point>,
}

/// A number of the paper, and ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PaperNumber {
    /// Title of its panel, with the unit.
    pub panel: String,
    /// Curve and place: `paper, control (digitised) at 16`.
    pub name: String,
    /// Value in the unit of the panel.
    pub paper: f64,
    /// The same of ours; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<Value>,
}

impl Default for Scale {
    fn default() -> Self {
        Self::Groups(Vec::new())
    }
}

impl Scale {
    /// Ticks of shares: 50, 90, 99, 99.9 and 99.99 %.
    const SHARES: [f64; 5] = [std::f64::consts::LOG10_2, 1.0, 2.0, 3.0, 4.0];

    /// Axis with about so many ticks.
    pub fn axis(&self, about: f64) -> Axis {
        let linear = |to: f64| Axis { from: 0.0, to, ticks: Vec::new(), log: false };
        match self {
            Self::Linear([from, to]) => {
                // Ticks are counted from zero, also where the axis begins later.
                let mut axis = linear(to.max(from + 1e-9)).with_round_ticks(about);
                axis.ticks.retain(|tick| tick >= from);
                Axis { from: *from, ..axis }
            }
            Self::Log(values) => {
                let ends = values.first().zip(values.last()).map_or((1.0, 10.0), |(least, most)| (*least, *most));
                let (from, to) = (libm::log10(ends.0), libm::log10(ends.1));
                let step = values.len().div_ceil(12).max(1);
                let ticks = values.iter().copied().step_by(step).collect();
                Axis { from, to: to.max(from + 1e-9), ticks, log: true }
            }
            Self::Shares(to) => {
                let ticks = Self::SHARES.into_iter().filter(|tick| tick <= to).collect();
                Axis { ticks, ..linear(to.max(1e-9)) }
            }
            Self::Groups(groups) => linear(groups.len().max(1) as f64),
        }
    }

    /// A place in words.
    pub fn label(&self, at: f64) -> String {
        if !matches!(self, Self::Shares(_)) {
            return shown(at);
        }
        let digits = if at < 2.5 {
            0
        } else if at < 3.5 {
            1
        } else {
            2
        };
        format!("{:.digits$} %", 100.0 * (1.0 - libm::exp10(-at)))
    }

    /// Names of the groups of bars; none if there are none.
    pub fn groups(&self) -> &[String] {
        if let Self::Groups(groups) = self { groups } else { &[] }
    }
}

impl Chart {
    /// Every line once, in the order of the panels, the paper's last.
    pub fn legend(&self) -> Vec<&ChartLine> {
        let mut legend: Vec<&ChartLine> = Vec::new();
        for paper in [false, true] {
            for line in self.panels.iter().flat_map(|panel| &panel.lines).filter(|line| line.paper == paper) {
                if !legend.iter().any(|known| known.name == line.name) {
                    legend.push(line);
                }
            }
        }
        legend
    }

    /// Notes on what is not a line of an arm in a panel.
    pub fn notes_of(&self, panel: &ChartPanel) -> Vec<String> {
        let (value, (_, most_drawn)) = (panel.value, panel.extent());
        let against = panel.against.iter().map(|against| {
            let values = || against.points.iter().map(|(_, at)| *at);
            let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
            let name = &against.name;
            match (against.area, &against.points[..]) {
                (true, _) if most > most_drawn => {
                    format!("grey: {name}, {} at the most, beyond the frame", value(most))
                }
                (true, _) => format!("grey: {name}"),
                (false, [(_, at)]) => format!("dashed: {name}, {}", value(*at)),
                (false, _) => format!("dashed: {name}, {} at the most, {} at the least", value(most), value(least)),
            }
        });
        let hidden = panel.lines.iter().flat_map(|line| &line.points).any(|(_, at)| at.is_some_and(|at| at.at_least));
        let hidden = hidden.then(|| "arrows: time-outs hide the value, it is at least that".to_owned());
        let gaps = self.across.dense && panel.lines.iter().any(|line| !gaps(&line.points).is_empty());
        against.chain(hidden).chain(gaps.then(|| "dotted: too few requests ended to tell".to_owned())).collect()
    }
}

impl Default for ChartPanel {
    fn default() -> Self {
        let (title, unit) = (String::new(), String::new());
        Self { title, unit, log: false, against: vec![], lines: vec![], printed: vec![], value: digits }
    }
}

impl ChartPanel {
    /// Title with the unit.
    pub fn with_unit(&self) -> String {
        if self.unit.is_empty() { self.title.clone() } else { format!("{}, {}", self.title, self.unit) }
    }

    /// Values of all lines that are known.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.lines.iter().flat_map(|line| &line.points).filter_map(|(_, value)| Some((*value)?.at))
    }

    /// The least that is above zero and the most, of all values and what they are read against. An area may reach so high that
    /// lines would lie flat below it: then it goes beyond.
    pub fn extent(&self) -> (f64, f64) {
        let of = |area: bool| {
            self.against.iter().filter(move |of| of.area == area).flat_map(|of| &of.points).map(|(_, at)| *at)
        };
        let (least, most) = self.values().chain(of(false)).fold((f64::INFINITY, 0.0_f64), |(least, most), at| {
            (if at > 0.0 { least.min(at) } else { least }, most.max(at))
        });
        (least, most.max(of(true).fold(0.0, f64::max).min(1.6 * most)))
    }

    /// The upright axis.
    pub fn up(&self) -> Axis {
        let (least, most) = self.extent();
        if self.log { Axis::decades(least, most) } else { Axis::linear(least, most) }
    }

    /// Lines in the order of their bars: the paper's beside the one that it is to be held against.
    pub fn bars(&self) -> Vec<&ChartLine> {
        let mut lines: Vec<&ChartLine> = self.lines.iter().collect();
        lines.sort_by_key(|line| (line.colour.unwrap_or(usize::MAX), line.paper));
        lines
    }
}

impl Against {
    /// One value, dashed across.
    pub fn level(name: &str, at: f64) -> Self {
        Self { name: name.to_owned(), area: false, points: vec![(0.0, at)] }
    }
}

/// Gaps of a line: from the last value before to the first one after, or straight on to the end. A line never just
/// ends.
fn gaps(points: &[Point]) -> Vec<[(f64, f64); 2]> {
    let mut found = Vec::new();
    let mut last: Option<(usize, (f64, f64))> = None;
    for (number, (x, value)) in points.iter().enumerate() {
        let Some(value) = value else { continue };
        if let Some((before, from)) = last
            && before + 1 < number
        {
            found.push([from, (*x, value.at)]);
        }
        last = Some((number, (*x, value.at)));
    }
    if let (Some((number, from)), Some((end, _))) = (last, points.last())
        && number + 1 < points.len()
    {
        found.push([from, (*end, from.1)]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_never_just_ends() {
        let points: Vec<Point> = [None, Some(1.0), None, Some(3.0), Some(4.0), None, None]
            .iter()
            .zip(0..)
            .map(|(at, x)| (f64::from(x), at.map(Value::known)))
            .collect();
        assert_eq!(gaps(&points), [[(1.0, 1.0), (3.0, 3.0)], [(4.0, 4.0), (6.0, 4.0)]]);
        assert_eq!(gaps(&points[..1]), [[(0.0, 0.0); 2]; 0]);
    }
}
