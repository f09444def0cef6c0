//! A service that is not the lab's, as it was measured from outside: a part of a plant file.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::Discipline;

/// A service as measured from outside: the number of requests that it works on at once, the time of each, and the slowdown with
/// more requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredService {
    /// Requests that it works on at once without slowing down: connections to its database, threads, cores. At least 1.
    pub servers: u32,
    /// Whether requests wait for a free server, or share all servers.
    #[serde(default = "shared")]
    pub discipline: Discipline,
    /// Factors by which work takes longer with one request there, two, …; the last holds for more, and an empty list means no
    /// difference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowdown: Vec<f64>,
    /// The costs by request; the first one holds for requests that are not named.
    pub requests: Vec<RequestCost>,
}

/// The cost of a request alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestCost {
    /// The method.
    #[serde(default = "get")]
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Mean time, milliseconds.
    pub ms: f64,
    /// The spread: standard deviation of the logarithm, 0 for none.
    #[serde(default)]
    pub spread: f64,
    /// How often it was requested, in proportion to the others.
    #[serde(default = "once")]
    pub weight: f64,
}

fn shared() -> Discipline {
    Discipline::ProcessorSharing
}

fn get() -> String {
    "GET".to_owned()
}

fn once() -> f64 {
    1.0
}

impl MeasuredService {
    /// The factors that [`slowdown`](Self::slowdown) may have.
    pub const FACTORS: RangeInclusive<f64> = 0.01..=1000.0;

    /// Mean time of a request of the mix that was measured, milliseconds.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        let weights: f64 = self.requests.iter().map(|request| request.weight).sum();
        self.requests.iter().map(|request| request.weight * request.ms).sum::<f64>() / weights.max(f64::MIN_POSITIVE)
    }

    /// Requests a second of that mix with so many at once; infinite where they take no time.
    #[must_use]
    pub fn rate(&self, at_once: u32) -> f64 {
        let at = usize::try_from(at_once).unwrap_or(usize::MAX).saturating_sub(1);
        let factor = self.slowdown.get(at).or(self.slowdown.last()).copied().unwrap_or(1.0);
        f64::from(at_once.min(self.servers)) * 1e3 / (self.mean_ms() * factor)
    }

    /// The most requests a second of that mix, with the best number of them at once; `None`: any number.
    #[must_use]
    pub fn capacity(&self) -> Option<f64> {
        let known = u32::try_from(self.slowdown.len()).unwrap_or(u32::MAX);
        let most = (1..=self.servers.max(known)).map(|at_once| self.rate(at_once)).fold(0.0, f64::max);
        most.is_finite().then_some(most)
    }

    /// Checks the numbers; the error is a key and its valid range.
    pub(super) fn check(&self) -> Result<(), (String, &'static str)> {
        let wrong = |what: &str, wanted| Err((format!("service.{what}"), wanted));
        if !(1..=1024).contains(&self.servers) {
            return wrong("servers", "a number from 1 to 1024");
        }
        if self.slowdown.iter().any(|factor| !Self::FACTORS.contains(factor)) {
            return wrong("slowdown", "a list of factors from 0.01 to 1000");
        }
        if self.requests.is_empty() {
            return wrong("requests", "a list with one request at least");
        }
        for request in &self.requests {
            if !(0.0..=3.6e6).contains(&request.ms) {
                return wrong(&format!("{}.ms", request.path), "a time from 0 to an hour, in milliseconds");
            }
            if !(0.0..=3.0).contains(&request.spread) {
                return wrong(&format!("{}.spread", request.path), "a number from 0 to 3");
            }
            if !(request.weight > 0.0 && request.weight.is_finite()) {
                return wrong(&format!("{}.weight", request.path), "a number over 0");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> MeasuredService {
        let cost = |path: &str, ms: f64, weight: f64| RequestCost {
            method: get(),
            path: path.to_owned(),
            ms,
            spread: 0.0,
            weight,
        };
        let requests = vec![cost("/a", 10.0, 3.0), cost("/b?x=1", 50.0, 1.0)];
        MeasuredService { servers: 4, discipline: shared(), slowdown: Vec::new(), requests }
    }

    #[test]
    fn capacity_is_that_of_the_mix() {
        let measured = service();
        assert!((measured.mean_ms() - 20.0).abs() < 1e-9);
        assert_eq!(measured.capacity(), Some(200.0));
        // The fourth at once makes all slower: three are the most.
        let slower = MeasuredService { slowdown: vec![1.0, 1.0, 1.0, 2.0], ..measured };
        assert_eq!((slower.capacity(), slower.rate(4), slower.rate(9)), (Some(150.0), 100.0, 100.0));
        let soon = MeasuredService { servers: 5, slowdown: vec![1.0, 1.0, 1.0, 1.0, 1.25, 1.0], ..slower };
        assert_eq!(soon.capacity(), Some(250.0), "at six");
    }

    #[test]
    fn wrong_numbers_are_named() {
        let told = |change: fn(&mut MeasuredService)| {
            let mut wrong = service();
            change(&mut wrong);
            wrong.check().expect_err("wrong").0
        };
        assert!(told(|s| s.servers = 0).contains("service.servers"));
        assert!(told(|s| s.requests.clear()).contains("service.requests"));
        assert!(told(|s| s.requests[1].ms = -1.0).contains("/b?x=1.ms"));
        assert!(told(|s| s.slowdown = vec![0.0]).contains("service.slowdown"));
    }
}
