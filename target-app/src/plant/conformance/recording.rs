//! A policy that writes down each call of the one in it. One run at a time on each thread.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use controllers::{Ctx, Effect, Gauge, Machine, Offer, Policy, Seen, SiteId, Timestamp, Verdict};

/// In what a driver of the test differs on purpose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Difference {
    /// Two requests change places.
    Order,
    /// A fact is not told.
    Facts,
    /// An effect is lost.
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

/// What was recorded.
pub(super) fn end() -> BTreeMap<SiteId, Vec<String>> {
    DIFFERS.set(None);
    CALLS.take()
}

/// Goes round each policy that is made.
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
            // Whatever was wanted on this occasion is lost.
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
