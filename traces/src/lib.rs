//! User models, and (later) traces of what real services saw.
#![warn(missing_docs)]

pub mod model;

pub use model::{Think, UserModel};
