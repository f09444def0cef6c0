//! The inherent service time of a request, estimated from its URL (WWW'05, equation 2 and section 3.5).

use std::{collections::BTreeMap, time::Duration};

use super::setup_error::{SetupError, require};
use crate::{Kind, Random, estimate::Ewma, random::mix};

/// What one request used at a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// CPU time.
    pub cpu: Duration,
    /// Time blocked on data: disk, database, network transfer.
    pub data: Duration,
    /// From its arrival to its last byte, with the time that it shared servers with others: `s` of section 3.5.
    pub actual: Duration,
}

impl ResourceUsage {
    /// `S_inherent = CPU + α · data`, seconds: the service time at a lightly loaded server (equation 2).
    #[must_use]
    pub fn inherent_s(self, alpha: f64) -> f64 {
        self.cpu.as_secs_f64() + alpha * self.data.as_secs_f64()
    }
}

/// The `α` that brings equation 2 closest to execution times that were measured at a lightly loaded server: least
/// squares, `Σ (time − CPU) · data / Σ data²`, at least 0. `None`: no request had data time.
#[must_use]
pub fn calibrated_alpha(measured: &[(ResourceUsage, Duration)]) -> Option<f64> {
    let (mut products, mut squares) = (0.0, 0.0);
    for (usage, time) in measured {
        let data = usage.data.as_secs_f64();
        products += (time.as_secs_f64() - usage.cpu.as_secs_f64()) * data;
        squares += data * data;
    }
    (squares > 0.0).then(|| (products / squares).max(0.0))
}

/// What requests with the same service time have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlName<'a> {
    /// A URL. What follows the first `?` or `#` does not count.
    Path(&'a str),
    /// A request type, at a host whose rules have mapped URLs to types already.
    Kind(Kind),
}

/// The name of a script or file: a keyed hash of a URL without its arguments, or of a request type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UrlKey(u64);

/// The settings of [`ServiceTimes`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServiceTimePlan {
    /// `α` of equation 2, at least 0.
    pub alpha: f64,
    /// The weight of the old average at each end of a request, 0 to under 1.
    pub old_weight: f64,
    /// The most URLs that are remembered, at least 1; about 40 bytes each.
    pub urls: usize,
    /// The estimate before the first end of a request, seconds, over 0.
    pub initial_s: f64,
    /// The key of the hash. It should differ between sentries that strangers reach, so that nobody can prepare URLs
    /// that share an entry.
    pub key: u64,
}

impl Default for ServiceTimePlan {
    /// Values that the paper does not state, except that averages decay exponentially.
    fn default() -> Self {
        Self { alpha: 1.0, old_weight: 0.9, urls: 65_536, initial_s: 0.05, key: 0 }
    }
}

impl ServiceTimePlan {
    pub(super) fn check(&self) -> Result<(), SetupError> {
        require(
            self.alpha >= 0.0 && self.alpha.is_finite(),
            "service_times.alpha",
            "it must be finite and at least 0",
        )?;
        let weight = (0.0..1.0).contains(&self.old_weight);
        require(weight, "service_times.old_weight", "it must be at least 0 and under 1")?;
        require(self.urls > 0, "service_times.urls", "it must be at least 1")?;
        let initial = self.initial_s > 0.0 && self.initial_s.is_finite();
        require(initial, "service_times.initial_s", "it must be finite and over 0")
    }
}

/// Exponentially decayed averages of the inherent service time by URL, in bounded memory.
///
/// A URL without an entry has the average over all requests. When the table is full, a URL that ends for the first time
/// takes the place of one chosen at random: the victim is no more likely to be one that somebody wants to be forgotten
/// than any other, and a URL in demand returns with its next end.
#[derive(Debug)]
pub struct ServiceTimes {
    plan: ServiceTimePlan,
    by_url: BTreeMap<UrlKey, Ewma>,
    all: Option<Ewma>,
}

impl ServiceTimes {
    /// An empty table.
    #[must_use]
    pub fn new(plan: ServiceTimePlan) -> Self {
        Self { plan, by_url: BTreeMap::new(), all: None }
    }

    /// The key of a URL or request type.
    #[must_use]
    pub fn key(&self, name: UrlName<'_>) -> UrlKey {
        match name {
            UrlName::Path(url) => self.key_of_path(url),
            UrlName::Kind(Kind(kind)) => UrlKey(mix(self.plan.key ^ mix(u64::from(kind)))),
        }
    }

    fn key_of_path(&self, url: &str) -> UrlKey {
        let name = url.split(['?', '#']).next().unwrap_or_default().as_bytes();
        let start = mix(self.plan.key ^ mix(name.len() as u64 + 1));
        UrlKey(name.chunks(8).fold(start, |hash, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            mix(hash.rotate_left(5) ^ mix(u64::from_le_bytes(word) ^ self.plan.key))
        }))
    }

    /// The expected inherent service time of a request, seconds.
    #[must_use]
    pub fn estimate_s(&self, url: UrlKey) -> f64 {
        self.by_url.get(&url).map_or_else(|| self.mean_s(), Ewma::current)
    }

    /// The average over all requests, seconds.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        self.all.as_ref().map_or(self.plan.initial_s, Ewma::current)
    }

    /// Learns from an ended request, and returns its inherent service time, seconds.
    pub fn learn(&mut self, url: UrlKey, usage: ResourceUsage, random: &mut dyn Random) -> f64 {
        let old_weight = self.plan.old_weight;
        let inherent = usage.inherent_s(self.plan.alpha);
        self.all.get_or_insert_with(|| Ewma::from_first(old_weight)).add(inherent);
        if !self.by_url.contains_key(&url) && self.by_url.len() >= self.plan.urls {
            // Keys are hashes, spread evenly: the next one from a random point is a random one.
            let from = UrlKey(random.next_u64());
            let victim = self.by_url.range(from..).chain(self.by_url.iter()).next().map(|(key, _)| *key);
            victim.map(|victim| self.by_url.remove(&victim));
        }
        self.by_url.entry(url).or_insert_with(|| Ewma::from_first(old_weight)).add(inherent);
        inherent
    }

    /// The number of remembered URLs.
    #[must_use]
    pub fn urls(&self) -> usize {
        self.by_url.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seeded;

    fn usage(cpu_ms: u64, data_ms: u64) -> ResourceUsage {
        let [cpu, data] = [cpu_ms, data_ms].map(Duration::from_millis);
        ResourceUsage { cpu, data, actual: cpu + data }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn equation_2_by_hand() {
        // 30 ms + 0.25 × 80 ms = 50 ms.
        close(usage(30, 80).inherent_s(0.25), 0.050);
        close(usage(30, 80).inherent_s(0.0), 0.030);
    }

    #[test]
    fn alpha_by_hand() {
        let ms = Duration::from_millis;
        // Exact: 10 + 0.5 × 20 = 20 and 30 + 0.5 × 40 = 50.
        close(calibrated_alpha(&[(usage(10, 20), ms(20)), (usage(30, 40), ms(50))]).expect("data"), 0.5);
        // Between: (10 × 20 + 40 × 40) / (20² + 40²) = 1800 / 2000.
        close(calibrated_alpha(&[(usage(10, 20), ms(20)), (usage(10, 40), ms(50))]).expect("data"), 0.9);
        assert_eq!(calibrated_alpha(&[(usage(10, 0), ms(10))]), None);
        // As the policy measures it, a request that is alone takes its CPU time and the rest: α is 1.
        close(calibrated_alpha(&[(usage(10, 20), ms(30)), (usage(5, 40), ms(45))]).expect("data"), 1.0);
    }

    #[test]
    fn arguments_do_not_count_and_averages_decay() {
        let mut times = ServiceTimes::new(ServiceTimePlan { alpha: 0.5, ..ServiceTimePlan::default() });
        let mut random = Seeded::new(1);
        let search = times.key(UrlName::Path("/search.php?q=a"));
        assert_eq!(search, times.key(UrlName::Path("/search.php?q=b#top")));
        assert_eq!(search, times.key(UrlName::Path("/search.php")));
        assert_ne!(search, times.key(UrlName::Path("/search.php/")));
        close(times.estimate_s(search), 0.05);
        close(times.learn(search, usage(20, 0), &mut random), 0.020);
        close(times.estimate_s(search), 0.020);
        // 0.9 × 20 + 0.1 × (20 + 0.5 × 40) = 22 ms.
        times.learn(search, usage(20, 40), &mut random);
        close(times.estimate_s(search), 0.022);
        // An unknown URL has the average of all: the same two ends.
        close(times.estimate_s(times.key(UrlName::Path("/new"))), 0.022);
        // 0.9 × 22 + 0.1 × 100 = 29.8 ms for all; the new URL has its own 100 ms.
        let new = times.key(UrlName::Path("/new"));
        times.learn(new, usage(100, 0), &mut random);
        close(times.estimate_s(new), 0.100);
        close(times.estimate_s(times.key(UrlName::Path("/other"))), 0.0298);
    }

    #[test]
    fn any_number_of_urls_fits_in_the_bound_and_those_in_demand_return() {
        let mut times = ServiceTimes::new(ServiceTimePlan { urls: 100, ..ServiceTimePlan::default() });
        let mut random = Seeded::new(1);
        let popular = times.key(UrlName::Path("/popular"));
        for n in 0..100_000_u32 {
            let forged = UrlKey(mix(u64::from(n)));
            times.learn(forged, usage(1, 0), &mut random);
            if n % 10 == 0 {
                times.learn(popular, usage(70, 0), &mut random);
            }
            assert!(times.urls() <= 100);
        }
        times.learn(popular, usage(70, 0), &mut random);
        close(times.estimate_s(popular), 0.070);
    }

    #[test]
    fn the_key_decides_which_urls_share_an_entry() {
        let other = ServiceTimes::new(ServiceTimePlan { key: 7, ..ServiceTimePlan::default() });
        let this = ServiceTimes::new(ServiceTimePlan::default());
        assert_ne!(this.key(UrlName::Path("/a")), other.key(UrlName::Path("/a")));
        assert_ne!(this.key(UrlName::Path("")), this.key(UrlName::Path("\0")), "the length counts");
    }
}
