//! What policies are held against: the best fixed limit, and the most that could have been done.

pub(super) mod best_static;
mod bound;
pub(super) mod offline;
