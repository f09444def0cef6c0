//! Mechanisms: how a number that was decided is kept to.

mod line;
mod token_bucket;

pub(crate) use line::Line;
pub(crate) use token_bucket::{TokenBucket, TokenClock};
