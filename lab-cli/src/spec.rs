//! Experiment files: as written ([`raw`]), as meant ([`plan`]), and what is wrong with them ([`problem`]).

pub mod arms;
mod classes;
mod client;
pub mod fields;
pub mod hindsight;
pub mod library;
mod named_file;
pub mod own_target;
pub mod plan;
pub mod problem;
pub mod raw;
mod read;
pub mod recording;
mod refusal;
pub mod schema;
mod set;
pub mod simulation;
mod target;
mod thresholds;
pub mod tree;
mod users;

pub use library::Library;
pub use plan::Experiment;
pub use read::{Changes, read};
