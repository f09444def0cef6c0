//! Experiment files: as written ([`raw`]), as meant ([`plan`]), and what is wrong with them ([`problem`]); from there to what a
//! target is and what is sent to it ([`resolve`]).
//!
//! Files are read, and nothing else is done: no clock, no process, no network (`clippy.toml` beside this crate enforces it).

pub mod arms;
mod calls;
mod client;
mod combinations;
mod costs;
mod exported_metrics;
pub mod fields;
mod figure;
pub mod hindsight;
mod interaction;
mod keys;
mod label;
pub mod library;
mod load;
mod mail;
mod model;
mod named_file;
mod own_arm;
mod own_proxy;
mod own_service;
mod own_target;
mod paths;
mod pauses;
pub mod plan;
pub mod plan_digest;
mod platform;
mod policy;
mod policy_schema;
pub mod problem;
mod proxy_arm;
mod rate;
pub mod raw;
mod read;
mod recorded_requests;
pub mod recording;
pub mod reference;
mod refusal;
mod refusal_marks;
pub mod resolve;
pub mod schema;
mod script;
mod set;
pub mod settable;
pub mod simulation;
mod stage;
mod target;
mod thresholds;
mod tree;
mod users;
mod waiting_room;
mod written;

pub use library::Library;
pub use paths::from_file as read_requests;
pub use plan::Experiment;
pub use read::{Changes, Repeat, read};
pub use recorded_requests::FileRequests;
pub use written::{WrittenArm, written, written_arms};
