//! User models, and (later) traces of what real services saw.
#![warn(missing_docs)]

pub mod model;
pub mod think;

pub use model::UserModel;
pub use think::Think;
