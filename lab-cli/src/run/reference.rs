//! References for policies: the best fixed limit, and the most that could have been done.

pub(super) mod best_static;
mod blind;
mod bound;
pub(super) mod offline;
mod phase_load;
pub(super) mod supply;
