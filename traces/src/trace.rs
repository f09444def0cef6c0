//! Traces: the requests to a service with time, user and outcome, as a stream of JSON lines.
//!
//! The first line describes the trace ([`Header`]), the last confirms that it is complete and how it was made
//! ([`Footer`]); each line between them is a [`Record`], in the order of offsets. Files can be compressed with zstd or
//! gzip ([`crate::pack`]). Readers and writers hold one line in memory. `docs/traces.md` describes the format.

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

/// The longest line, bytes: names and the import's account in the last line are bounded. Longer lines are neither read
/// nor written.
const LONGEST_LINE: usize = 1 << 20;

#[cfg(test)]
mod tests;
