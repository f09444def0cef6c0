//! Things that go wrong at set times.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Something goes wrong for a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// When it begins, from the start of the run.
    pub at: Duration,
    /// How long it lasts.
    pub lasts: Duration,
    /// What.
    pub kind: FaultKind,
    /// The only service of a tree that it hits; `None`: all that there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

impl Fault {
    /// Whether it hits this service of a tree.
    #[must_use]
    pub fn hits(&self, service: &str) -> bool {
        self.service.as_deref().is_none_or(|only| only == service)
    }
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The cores work at this share of their speed, 0 to 1: 0 is a pause.
    Capacity(f64),
    /// Every request takes this much longer in its stage, without any work.
    Latency(Duration),
}

/// The faults of a run, and which of them are under way.
#[derive(Debug, Default)]
pub(super) struct Faults {
    all: Vec<Fault>,
    under_way: Vec<usize>,
}

impl Faults {
    pub(super) fn new(all: &[Fault]) -> Self {
        Self { all: all.to_vec(), under_way: Vec::new() }
    }

    /// When which fault begins (true) or ends.
    pub(super) fn times(&self) -> impl Iterator<Item = (Duration, usize, bool)> + '_ {
        let both =
            |(number, fault): (usize, &Fault)| [(fault.at, number, true), (fault.at + fault.lasts, number, false)];
        self.all.iter().enumerate().flat_map(both)
    }

    pub(super) fn set(&mut self, number: usize, on: bool) {
        self.under_way.retain(|&other| other != number);
        if on {
            self.under_way.push(number);
        }
    }

    /// Speed of the cores now.
    pub(super) fn speed(&self) -> f64 {
        let shares = self.under_way.iter().map(|&number| match self.all[number].kind {
            FaultKind::Capacity(share) => share,
            FaultKind::Latency(_) => 1.0,
        });
        shares.product()
    }

    /// What every request takes longer now.
    pub(super) fn latency(&self) -> Duration {
        let waits = self.under_way.iter().map(|&number| match self.all[number].kind {
            FaultKind::Latency(wait) => wait,
            FaultKind::Capacity(_) => Duration::ZERO,
        });
        waits.sum()
    }
}
