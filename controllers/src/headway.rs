//! `headway`, the project's own policy: a queue at the door and a limit inside with one owner, which knows nothing of the service but the
//! objective.
//!
//! | part | question | answered by |
//! |---|---|---|
//! | `door`, `shares` | who goes in next, who gives way? | criticality, share of the customer, first attempt, time |
//! | `deadline` | whose answer would be late? | mean and spread of the time inside |
//! | `window` | what was seen since the last decision? | ends, their times, whether the limit bound |
//! | `experiment` | does more inside buy more answers in time? | raising the limit in every second window |
//! | `healthy` | what does a job take where nothing queues, W0? | windows in which the limit does not bind |
//! | `witness` | is a rise of the time inside one of the service, or a queue? | its trend over the number inside |
//! | `start` | where to begin? | generations that double while they take no longer |
//! | `law` | what is the limit? | all of these, and an emergency rule |
//!
//! Constants are shares, ratios and numbers of samples: `constants` has them, each with its reason, and `estimate::need` the two that
//! disciplines share. The law is argued in
//! docs/headway.md.

mod constants;
mod deadline;
mod door;
mod experiment;
mod healthy;
mod law;
mod policy;
mod shares;
mod start;
#[cfg(test)]
mod tests;
mod window;
mod witness;

use std::time::Duration;

use self::policy::Headway;
use crate::{
    Entry, Place,
    entry::{EntryKind, Source, ms, params, s, time_or},
};

params! {
    struct HeadwayParams {
        objective: Option<Duration> = time_or(ms(1)..=s(3600), "the objective's"), "an answer that takes longer is late",
            "the only thing that it must be told";
    }
}

pub(crate) const HEADWAY: Entry = Entry {
    name: "headway",
    about: "the lab's own: the important first at the door, and inside as many as still buy answers in time, found by experiment",
    caution: "needs the true objective; slow to learn where few jobs end in an objective; trusts what callers say of criticality, customer and attempt",
    source: Source { title: "The lab's own", place: "docs/headway.md" },
    deviations: &[],
    places: &[Place::Single, Place::Stage, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &HeadwayParams, site| {
            let objective = params.objective.unwrap_or(site.objective.response_time);
            Box::new(Headway::new(objective.max(ms(1))))
        })
    }),
};
