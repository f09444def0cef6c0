//! Policies that work together at one site: a limit on the number of jobs inside, a selector of who is refused, and a
//! queue discipline that selects who is next.
//!
//! # The order of decisions and facts
//!
//! The parts decide in the order *select*, *queue*, *limit*, as if they were policies of three sites in a row:
//!
//! 1. *select* sees every offer. What it refuses is refused.
//! 2. *queue* holds what select lets pass, or refuses it. Without a queue the limit decides at once.
//! 3. *limit* is asked whether there is room for one more, before the queue selects a job; if the limit refuses, the queue keeps its
//!    jobs. In a stage it is asked for each free worker; before a whole service nobody knows the workers, and the limit alone makes the
//!    room. For the limit a job begins when the queue releases it: the wait in the queue is not part of its time.
//!
//! # Shares
//!
//! Without a queue the limit may be divided: a job that it has no room for is let in all the same while its class (or customer) has less
//! inside than its share of the limit. Others borrow what a share leaves, so that for a while more may be inside than the limit.
//!
//! Facts go to all parts in the order select, limit, queue, and so do wake-ups; effects follow in the order of the facts.
//! A part learns the decisions of later parts as the ends of its jobs: a job that select admitted and that a later part
//! refuses ends for select at once, as [`Outcome::Overloaded`], without cost; a job that leaves the queue by itself ends
//! as [`Outcome::Abandoned`]. Load samples go to the parts whose entries request
//! them.
//!
//! [`Outcome::Overloaded`]: crate::Outcome::Overloaded
//! [`Outcome::Abandoned`]: crate::Outcome::Abandoned

mod policy;
mod read;
mod shares;
#[cfg(test)]
mod tests;

use crate::{
    Entry, Place, Site,
    entry::{EntryKind, Source},
};

use policy::{Composed, Part};
use read::NAME;
use shares::LimitShares;

pub(crate) const COMPOSE: Entry = Entry {
    name: NAME,
    about: "policies that work together: a limit of the jobs inside, with shares, a selector of who is refused, a queue of who is next",
    caution: "each part learns from what the others let pass; without parts every job is admitted",
    source: Source {
        title: "The lab's own; the roles are those of DAGOR's priorities, of an adaptive limit and of CoDel's queue",
        place: "docs/policies.md",
    },
    deviations: &[
        "A part behaves as in its own entry; to a limit behind a queue a job begins when it is let in, not when it is offered.",
        "Shares are Netflix's partitions: of a limit of 10 a share of 0.25 is 3. Jobs that came in before a live switch count for no share.",
    ],
    places: &[Place::Stage, Place::Single, Place::Client, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[],
    kind: EntryKind::Policy(|reader| {
        let parts = read::parts(reader);
        std::sync::Arc::new(move |site: &Site| {
            let [limit, select, queue] = [&parts.limit, &parts.select, &parts.queue].map(|part| {
                let part = part.as_ref()?;
                Some(Part::new(part.factory.policy(site)?, part.entry.samples))
            });
            let shares = (!parts.shares.is_empty()).then(|| LimitShares::new(&parts.shares));
            Box::new(Composed::new(limit, select, queue).dividing(shares).at(site.place))
        })
    }),
};
