//! Who sends.
#![warn(missing_docs)]

pub mod persona;
pub mod plan;
