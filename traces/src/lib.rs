//! Traces of what services saw, and models of the users behind them.
//!
//! [`trace`] is the stream format; [`import()`] makes traces from logs, [`model`] is what users walk by.
#![warn(missing_docs)]

pub mod fit;
pub mod import;
pub mod lines;
pub mod model;
pub mod pack;
pub mod pseudonym;
pub mod span;
pub mod spool;
pub mod statistics;
pub mod think;
pub mod trace;

pub use fit::{RowFit, row_fits};
pub use import::import;
pub use model::{ModelError, PreviousPage, UserModel};
pub use statistics::Statistics;
pub use think::Think;
