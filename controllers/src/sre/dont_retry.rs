//! "Overloaded; don't retry": refusals advise against retries while many recent requests are retries ("Deciding to
//! Retry").

use crate::{
    Entry, Place,
    entry::{CompositionRole, EntryKind, params},
};

use super::{
    attempts::{Attempts, AttemptsParams},
    chapter::section,
    guard::Guarded,
    utilization::{self, Utilization, UtilizationParams},
};

params! {
    struct DontRetryParams {
        attempts: AttemptsParams;
        utilization: UtilizationParams;
    }
}

pub(crate) const DONT_RETRY: Entry = Entry {
    name: "dont-retry",
    about: "as utilization; refusals say \"don't retry\" while many of the requests that come are retries",
    caution: "senders with a retry budget below retry_share never send enough retries to be seen here; set it lower for them",
    source: section("Deciding to Retry; figure 21-1"),
    deviations: &[
        "All of utilization's, by which it refuses.",
        "The book gives neither the window nor what a significant amount is.",
        "Senders that heed it take the retries away that it was decided by, so that the share of retries settles at `retry_share`.",
    ],
    places: &[Place::Single, Place::Stage, Place::Proxy],
    presets: &utilization::PRESETS,
    samples: &utilization::SAMPLES,
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(
            |params: &DontRetryParams| params.utilization.clashes(),
            |params, _| {
                let guarded = Guarded::new(vec![Box::new(Utilization::new(&params.utilization))]);
                Box::new(guarded.advising(Attempts::new(&params.attempts)))
            },
        )
    }),
};
