//! Traces of requests to services, and models of their users.
//!
//! [`trace`] is the stream format; [`import()`] makes traces from logs, [`learn()`] models from traces, [`generate`]
//! traces from models; [`inspect`] summarises a trace, [`anonymize()`] removes identities.
#![warn(missing_docs)]

pub mod anonymize;
pub mod fit;
pub mod generate;
pub mod import;
pub mod inspect;
pub mod learn;
pub mod lines;
pub mod model;
mod names;
pub mod pack;
mod previous_page;
pub mod pseudonym;
pub mod regroup;
pub mod span;
pub mod spool;
pub mod spread;
pub mod statistics;
mod tally;
pub mod think;
pub mod trace;
pub mod web;

pub use anonymize::anonymize;
pub use fit::{RowFit, row_fits, second_fits};
pub use import::import;
pub use learn::learn;
pub use model::{ModelError, UserModel};
pub use previous_page::PreviousPage;
pub use statistics::Statistics;
pub use think::Think;
