//! The baselines of comparisons: no control, and fixed limits.

mod concurrency;
mod connections;
mod fixed_rate;
mod none;
mod queue_length;

pub(crate) use concurrency::CONCURRENCY;
pub(crate) use connections::CONNECTIONS;
pub(crate) use fixed_rate::FIXED_RATE;
pub(crate) use none::NONE;
pub(crate) use queue_length::QUEUE_LENGTH;
