//! Mechanisms that enforce a decision: a token bucket, and a queue of jobs that any job may leave.

mod job_queue;
mod token_bucket;

pub use job_queue::JobQueue;
pub use token_bucket::{TokenBucket, TokenClock};
