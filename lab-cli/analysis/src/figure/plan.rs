//! The figure of an experiment as its file declares it, and the lines that follow from that.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::judge::threshold::Threshold;

/// Quantity of the axis to the right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The load that was planned: a point is a phase.
    Load,
    /// Seconds from the beginning of an arm.
    Time,
    /// Request types, as bars.
    Types,
    /// Arms, as bars.
    Arms,
    /// Phases by name, as bars.
    #[default]
    Phases,
}

impl Over {
    /// Drawn as bars, in groups by name.
    pub fn is_of_groups(self) -> bool {
        matches!(self, Self::Types | Self::Arms | Self::Phases)
    }
}

/// A figure, as an experiment file declares it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FigurePlan {
    /// Quantity of the axis to the right.
    pub over: Over,
    /// Drawn by factors, not by differences; of the load alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub log: bool,
    /// Arms that are drawn; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<String>,
    /// Phases that are drawn; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<String>,
    /// Title of the axis to the right; `None`: that of its quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub across: Option<String>,
    /// Points of a load are not joined.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scatter: bool,
    /// A cubic is drawn through the points of each line.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cubic: bool,
    /// Request types that are drawn, where they go to the right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Share of each phase that is left out at its beginning.
    pub skip: f64,
    /// Panels from above to below.
    pub panels: Vec<PanelPlan>,
    /// Note for a reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A panel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PanelPlan {
    /// Title without the unit.
    pub title: String,
    /// Unit of the values; of times it is always the second.
    pub unit: String,
    /// Drawn by factors of ten.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub log: bool,
    /// Value that all others are held against, in the unit of the panel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Arms that are drawn; empty: those of the figure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<String>,
    /// Phases that are drawn, where types or arms go to the right; empty: those of the figure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<String>,
    /// Measure that goes to the right in place of the planned load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// Measures of each arm.
    pub draw: Vec<MeasurePlan>,
    /// The paper's own curves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paper: Vec<PaperCurve>,
    /// Numbers that the paper prints and draws nowhere: by name a threshold `ours == the paper's`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub printed: BTreeMap<String, String>,
}

/// Value that others are held against.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Name: the target, the capacity.
    pub name: String,
    /// Value in the unit of the panel.
    pub at: f64,
}

/// A measure of a panel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasurePlan {
    /// Name that tells it from the others of its panel; empty if it is the only one.
    pub name: String,
    /// A [`PhaseMeasure`](crate::judge::threshold::PhaseMeasure).
    pub measure: String,
}

/// A curve of the paper.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PaperCurve {
    /// Name with the source of its numbers: `paper, no control (digitised)`.
    pub name: String,
    /// The line that it is compared with, as the legend names it: it is drawn in the same colour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// Places on the axis (of bars, from 0 in their order) and values, in the unit of the panel.
    pub points: Vec<[f64; 2]>,
}

impl FigurePlan {
    /// Figure of an experiment that declares none: bars by phase.
    pub fn undeclared() -> Self {
        let panel = |title: &str, log: bool, measure: &str| PanelPlan {
            title: title.to_owned(),
            log,
            draw: vec![MeasurePlan { name: String::new(), measure: measure.to_owned() }],
            ..PanelPlan::default()
        };
        Self {
            panels: vec![
                PanelPlan { unit: "requests/s".to_owned(), ..panel("goodput", false, "goodput") },
                panel("90th percentile of response times", true, "response_time.p90"),
                panel("share of requests rejected", false, "reject_fraction"),
            ],
            ..Self::default()
        }
    }

    /// True if it is made from parts of phases.
    pub fn reads_parts(&self) -> bool {
        let mut printed = self.panels.iter().flat_map(|panel| panel.printed.values());
        let of_part = |equation: &String| Threshold::parse(equation).is_ok_and(|threshold| threshold.reads_parts());
        self.over == Over::Time || self.skip > 0.0 || printed.any(of_part)
    }

    /// Arms that are drawn in a panel, in the order given.
    pub(super) fn arms_of<'a>(&self, panel: &PanelPlan, arms: &[&'a str]) -> Vec<&'a str> {
        let drawn = if panel.arms.is_empty() { &self.arms } else { &panel.arms };
        chosen(drawn, arms)
    }

    /// The same of phases.
    pub(super) fn phases_of<'a>(&self, panel: &PanelPlan, phases: &[&'a str]) -> Vec<&'a str> {
        let drawn = if panel.phases.is_empty() { &self.phases } else { &panel.phases };
        chosen(drawn, phases)
    }

    /// The names of a panel's lines, of an experiment with these arms and phases.
    pub fn line_names(&self, panel: &PanelPlan, arms: &[&str], phases: &[&str]) -> Vec<String> {
        let arms = self.arms_of(panel, arms);
        let phases = self.phases_of(panel, phases);
        let lines = self.lines(panel, &arms, &phases);
        lines.into_iter().map(|line| line.name).collect()
    }

    /// A panel's lines: arms (unless they go to the right) by measures, and by phases where types or arms go to the right. A line is
    /// named by what tells it from the others: `seda, high class`.
    pub(super) fn lines<'a>(&self, panel: &'a PanelPlan, arms: &[&'a str], phases: &[&'a str]) -> Vec<PlannedLine<'a>> {
        let by_arm = self.over != Over::Arms;
        let by_phase = matches!(self.over, Over::Types | Over::Arms);
        let each = |names: &[&'a str], are: bool| {
            if are { names.iter().map(|&name| Some(name)).collect() } else { vec![None] }
        };
        let mut lines = Vec::new();
        for arm in each(arms, by_arm) {
            for measure in &panel.draw {
                for phase in each(phases, by_phase) {
                    let measured = Some(measure.name.as_str()).filter(|name| !name.is_empty());
                    let of_phase = phase.filter(|_| phases.len() > 1);
                    let of_arm = arm.filter(|_| arms.len() > 1 || measured.is_none());
                    let parts: Vec<&str> = [of_arm, measured, of_phase].into_iter().flatten().collect();
                    let name = if parts.is_empty() { panel.title.clone() } else { parts.join(", ") };
                    lines.push(PlannedLine { name, arm, measure, phase });
                }
            }
        }
        lines
    }
}

/// A line before it has its values.
pub(super) struct PlannedLine<'a> {
    pub name: String,
    /// `None`: arms go to the right.
    pub arm: Option<&'a str>,
    pub measure: &'a MeasurePlan,
    /// Name of its only phase, if it has one.
    pub phase: Option<&'a str>,
}

/// Names that are chosen, in the order of `of`; all if none is.
fn chosen<'a>(named: &[String], of: &[&'a str]) -> Vec<&'a str> {
    of.iter().copied().filter(|name| named.is_empty() || named.iter().any(|known| known == name)).collect()
}
