//! A policy that admits everything, and writes down what it is told on this thread.

use std::{cell::RefCell, collections::VecDeque, time::Duration};

use controllers::{
    Ctx, Effect, Entry, Gauge, Grant, JobId, Machine, Offer, Outcome, Policy, Reason, Refusal, Seen, Tags, Timestamp,
    Verdict, catalogue::EntryKind, testing,
};

/// A request as the policy saw it; its end as user, outcome and milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) tags: Tags,
    pub(crate) end: Option<(u64, Outcome, u128)>,
}

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// What policies were told on this thread, since one was last made.
pub(crate) fn recorded() -> Vec<Line> {
    LINES.with_borrow(Clone::clone)
}

pub(crate) static RECORDER: Entry =
    testing::entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::new(Recorder::new()))));

#[derive(Debug)]
struct Recorder;

impl Recorder {
    fn new() -> Self {
        LINES.take();
        Self
    }
}

impl Machine for Recorder {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        if let Seen::Ended { tags, outcome, timing, .. } = seen {
            let end = (tags.user, *outcome, timing.ended.since(timing.started).as_millis());
            LINES.with_borrow_mut(|lines| lines.push(Line { tags: *tags, end: Some(end) }));
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("lines"), LINES.with_borrow(Vec::len) as f64);
    }
}

impl Policy for Recorder {
    fn offer(&mut self, _: &Offer, _: &mut Ctx<'_>) -> Verdict {
        Verdict::Admit(Grant::new(0))
    }
}

pub(crate) static IMPATIENT: Entry =
    testing::entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::<Impatient>::default())));

/// Holds each request for 50 ms, and refuses it then.
#[derive(Debug, Default)]
struct Impatient(VecDeque<(Timestamp, JobId)>);

impl Machine for Impatient {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        if let Seen::Left(gone) = seen {
            self.0.retain(|(_, id)| id != gone);
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.0.front().map(|(at, _)| *at)
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        while let Some((_, id)) = self.0.pop_front_if(|(at, _)| *at <= cx.now) {
            cx.effects.push(Effect::Refuse(id, Refusal::new(Reason::Waited)));
        }
    }

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for Impatient {
    fn offer(&mut self, offer: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.0.push_back((cx.now + Duration::from_millis(50), offer.id));
        Verdict::Hold
    }
}

pub(crate) static LATER: Entry =
    testing::entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::<Later>::default())));

/// Sends the first request back for 250 ms, and admits the others.
#[derive(Debug, Default)]
struct Later(bool);

impl Machine for Later {
    fn observe(&mut self, _: &Seen, _: &mut Ctx<'_>) {}

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for Later {
    fn offer(&mut self, _: &Offer, _: &mut Ctx<'_>) -> Verdict {
        if std::mem::replace(&mut self.0, true) {
            Verdict::Admit(Grant::new(0))
        } else {
            Verdict::ComeBack(Duration::from_millis(250))
        }
    }
}
