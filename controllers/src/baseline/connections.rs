//! A fixed limit on connections, the load control of servers without measurement.

use std::collections::VecDeque;

use crate::{
    Ctx, Effect, Entry, Gauge, Grant, JobId, Machine, Offer, Place, Policy, Seen, Verdict,
    entry::{EntryKind, Source, count, params},
};

params! {
    struct ConnectionsParams {
        max: u32 = count(1..=1_000_000, 128), "most connections at once", "the lab's choice";
        #[expect(dead_code, reason = "the listener asks the factory for this setting")]
        backlog: u32 = count(0..=65_535, 16),
            "length of the kernel's queue of connections that were not accepted, for the listener to ask for",
            "the lab's choice: small, so that SYNs are dropped as in the paper's run";
    }
}

/// Admits up to `max` connections and holds the next. At accept the listener offers *before* it accepts a connection,
/// so a held offer means: stop accepting. Connections then queue in the kernel, whose backlog overflows, and clients
/// wait through TCP's exponential back-off without an answer (USITS'03, section 4.4).
#[derive(Debug)]
struct Connections {
    max: u32,
    held: VecDeque<JobId>,
}

impl Connections {
    fn release(&mut self, cx: &mut Ctx<'_>) {
        let mut room = self.max.saturating_sub(cx.in_flight);
        while room > 0
            && let Some(id) = self.held.pop_front()
        {
            cx.effects.push(Effect::Release(id, Grant::default()));
            room -= 1;
        }
    }
}

impl Machine for Connections {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        if let Seen::Left(gone) = seen {
            self.held.retain(|id| id != gone);
        }
        self.release(cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("limit"), f64::from(self.max));
    }
}

impl Policy for Connections {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        if self.held.is_empty() && cx.in_flight < self.max {
            return Verdict::Admit(Grant::default());
        }
        self.held.push_back(job.id);
        Verdict::Hold
    }
}

pub(crate) const CONNECTIONS: Entry = Entry {
    name: "connections",
    about: "a limit on connections that you set; at the limit the listener stops accepting, with no word to clients",
    caution: "clients wait in their kernel's SYN back-off and learn nothing; a few connections can still overload the service",
    source: Source {
        title: "Adaptive Overload Control for Busy Internet Servers, USITS'03",
        place: "section 4.4, figure 10, the bounded-connection server",
    },
    deviations: &["The paper does not give its limit."],
    places: &[Place::Accept],
    presets: &[],
    samples: &[],
    roles: &[],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &ConnectionsParams, _| Box::new(Connections { max: params.max, held: VecDeque::new() }))
    }),
};
