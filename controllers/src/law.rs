//! Feedback laws: from an error to a new setting. They know nothing of buckets, queues or jobs.

mod aimd;
mod pid;

pub(crate) use aimd::{Aimd, Direction, Increase};
pub(crate) use pid::Pid;
