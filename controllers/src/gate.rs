//! Mechanisms that enforce a limit or a rate.

mod job_queue;
mod token_bucket;

pub(crate) use job_queue::JobQueue;
pub(crate) use token_bucket::{TokenBucket, TokenClock};
