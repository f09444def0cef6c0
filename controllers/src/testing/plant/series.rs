//! The results of a run.

use std::collections::BTreeMap;

use crate::Class;

/// The results of one second, in whole numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Second {
    /// Offered requests.
    pub offered: u32,
    /// Refused requests.
    pub refused: u32,
    /// Answers.
    pub served: u32,
    /// 90th percentile of the response times of those answers, milliseconds; 0 without answers.
    pub p90_ms: u64,
    /// The policy's admission rate at the end of the second, rounded; `None` if it has none.
    pub rate_per_s: Option<u64>,
    /// Quality at the end of the second, percent.
    pub quality_percent: u32,
    /// Workers at the end of the second.
    pub workers: u32,
    /// The policy's limit on jobs in flight at the end of the second, rounded; `None` if it has none.
    pub limit: Option<u64>,
    /// The age of the oldest waiting job at the end of the second, milliseconds.
    pub oldest_ms: u64,
}

/// The results of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    /// Results by second.
    pub seconds: Vec<Second>,
    /// Offered and refused requests of the run, by class.
    pub by_class: BTreeMap<Class, (u32, u32)>,
}

impl Series {
    /// The seconds from `from` up to `to`.
    #[must_use]
    pub fn between(&self, from: usize, to: usize) -> &[Second] {
        &self.seconds[from..to.min(self.seconds.len())]
    }

    /// The share of refused requests over a range of seconds, 0 to 1.
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
