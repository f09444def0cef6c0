//! The baselines of comparisons: no control, fixed limits, and what the papers name beside their own.

mod concurrency;
mod connections;
mod fixed_rate;
mod none;
mod queue_length;
mod red;
mod sessions;

pub(crate) use concurrency::CONCURRENCY;
pub(crate) use connections::CONNECTIONS;
pub(crate) use fixed_rate::FIXED_RATE;
pub(crate) use none::NONE;
pub(crate) use queue_length::QUEUE_LENGTH;
pub(crate) use red::RED;
pub(crate) use sessions::SESSIONS;
