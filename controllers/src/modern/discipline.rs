//! What queue disciplines share: they hold every job while there is room to wait, and let jobs in as hosts tell of room.

use std::time::Duration;

use crate::{
    JobId, Place, Reason, Refusal, Verdict,
    entry::{Count, Declared, count},
    gate::Line,
};

/// The job whose turn it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) id: JobId,
    pub(super) waited: Duration,
    /// Jobs behind it.
    pub(super) left: u32,
}

/// Holds a job if the queue is not full.
pub(super) fn hold<T>(line: &mut Line<T>, max: u32, id: JobId, what: T) -> Verdict {
    if line.len() >= max {
        return Verdict::Refuse(Refusal::new(Reason::QueueFull));
    }
    line.push(id, what);
    Verdict::Hold
}

/// Where there is a queue to keep: at dispatch only of a service of one stage, as room is that of all stages together.
pub(super) const PLACES: &[Place] = &[Place::Stage, Place::Single];

pub(super) const MAX: Declared<Count> = Declared {
    kind: count(1..=1_000_000, 1000),
    about: "most jobs that wait; those that find so many are refused",
    source: "DEFAULT_CODEL_LIMIT, Linux sch_codel.c, in packets",
};
