//! Synthetic services for measurements: emulated service times, and the checksum service with its quality knob.

mod checksum;
mod emulated;
mod law;
pub(crate) mod server_model;

pub use checksum::{Checksum, ChecksumError};
pub(crate) use emulated::CHEAPEST;
pub use emulated::Emulated;
pub use law::{Law, LawError};
