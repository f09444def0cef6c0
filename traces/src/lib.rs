//! Traces of requests to services, and models of their users.
//!
//! [`trace`] is the stream format; [`learn()`] makes models from traces, [`generate`] traces from models; [`inspect`]
//! summarises a trace, [`anonymize()`] removes identities.
#![warn(missing_docs)]

pub mod anonymize;
pub mod fit;
pub mod generate;
pub mod inspect;
pub mod learn;
mod left_out;
pub mod lines;
pub mod model;
pub mod names;
pub mod pack;
mod previous_page;
pub mod pseudonym;
pub mod regroup;
pub mod span;
pub mod spool;
pub mod spread;
pub mod statistics;
pub mod tally;
pub mod think;
pub mod trace;

pub use anonymize::anonymize;
pub use fit::{RowFit, row_fits, second_fits};
pub use learn::learn;
pub use left_out::LeftOut;
pub use model::{ModelError, UserModel};
pub use previous_page::PreviousPage;
pub use statistics::Statistics;
pub use think::Think;
