//! What a run gave.

use std::collections::BTreeMap;

use crate::Class;

/// What happened in one second, in whole numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Second {
    /// Requests made.
    pub offered: u32,
    /// Requests refused.
    pub refused: u32,
    /// Answers given.
    pub served: u32,
    /// 90th percentile of the response times of those answers, milliseconds; 0 without answers.
    pub p90_ms: u64,
    /// The policy's admission rate at the end of the second, rounded; `None` if it has none.
    pub rate_per_s: Option<u64>,
    /// Quality at its end, percent.
    pub quality_percent: u32,
    /// Workers at its end.
    pub workers: u32,
    /// The policy's limit on jobs in flight at its end, rounded; `None` if it has none.
    pub limit: Option<u64>,
    /// How long the oldest job has been here, of those that nobody has begun to work on at its end, milliseconds.
    pub oldest_ms: u64,
}

/// What a run gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    /// Second by second.
    pub seconds: Vec<Second>,
    /// By class: offered and refused over the run.
    pub by_class: BTreeMap<Class, (u32, u32)>,
}

impl Series {
    /// The seconds from `from` up to `to`.
    #[must_use]
    pub fn between(&self, from: usize, to: usize) -> &[Second] {
        &self.seconds[from..to.min(self.seconds.len())]
    }

    /// Share of requests refused in some seconds, 0 to 1.
    #[must_use]
    pub fn refused_share(seconds: &[Second]) -> f64 {
        let (offered, refused) =
            seconds.iter().fold((0, 0), |(offered, refused), s| (offered + s.offered, refused + s.refused));
        f64::from(refused) / f64::from(offered.max(1))
    }

    /// The median of the seconds' 90th percentiles, milliseconds.
    #[must_use]
    pub fn median_p90_ms(seconds: &[Second]) -> u64 {
        let mut all: Vec<_> = seconds.iter().map(|second| second.p90_ms).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or(0)
    }
}
