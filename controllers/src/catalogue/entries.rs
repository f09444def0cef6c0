//! The list itself.

use super::Entry;
use crate::baseline;

/// All entries, policies first.
pub(super) static ALL: &[Entry] = &[baseline::NONE];
