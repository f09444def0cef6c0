//! The state of the faults of a run, and of a task that crashes, at a set time or by its memory.

use std::time::Duration;

use controllers::Timestamp;
use spec::fault::{Fault, FaultKind, Hindrance};

/// The crashes of a plant.
#[derive(Debug, Default)]
pub(super) struct Crashes {
    /// How many there were.
    pub(super) many: u64,
    /// What keeps the process down: it is back when nothing does any more.
    pub(super) causes: u32,
    /// Requests of the process that died for which a site has yet to note the end: they take no memory.
    pub(super) lost: usize,
}

impl Crashes {
    /// True from a crash to the restart: connections are refused.
    pub(super) fn is_down(&self) -> bool {
        self.causes > 0
    }
}

/// The faults of a run, and their states.
#[derive(Debug, Default)]
pub(super) struct Faults {
    all: Vec<Fault>,
    under_way: Vec<usize>,
    /// Crashes, at set times and by memory.
    pub(super) crashes: Crashes,
}

impl Faults {
    pub(super) fn new(all: &[Fault]) -> Self {
        Self { all: all.to_vec(), under_way: Vec::new(), crashes: Crashes::default() }
    }

    /// The start and further steps (true) and the end of each fault.
    pub(super) fn times(&self) -> impl Iterator<Item = (Duration, usize, bool)> + '_ {
        let of_one = |(number, fault): (usize, &Fault)| {
            let steps = fault.steps().map(move |at| (at, number, true));
            steps.chain([(fault.at + fault.lasts, number, false)])
        };
        self.all.iter().enumerate().flat_map(of_one)
    }

    /// The kind of a fault.
    pub(super) fn kind(&self, number: usize) -> FaultKind {
        self.all[number].kind
    }

    /// True if the process may crash at a set time.
    pub(super) fn has_crashes(&self) -> bool {
        self.all.iter().any(|fault| fault.kind == FaultKind::Crash)
    }

    pub(super) fn set(&mut self, number: usize, on: bool) {
        self.under_way.retain(|&other| other != number);
        if on {
            self.under_way.push(number);
        }
    }

    /// What they do at this moment.
    pub(super) fn now(&self, now: Timestamp) -> Hindrance {
        Hindrance::of(self.under_way.iter().map(|&number| &self.all[number]), now.since(Timestamp::ZERO))
    }
}
