//! The bounds that the lab adds to the catalogue of a program, by the way that is open to any other:
//! [`Catalogue::with`](crate::Catalogue::with).

use crate::{
    Place,
    entry::{Bound, Entry, EntryKind, Source, ValueSearch},
};

mod oracle;

pub use oracle::ORACLE;

/// The best fixed limit for the seeds of a run.
pub const BEST_STATIC: Entry = Entry {
    name: "best-static",
    about: "the fixed limit with the most requests answered in time, for the seeds of this run",
    caution: "exists in virtual time alone: nobody knows that limit before the load has come",
    source: Source { title: "the lab's own", place: "docs/experiments.md, Two arms that know more" },
    deviations: &[],
    places: &[Place::Single],
    presets: &[],
    samples: &[],
    roles: &[],
    kind: EntryKind::Bound(Bound::BestValue(ValueSearch { of: "concurrency", parameter: "max", most: 512 })),
};

/// The most without knowledge of single costs.
pub const BLIND: Entry = Entry {
    name: "blind",
    about: "the most that a policy can serve in time which does not know what a single request costs",
    caution: "exists in virtual time and for an open loop alone, where it stands beside every oracle",
    source: Source {
        title: "Wald, On cumulative sums of random variables, 1944",
        place: "Annals of Mathematical Statistics 15(3), the identity; docs/experiments.md, Arms that know more",
    },
    deviations: &[],
    places: &[Place::Single],
    presets: &[],
    samples: &[],
    roles: &[],
    kind: EntryKind::Bound(Bound::Means),
};

/// All bounds of the lab.
pub static BOUNDS: [Entry; 3] = [BEST_STATIC, ORACLE, BLIND];
