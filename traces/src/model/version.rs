//! Versions of the file.

/// The newest version of the file. Version 2 added `think_to` and `second`; files of version 1, or without a version,
/// are still read.
pub const VERSION: u32 = 2;

pub(super) fn first() -> u32 {
    1
}

/// By reference, as serde requires.
pub(super) fn is_first(version: &u32) -> bool {
    *version == first()
}
