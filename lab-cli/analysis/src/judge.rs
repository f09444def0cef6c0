//! Judgement of a run: [`gates`] judge the measurement, [`threshold`] judges the system, [`claims`] what a paper says of it;
//! [`measures`] is what a run says beside its counts and times.

pub mod claims;
pub mod compare;
mod decision;
pub mod fidelity;
pub mod gates;
mod identical;
pub mod measures;
pub mod steady;
pub mod threshold;
mod void;

pub use decision::decision;
pub use identical::identical;
