//! Mechanisms: how a number that was decided is kept to.

mod token_bucket;

pub(crate) use token_bucket::{TokenBucket, TokenClock};
