//! What every policy is compared with: nothing, and limits that a person sets by hand.

mod none;

pub(crate) use none::NONE;
