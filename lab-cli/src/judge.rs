//! What may be believed, and what was promised: [`gates`] judge the measurement, [`threshold`] judges the system.

pub mod compare;
pub mod fidelity;
pub mod gates;
pub mod threshold;
