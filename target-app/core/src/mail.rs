//! Arashi without its database and pages: request types, stages, weights, the work knob, and the sizes of generated mail.

mod corpus;
mod quality;
mod route;
mod work_knob;

pub use corpus::{CorpusSpec, OTHER_FOLDERS, accounts, lognormal, stored};
pub use quality::{Quality, newest};
pub use route::{KINDS, Page, graph, route, set_work, turns};
pub use work_knob::WorkKnob;
