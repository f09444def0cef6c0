//! Epochs of servers whose capacity and hardness are known.

use std::time::Duration;

use crate::{Random, Seeded};

use super::super::EpochSample;

/// A server as a formula: the mean response of a subunit is `s·(1 + a·ρ⁶)`, the goodput is the load up to ρ = 1.
///
/// Its power ratio `ρ/(1 + a·ρ⁶)` is highest where `1 + a·ρ⁶ = 6·a·ρ⁶`: for ρ = 0.9 that is a = 1/(5·0.9⁶) = 0.3763.
pub(super) struct Formula {
    /// Subunits a second at ρ = 1.
    pub(super) capacity: f64,
    pub(super) hardness: Vec<f64>,
    /// The deviation of response times, as a part of them.
    pub(super) noise: f64,
    /// Seconds of a subunit.
    pub(super) service_s: f64,
}

impl Formula {
    pub(super) fn new(capacity: f64, hardness: &[f64], noise: f64) -> Self {
        Self { capacity, hardness: hardness.to_vec(), noise, service_s: 0.02 }
    }

    /// The load of the highest power ratio.
    pub(super) fn true_capacity(&self) -> f64 {
        0.9 * self.capacity
    }

    /// An epoch of 10 s at this part of the capacity, of requests in this ratio.
    pub(super) fn epoch(&self, rho: f64, mix: &[f64], random: &mut dyn Random) -> EpochSample {
        let mean_hardness: f64 =
            mix.iter().zip(&self.hardness).map(|(m, h)| m * h).sum::<f64>() / mix.iter().sum::<f64>();
        let requests = 10.0 * rho * self.capacity / mean_hardness;
        let a = 1.0 / (5.0 * libm::pow(0.9, 6.0));
        let response = self.service_s * (1.0 + a * libm::pow(rho, 6.0)) * (1.0 + self.noise * random.normal());
        let of = |part: f64| -> Vec<u64> {
            mix.iter().map(|m| (part * requests * m / mix.iter().sum::<f64>()).round() as u64).collect()
        };
        let (arrived, served) = (of(1.0), of((1.0 / rho).min(1.0)));
        let response_s = served.iter().zip(&self.hardness).map(|(n, h)| *n as f64 * h * response).collect();
        EpochSample { length: Duration::from_secs(10), arrived, served, response_s }
    }

    /// Epochs of random loads and mixes.
    pub(super) fn training(&self, epochs: usize, (least, most): (f64, f64), seed: u64) -> Vec<EpochSample> {
        let mut random = Seeded::new(seed);
        let mut epoch = |_| {
            let rho = least + (most - least) * random.uniform();
            let mix: Vec<f64> = self.hardness.iter().map(|_| 0.05 + random.uniform()).collect();
            self.epoch(rho, &mix, &mut random)
        };
        (0..epochs).map(&mut epoch).collect()
    }
}

/// A server in virtual time: cores that all requests share, and no more than some requests at once. Arrivals are Poisson.
pub(super) struct SharedCores {
    pub(super) cores: f64,
    /// Seconds of one core, by request type.
    pub(super) service_s: Vec<f64>,
    pub(super) most_at_once: usize,
}

struct Running {
    kind: usize,
    entered: f64,
    left_s: f64,
}

impl SharedCores {
    /// Epochs of 10 s with these arrival rates by type. Requests count in the epoch in which they end.
    pub(super) fn epochs(&self, rates: &[Vec<f64>], random: &mut dyn Random) -> Vec<EpochSample> {
        let types = self.service_s.len();
        let empty = || EpochSample {
            length: Duration::from_secs(10),
            arrived: vec![0; types],
            served: vec![0; types],
            response_s: vec![0.0; types],
        };
        let mut samples: Vec<EpochSample> = rates.iter().map(|_| empty()).collect();
        let (mut now, mut running) = (0.0, Vec::<Running>::new());
        for (epoch, rates) in rates.iter().enumerate() {
            let end = (epoch + 1) as f64 * 10.0;
            let rate: f64 = rates.iter().sum();
            let mut arrival = now + random.exponential(1.0 / rate);
            while now < end {
                let next = arrival.min(end);
                self.work(&mut now, next, &mut running, &mut samples[epoch]);
                if next < end {
                    let kind = drawn(rates, random);
                    samples[epoch].arrived[kind] += 1;
                    if running.len() < self.most_at_once {
                        let left_s = self.service_s[kind];
                        running.push(Running { kind, entered: now, left_s });
                    }
                    arrival = now + random.exponential(1.0 / rate);
                }
            }
        }
        samples
    }

    /// Works until `until`.
    fn work(&self, now: &mut f64, until: f64, running: &mut Vec<Running>, sample: &mut EpochSample) {
        while *now < until {
            let speed = (self.cores / running.len().max(1) as f64).min(1.0);
            let shortest = running.iter().map(|job| job.left_s).fold(f64::INFINITY, f64::min);
            let step = (shortest / speed).min(until - *now);
            *now += step;
            running.iter_mut().for_each(|job| job.left_s -= step * speed);
            running.retain(|job| {
                let ended = job.left_s <= 1e-9;
                if ended {
                    sample.served[job.kind] += 1;
                    sample.response_s[job.kind] += *now - job.entered;
                }
                !ended
            });
            if until - *now < 1e-12 {
                *now = until;
            }
        }
    }
}

fn drawn(rates: &[f64], random: &mut dyn Random) -> usize {
    let mut left = random.uniform() * rates.iter().sum::<f64>();
    for (kind, rate) in rates.iter().enumerate() {
        if left < *rate {
            return kind;
        }
        left -= rate;
    }
    rates.len() - 1
}
