//! Traces: what a service was asked, when, by whom, and what became of it; as a stream of JSON lines.
//!
//! The first line says what the trace is ([`Header`]), the last that it is whole and how it was made ([`Footer`]); between
//! them stands one [`Record`] a line, in the order of their offsets. Files may be packed with zstd or gzip
//! ([`crate::pack`]). Nothing here holds more than a line in memory. `docs/traces.md` describes the format for people.

mod frame;
mod read;
mod record;
mod write;

pub use frame::{Footer, Header, Names, SomeLine};
pub use read::{Reader, TraceError};
pub use record::{ACTIONS, LEAVE, LOGIN, LONGEST_NAME, Record, RecordOutcome, Totals, split_object};
pub use write::Writer;

/// The version of the format that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// Longest line, in bytes: names have bounds, and so has the account of an import in the last line. Longer ones are neither read nor
/// written.
const LONGEST_LINE: usize = 1 << 20;

#[cfg(test)]
mod tests;
