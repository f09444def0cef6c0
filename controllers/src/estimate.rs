//! Measuring: what a stream of facts says about now.

mod ewma;
mod percentile;
mod running;

pub(crate) use ewma::Ewma;
pub(crate) use percentile::PercentileOfN;
pub(crate) use running::Running;
