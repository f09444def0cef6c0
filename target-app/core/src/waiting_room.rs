//! How tokens of a waiting room travel, and how the machine sees them.

pub mod carried;
pub mod tokens;
