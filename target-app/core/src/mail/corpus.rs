//! Generated mail as numbers: sizes of folders, names and passwords.
//!
//! The paper gives the range of folder sizes, 1 to 12 794 messages (USITS'03, section 4.1), but not their distribution:
//! lognormal, clipped to that range, is our choice, and so are its parameters.

use controllers::random::{Random, Seeded, seed_for};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The specification of generated mail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CorpusSpec {
    /// The number of accounts, at least 1.
    pub users: u32,
    /// The seed: the same seed gives the same mail.
    pub seed: u64,
    /// Median of the number of messages in an inbox.
    pub inbox_median: f64,
    /// Standard deviation of that number's logarithm.
    pub inbox_sigma: f64,
    /// The smallest inbox. With ten users or more, one has exactly this size.
    pub inbox_min: u32,
    /// The largest inbox. With ten users or more, one has exactly this size.
    pub inbox_max: u32,
}

impl Default for CorpusSpec {
    fn default() -> Self {
        Self { users: 100, seed: 1, inbox_median: 300.0, inbox_sigma: 1.6, inbox_min: 1, inbox_max: 12_794 }
    }
}

/// Folders in addition to the inbox, to refile into.
pub const OTHER_FOLDERS: [&str; 3] = ["archive", "lists", "later"];
/// The largest number of messages in one of them.
const OTHER_MAX: u64 = 40;
/// The number of stored messages beyond the largest inbox, so that inboxes start at different messages.
const SPARE: u32 = 2000;

impl CorpusSpec {
    /// Checks the numbers; the error says what they must be.
    pub fn check(&self) -> Result<(), &'static str> {
        let problem = match self {
            _ if !(1..=100_000).contains(&self.users) => "users must be 1 to 100 000",
            _ if self.inbox_min < 1 || self.inbox_max < self.inbox_min => "inbox sizes must be 1 <= min <= max",
            _ if self.inbox_max > 1_000_000 => "inboxes hold at most 1 000 000 messages",
            _ if !(self.inbox_median.is_finite() && self.inbox_median >= 1.0) => "inbox_median must be at least 1",
            _ if !(0.0..=5.0).contains(&self.inbox_sigma) => "inbox_sigma must be 0 to 5",
            _ => return Ok(()),
        };
        Err(problem)
    }

    /// The number of messages in each user's inbox.
    #[must_use]
    pub fn inboxes(&self) -> Vec<u32> {
        let mut random = Seeded::new(seed_for(self.seed, "inboxes"));
        let mut sizes: Vec<u32> = (0..self.users)
            .map(|_| {
                let size = lognormal(&mut random, self.inbox_median, self.inbox_sigma);
                (size.round() as u32).clamp(self.inbox_min, self.inbox_max)
            })
            .collect();
        if let [first, second, .., _] = &mut sizes[..]
            && self.users >= 10
        {
            (*first, *second) = (self.inbox_max, self.inbox_min);
            // The users with these sizes must not depend on their number.
            for i in (1..sizes.len()).rev() {
                sizes.swap(i, random.below(i as u64 + 1) as usize);
            }
        }
        sizes
    }

    /// The number of messages in each user's folders, the inbox first.
    #[must_use]
    pub fn folders(&self) -> Vec<Vec<u32>> {
        self.runs().into_iter().map(|runs| runs.map(|(_, count)| count).to_vec()).collect()
    }

    /// Each user's folders: the first stored message in each, and the number of consecutive ones.
    #[must_use]
    pub fn runs(&self) -> Vec<[(i64, u32); 1 + OTHER_FOLDERS.len()]> {
        let inboxes = self.inboxes();
        let stored = stored(&inboxes);
        let mut random = Seeded::new(seed_for(self.seed, "folders"));
        let mut of = |inbox: u32| {
            std::array::from_fn(|i| {
                let count = if i == 0 { inbox } else { (1 + random.below(OTHER_MAX) as u32).min(stored) };
                (1 + random.below(u64::from(stored - count) + 1) as i64, count)
            })
        };
        inboxes.into_iter().map(&mut of).collect()
    }
}

/// The number of stored messages for these inboxes.
#[must_use]
pub fn stored(inboxes: &[u32]) -> u32 {
    inboxes.iter().max().map_or(0, |max| max + SPARE)
}

/// Names and passwords of the generated users, in order.
#[must_use]
pub fn accounts(spec: &CorpusSpec) -> Vec<(String, String)> {
    (0..spec.users)
        .map(|i| {
            let name = format!("user{i:04}");
            let digest = Sha256::digest(format!("{}/{name}", spec.seed));
            (name, digest[..6].iter().map(|byte| format!("{byte:02x}")).collect())
        })
        .collect()
}

/// A lognormal draw with this median, by the method of Box and Muller.
#[must_use]
pub fn lognormal(random: &mut impl Random, median: f64, sigma: f64) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.uniform()));
    let normal = radius * libm::cos(std::f64::consts::TAU * random.uniform());
    median * libm::exp(sigma * normal)
}
