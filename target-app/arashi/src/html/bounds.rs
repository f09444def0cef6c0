//! Bounds of HTML that is cleaned.

/// The longest HTML that is cleaned, in bytes. Five times the length at which large mail services cut a message off.
pub const MAX_BYTES: usize = 512 << 10;

/// The deepest nesting that is cleaned, in elements.
pub const MAX_DEPTH: usize = 512;
/// The largest number of attributes of a tag.
pub const MAX_ATTRIBUTES: usize = 1000;
/// The largest number of steps for a message's HTML, over all rounds of cleaning: some 10 ns each, including the
/// cleaning.
pub const MAX_WORK: usize = 8_000_000;
