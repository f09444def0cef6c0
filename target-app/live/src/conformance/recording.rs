//! A policy that records each call of its inner policy. One run at a time on each thread.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use controllers::{Ctx, Effect, Gauge, Machine, Offer, Policy, Seen, SiteId, Timestamp, Verdict};

/// A deliberate difference of a driver in the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Difference {
    /// Two requests are swapped.
    Order,
    /// A fact is dropped.
    Facts,
    /// An effect is dropped.
    Effects,
}

thread_local! {
    static CALLS: RefCell<BTreeMap<SiteId, Vec<String>>> = const { RefCell::new(BTreeMap::new()) };
    static DIFFERS: Cell<Option<Difference>> = const { Cell::new(None) };
}

/// Begins to record.
pub(super) fn begin(differs: Option<Difference>) {
    CALLS.with_borrow_mut(BTreeMap::clear);
    DIFFERS.set(differs);
}

/// Ends the recording, and returns it.
pub(super) fn end() -> BTreeMap<SiteId, Vec<String>> {
    DIFFERS.set(None);
    CALLS.take()
}

/// Wraps each policy.
pub(super) fn wrap(site: SiteId, inner: Box<dyn Policy>) -> Box<dyn Policy> {
    Box::new(Recording { site, inner })
}

#[derive(Debug)]
struct Recording {
    site: SiteId,
    inner: Box<dyn Policy>,
}

impl Recording {
    fn write(&self, cx: &Ctx<'_>, call: &str) {
        let line = format!(
            "{:?} (wall {}, {} in flight, {} held): {call}, wants {:?}",
            cx.now, cx.wall.0, cx.in_flight, cx.held, cx.effects
        );
        CALLS.with_borrow_mut(|calls| calls.entry(self.site).or_default().push(line));
    }
}

impl Machine for Recording {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        if DIFFERS.get() == Some(Difference::Facts) && matches!(seen, Seen::Batch { .. }) {
            return;
        }
        self.inner.observe(seen, cx);
        if DIFFERS.get() == Some(Difference::Effects) && matches!(seen, Seen::Room(_)) {
            // The effects of this call are dropped.
            let mut kept: Vec<Effect> = Vec::new();
            while let Some(effect) = cx.effects.pop() {
                kept.push(effect);
            }
            kept.into_iter().skip(1).for_each(|effect| cx.effects.push(effect));
        }
        self.write(cx, &format!("{seen:?}"));
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.inner.next_wake()
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.inner.wake(cx);
        self.write(cx, "wake");
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        self.inner.gauges(visit);
    }
}

impl Policy for Recording {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        let verdict = self.inner.offer(job, cx);
        self.write(cx, &format!("{job:?} is told {verdict:?}"));
        verdict
    }
}
