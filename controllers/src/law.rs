//! Feedback laws: from an error to a new setting, independent of buckets, queues and jobs.

mod aimd;
mod pid;

pub(crate) use aimd::{Aimd, Direction, Increase};
pub(crate) use pid::Pid;
