//! Synthetic services for measurements: emulated service times, and the checksum service with its quality knob.

mod checksum;
mod emulated;

pub use checksum::{Checksum, ChecksumError};
pub use emulated::Emulated;
