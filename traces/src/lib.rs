//! User models, and (later) traces of what real services saw.
#![warn(missing_docs)]

pub mod fit;
pub mod model;
pub mod span;
pub mod statistics;
pub mod think;

pub use fit::{RowFit, row_fits};
pub use model::{ModelError, PreviousPage, UserModel};
pub use statistics::Statistics;
pub use think::Think;
