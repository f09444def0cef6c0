//! Copies of lists that were made before: older than what is in the store, and cheaper (Google SRE, chapter 21: "rely on a local copy
//! of results that may not be fully up to date but that will be cheaper to use"). Shown where the list itself is refused, or a
//! policy asks for less than full quality.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::mail::store::{Folder, FolderId, ListOrder, Listed, UserId};

/// Most copies that are kept: some 5 KB each.
const MOST: usize = 10_000;

/// The copies. Each belongs to one user, and nobody else is shown it.
#[derive(Debug)]
pub(super) struct Copies {
    /// Oldest that is shown; zero: none is kept.
    oldest: Duration,
    kept: Mutex<HashMap<Which, Copy>>,
}

/// Whose list, of what, in which order, from which row on.
pub(super) type Which = (UserId, FolderId, ListOrder, u32);

/// A list as it was.
#[derive(Debug, Clone)]
pub(super) struct Copy {
    made: Instant,
    pub(super) folders: Arc<[Folder]>,
    pub(super) rows: Arc<[Listed]>,
}

impl Copies {
    pub(super) fn new(oldest: Duration) -> Self {
        Self { oldest, kept: Mutex::default() }
    }

    /// Keeps a list that was just read from the store.
    pub(super) fn keep(&self, which: Which, folders: &[Folder], rows: &[Listed], now: Instant) {
        if self.oldest.is_zero() {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST && !kept.contains_key(&which) {
            kept.retain(|_, copy| now.duration_since(copy.made) <= self.oldest);
            if kept.len() >= MOST {
                return;
            }
        }
        kept.insert(which, Copy { made: now, folders: folders.into(), rows: rows.into() });
    }

    /// The list as it was, if that was not too long ago.
    pub(super) fn find(&self, which: &Which, now: Instant) -> Option<Copy> {
        if self.oldest.is_zero() {
            return None;
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(which).filter(|copy| now.duration_since(copy.made) <= self.oldest).cloned()
    }
}
