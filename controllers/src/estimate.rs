//! Estimators: the current state from a stream of facts.

mod ewma;
mod percentile;
mod running;
mod window;

pub(crate) use ewma::Ewma;
pub(crate) use percentile::PercentileOfN;
pub(crate) use running::Running;
pub(crate) use window::WindowCounts;
