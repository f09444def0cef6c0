//! The figure of an artefact: what an experiment file says is drawn, and what it comes to in a run.
//!
//! A figure has panels under each other, over one axis: the load of phases, time, request types, or phases by name. In a panel
//! every line (or row of bars) is a measure of an arm, in the language of thresholds. Beside them are the curves of the paper,
//! which are numbers in the file.

mod evaluate;
pub mod merit;
mod plan;
#[cfg(test)]
mod tests;

pub use evaluate::drawn;
pub use plan::{FigurePlan, Limit, MeasurePlan, Over, PanelPlan, PaperCurve};
