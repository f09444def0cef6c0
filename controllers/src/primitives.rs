//! Mechanisms that enforce a decision: a token bucket, a queue of jobs that any job may leave, and a set of jobs.

mod job_queue;
mod job_set;
mod token_bucket;

pub use job_queue::JobQueue;
pub(crate) use job_set::JobSet;
pub use token_bucket::{TokenBucket, TokenClock};
