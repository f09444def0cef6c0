//! Measuring: what a stream of facts says about now.

mod ewma;
mod percentile;
mod running;
mod window;

pub(crate) use ewma::Ewma;
pub(crate) use percentile::PercentileOfN;
pub(crate) use running::Running;
pub(crate) use window::WindowCounts;
