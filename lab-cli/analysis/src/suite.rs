//! Policies over many scenarios: a matrix of scores, each from the summary of a run.

mod matrix;
mod regress;
mod score;
mod tuned;

pub use matrix::{SUITE_SCHEMA, SuiteCell, SuiteMatrix, SuiteRow, SuiteScenario};
pub use regress::{NOISE, WorseCell, worse};
pub use score::{cell_of, cells, no_cell};
pub use tuned::{TunedRow, TunedSuite};
