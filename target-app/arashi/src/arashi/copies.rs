//! Copies of earlier lists: older than the store's data, and cheaper (Google SRE, chapter 21: "rely on a local copy of
//! results that may not be fully up to date but that will be cheaper to use"). They are shown where the list itself is
//! refused, or a policy asks for less than full quality.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::store::{Folder, FolderId, ListOrder, Listed, UserId};

/// The largest number of copies: some 5 KB each.
const MOST: usize = 10_000;

/// The copies. Each belongs to one user, and is shown to no other.
#[derive(Debug)]
pub(super) struct Copies {
    /// The largest age of a copy that is shown; zero: none is kept.
    oldest: Duration,
    kept: Mutex<HashMap<ListKey, Copy>>,
}

/// The key of a list: user, folder, order, first row.
pub(super) type ListKey = (UserId, FolderId, ListOrder, u32);

/// A copy of a list.
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
    pub(super) fn keep(&self, which: ListKey, folders: &[Folder], rows: &[Listed], now: Instant) {
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

    /// The copy of the list, if it is new enough.
    pub(super) fn find(&self, which: &ListKey, now: Instant) -> Option<Copy> {
        if self.oldest.is_zero() {
            return None;
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(which).filter(|copy| now.duration_since(copy.made) <= self.oldest).cloned()
    }
}
