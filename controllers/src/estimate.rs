//! Estimators: the current state from a stream of facts.

mod ewma;
mod need;
mod percentile;
mod running;
mod window;

pub use ewma::Ewma;
pub use need::needed;
pub use percentile::PercentileOfN;
pub use running::RunningJobs;
pub use window::WindowCounts;
