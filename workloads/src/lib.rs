//! Who sends.
#![warn(missing_docs)]

pub mod http1;
pub mod persona;
pub mod plan;
