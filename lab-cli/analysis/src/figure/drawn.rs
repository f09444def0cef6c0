//! A figure with its values: what a terminal and a page draw.

use serde::{Deserialize, Serialize};

use super::plan::Limit;
use crate::series::value::Value;

/// A figure.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DrawnFigure {
    /// Title, with the experiment's name.
    pub title: String,
    /// Axis to the right.
    pub across: FigureAxis,
    /// Panels from above to below.
    pub panels: Vec<DrawnPanel>,
    /// Notes for a reader, sentence by sentence.
    pub notes: Vec<String>,
}

/// The axis to the right.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FigureAxis {
    /// Title with its unit.
    pub title: String,
    /// Scale and its range.
    pub scale: Scale,
    /// Points are joined to lines.
    pub joined: bool,
    /// Beginnings of phases, with their names.
    pub walls: Vec<(f64, String)>,
}

/// Scale of an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Linear, from and to.
    Linear([f64; 2]),
    /// Logarithmic, with ticks at these values.
    Log(Vec<f64>),
    /// Groups of bars.
    Groups(Vec<String>),
}

/// A panel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DrawnPanel {
    /// Title with its unit.
    pub title: String,
    /// Drawn by factors of ten.
    pub log: bool,
    /// Value that all others are held against.
    pub limit: Option<Limit>,
    /// The paper's last.
    pub lines: Vec<DrawnLine>,
    /// Numbers that the paper prints and draws nowhere, in the panel's unit.
    pub printed: Vec<PaperNumber>,
}

/// A line, or a bar in each group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DrawnLine {
    /// Name in the legend.
    pub name: String,
    /// The number of its colour; `None`: that of no line.
    pub colour: Option<usize>,
    /// It is the paper's.
    pub paper: bool,
    /// A curve through the points of the line of this colour.
    pub fitted: bool,
    /// Places and values; without a value the line has a gap. Places of bars: the number of the group.
    pub points: Vec<(f64, Option<Value>)>,
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

impl FigureAxis {
    /// Names of the groups of bars; none if there are none.
    pub fn groups(&self) -> &[String] {
        if let Scale::Groups(groups) = &self.scale { groups } else { &[] }
    }
}

impl DrawnFigure {
    /// Every line once, in the order of the panels, the paper's last.
    pub fn legend(&self) -> Vec<&DrawnLine> {
        let mut legend: Vec<&DrawnLine> = Vec::new();
        for paper in [false, true] {
            for line in self.panels.iter().flat_map(|panel| &panel.lines).filter(|line| line.paper == paper) {
                if !legend.iter().any(|known| known.name == line.name) {
                    legend.push(line);
                }
            }
        }
        legend
    }

    /// True if no line has a value.
    pub fn is_empty(&self) -> bool {
        let ours = self.panels.iter().flat_map(|panel| &panel.lines).filter(|line| !line.paper);
        ours.flat_map(|line| &line.points).all(|(_, value)| value.is_none())
    }
}

impl DrawnPanel {
    /// The least that is above zero and the most, of all values and the limit.
    pub fn extent(&self) -> (f64, f64) {
        let values = self.lines.iter().flat_map(|line| &line.points).filter_map(|(_, value)| Some((*value)?.at));
        let all = values.chain(self.limit.as_ref().map(|limit| limit.at));
        all.fold((f64::INFINITY, 0.0), |(least, most), at| {
            (if at > 0.0 { f64::min(least, at) } else { least }, f64::max(most, at))
        })
    }
}
