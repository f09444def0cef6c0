//! Client-side policies of a plan, and the note that rides on requests and replies.

pub use controllers::site::{Asked, ClientGauges, Clients, Decided, Member, Pass};
use controllers::{Note, catalogue::Problem};

use crate::plan::ClientSpec;

/// The note in the value of this header; `None` if it is invalid.
#[must_use]
pub fn note(value: &[u8]) -> Option<Note> {
    std::str::from_utf8(value).ok()?.trim().parse().ok().map(Note)
}

/// The policies that this spec names. `seed`: root of their randomness.
///
/// # Errors
/// See [`ClientSpec::resolve`].
pub fn clients<J>(spec: &ClientSpec, seed: u64) -> Result<Clients<J>, Vec<Problem>> {
    let (entry, values) = spec.resolve()?;
    Ok(Clients::new(entry, values, spec.scope, spec.objective, seed))
}
