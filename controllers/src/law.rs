//! Feedback laws: from an error to a new setting, independent of buckets, queues and jobs.

mod aimd;
mod pid;

pub use aimd::{Aimd, AimdStep, Increase};
pub use pid::Pid;
