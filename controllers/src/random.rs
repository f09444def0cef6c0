//! Randomness as an argument: the same seed gives the same draws on every machine.

/// A source of random bits.
pub trait Random {
    /// The next 64 bits.
    fn next_u64(&mut self) -> u64;

    /// Uniform in [0, 1), with 53 bits.
    fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n without modulo bias (Lemire's multiply-shift, with rejection). `n` must not be 0.
    fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0, "nothing is below 0");
        let reject_under = n.wrapping_neg() % n;
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            if wide as u64 >= reject_under {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Exponential with the given mean.
    fn exponential(&mut self, mean: f64) -> f64 {
        // 1 − u lies in (0, 1], so the logarithm is finite.
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Standard normal, by Box and Muller: two uniform draws.
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }
}

/// `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014): small, fast, and of sufficient quality for users and service
/// times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeded(u64);

impl Seeded {
    /// Starts from a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl Random for Seeded {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }
}

/// A factor with mean 1 whose logarithm has this standard deviation; 1 for a deviation of 0 or less. The same for the same key.
#[must_use]
pub fn lognormal_factor(sigma: f64, key: u64) -> f64 {
    if sigma <= 0.0 {
        return 1.0;
    }
    libm::exp(sigma * Seeded::new(key).normal() - sigma * sigma / 2.0)
}

/// The seed of a named part of a run. It depends on the name, so that an additional part does not shift the draws of
/// others.
#[must_use]
pub fn seed_for(root: u64, name: &str) -> u64 {
    // FNV-1a over the name, then the mixer over both: names that differ in one letter give unrelated seeds.
    let hash =
        name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3));
    mix(mix(root.wrapping_add(0x9E37_79B9_7F4A_7C15)) ^ hash)
}

/// The output function of `SplitMix64`: a bijection that spreads every input bit over all output bits.
#[must_use]
pub const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_gives_the_published_sequence() {
        // First outputs for seed 1234567, as printed by the reference implementation.
        let mut random = Seeded::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(expected.map(|_| random.next_u64()), expected);
    }

    #[test]
    fn a_lognormal_factor_has_mean_1_and_the_spread_of_its_logarithm() {
        let factors: Vec<f64> = (0..10_000).map(|key| lognormal_factor(0.5, mix(key))).collect();
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / 10_000.0;
        // Standard errors: sqrt(e^0.25 - 1)/100 = 0.0053, and of the deviation 0.5/sqrt(2 * 10 000) = 0.0035.
        assert!((mean(&mut factors.iter().copied()) - 1.0).abs() < 0.02);
        let square = mean(&mut factors.iter().map(|factor| (libm::log(*factor) + 0.125).powi(2)));
        assert!((square.sqrt() - 0.5).abs() < 0.014, "{square}");
        assert_eq!((lognormal_factor(0.0, 7), lognormal_factor(0.5, 7)), (1.0, lognormal_factor(0.5, 7)));
    }

    #[test]
    fn sub_seeds_differ_by_name_and_by_root() {
        let a = seed_for(7, "arrivals");
        assert_eq!(a, seed_for(7, "arrivals"));
        assert_ne!(a, seed_for(7, "arrivalt"));
        assert_ne!(a, seed_for(8, "arrivals"));
    }

    #[test]
    fn draws_stay_in_range() {
        let mut random = Seeded::new(1);
        for _ in 0..10_000 {
            assert!((0.0..1.0).contains(&random.uniform()));
            assert!(random.below(7) < 7);
            assert!(random.exponential(3.0) >= 0.0);
        }
    }

    #[test]
    fn normal_draws_have_a_mean_of_0_and_a_deviation_of_1() {
        let mut random = Seeded::new(1);
        let draws: Vec<f64> = (0..10_000).map(|_| random.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 1e4;
        let square = draws.iter().map(|draw| draw * draw).sum::<f64>() / 1e4;
        let beyond = draws.iter().filter(|draw| draw.abs() > 1.96).count();
        // Each within four standard errors: 0.01, 0.014 and 22 of 500.
        assert!(
            mean.abs() < 0.04 && (square - 1.0).abs() < 0.057 && beyond.abs_diff(500) < 88,
            "{mean} {square} {beyond}"
        );
    }
}
