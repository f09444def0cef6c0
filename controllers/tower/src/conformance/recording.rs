//! What a host did, and a policy that writes down all that it is told and asked.

use std::{cell::Cell, cell::RefCell, collections::BTreeMap, sync::Arc};

use controllers::{
    Ctx, Entry, Gauge, Machine, Note, Offer, Policy, Reason, RetryHint, Seen, Timestamp, Verdict,
    catalogue::{EntryKind, Make, ParamReader, Sampling, Source},
};

/// What was decided about a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    In,
    Refused(Option<Reason>, RetryHint, Option<Note>),
}

/// The gauges after a step; the policy's own as bits, which compare equal if they are not numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Numbers {
    pub(super) offered: u64,
    pub(super) admitted: u64,
    pub(super) refused: u64,
    pub(super) left: u64,
    pub(super) in_flight: u64,
    pub(super) held: u64,
    pub(super) contradictions: u64,
    pub(super) policy: BTreeMap<String, u64>,
}

#[derive(Debug, Default)]
pub(super) struct Record {
    /// Time, request, decision.
    pub(super) decisions: Vec<(Timestamp, usize, Decision)>,
    pub(super) facts: Vec<String>,
    pub(super) numbers: Vec<Numbers>,
    pub(super) most_held: u64,
}

impl Record {
    /// The first entry that the two do not share.
    pub(super) fn first_difference(&self, other: &Self) -> Option<String> {
        first(&self.facts, &other.facts)
            .or_else(|| first(&self.decisions, &other.decisions))
            .or_else(|| first(&self.numbers, &other.numbers))
    }
}

fn first<T: PartialEq + std::fmt::Debug>(one: &[T], other: &[T]) -> Option<String> {
    let at = (0..one.len().max(other.len())).find(|&at| one.get(at) != other.get(at))?;
    Some(format!("entry {at}: {:?}, and {:?}", one.get(at), other.get(at)))
}

type Read = fn(&mut ParamReader<'_>) -> Make<dyn Policy>;

thread_local! {
    static READ: Cell<Option<Read>> = const { Cell::new(None) };
    static FACTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What policies were told on this thread, since this was last asked.
pub(super) fn facts() -> Vec<String> {
    FACTS.take()
}

/// The entry whose policies write down what they are told. It is read before the next one is made.
pub(super) fn recorded(like: &'static Entry) -> &'static Entry {
    fn read(reader: &mut ParamReader<'_>) -> Make<dyn Policy> {
        let make = READ.get().expect("an entry is recorded before it is read")(reader);
        Arc::new(move |site| Box::new(Recorded(make(site))))
    }

    let Entry { name, about, caution, ref source, deviations, places, presets, samples, roles, kind } = *like;
    let source = Source { title: source.title, place: source.place };
    let (inner, kind) = match kind {
        EntryKind::Policy(inner) => (inner, EntryKind::Policy(read)),
        EntryKind::Discipline(inner) => (inner, EntryKind::Discipline(read)),
        EntryKind::Machine(_) | EntryKind::Bound(_) => panic!("{name} is no policy"),
    };
    READ.set(Some(inner));
    Box::leak(Box::new(Entry { name, about, caution, source, deviations, places, presets, samples, roles, kind }))
}

#[derive(Debug)]
struct Recorded(Box<dyn Policy>);

impl Recorded {
    fn note(cx: &Ctx<'_>, what: impl std::fmt::Debug) {
        let (now, in_flight, held) = (cx.now.as_nanos(), cx.in_flight, cx.held);
        FACTS.with_borrow_mut(|facts| facts.push(format!("{now} ns, {in_flight} in, {held} held: {what:?}")));
    }
}

impl Machine for Recorded {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        Self::note(cx, seen);
        self.0.observe(seen, cx);
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.0.next_wake()
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        Self::note(cx, "wake");
        self.0.wake(cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        self.0.gauges(visit);
    }

    fn samples(&self) -> &[Sampling] {
        self.0.samples()
    }
}

impl Policy for Recorded {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        Self::note(cx, job);
        self.0.offer(job, cx)
    }
}
