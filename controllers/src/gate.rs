//! Mechanisms that enforce a limit or a rate.

mod line;
mod token_bucket;

pub(crate) use line::Line;
pub(crate) use token_bucket::{TokenBucket, TokenClock};
