use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// A budget of memory for all answers together, however many connections they come on. Cloning gives another handle on
/// the same budget.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    bytes: usize,
    taken: AtomicUsize,
}

impl Budget {
    /// A budget of this many bytes.
    #[must_use]
    pub fn of(bytes: usize) -> Self {
        Self(Arc::new(Shared { bytes, taken: AtomicUsize::new(0) }))
    }

    /// A budget without limit.
    #[must_use]
    pub fn unbounded() -> Self {
        Self::of(usize::MAX)
    }

    /// The size of the budget in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Takes this many bytes, if as many are left.
    #[must_use]
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let more = |taken: usize| taken.checked_add(bytes).filter(|taken| *taken <= self.0.bytes);
        self.0.taken.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        self.0.taken.fetch_sub(bytes, Relaxed);
    }

    /// True if more than half of the budget is taken: then nobody should keep memory for later.
    pub(crate) fn is_short(&self) -> bool {
        self.0.taken.load(Relaxed) > self.0.bytes / 2
    }
}
