//! Parts of a plan, each for a process of its own.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Largest number of parts.
const MOST: u32 = 100_000;

/// One of several parts of a plan, as text `2/8`. Users, blocks and cases are numbered from 0: part 2 of 8 holds 1, 9, 17 and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    of: u32,
    number: u32,
}

impl Shard {
    /// A part; `None` unless it is from 1 to the number of parts, of which there are 100 000 at most.
    #[must_use]
    pub fn new(number: u32, of: u32) -> Option<Self> {
        ((1..=MOST).contains(&of) && (1..=of).contains(&number)).then_some(Self { of, number })
    }

    /// The number of this part, from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        self.number
    }

    /// The number of parts.
    #[must_use]
    pub fn of(self) -> u32 {
        self.of
    }

    /// True if the thing with this number, from 0, belongs to this part.
    #[must_use]
    pub fn holds(self, thing: u64) -> bool {
        thing % u64::from(self.of) == u64::from(self.number - 1)
    }

    /// Number of the things of this part, of so many.
    #[must_use]
    pub fn portion(self, things: u64) -> u64 {
        things / u64::from(self.of) + u64::from(things % u64::from(self.of) >= u64::from(self.number))
    }

    /// The number of a thing among those of this part, from 0.
    #[must_use]
    pub fn local(self, thing: u64) -> u64 {
        thing / u64::from(self.of)
    }

    /// The number in the whole plan of the thing with this number in this part; `None` beyond 2^64.
    #[must_use]
    pub fn whole(self, local: u64) -> Option<u64> {
        local.checked_mul(self.of.into())?.checked_add(u64::from(self.number - 1))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let part = parts.and_then(|(number, of)| Self::new(number, of));
        match (part, parts) {
            (Some(part), _) => Ok(part),
            (None, Some((0, of))) if of > 0 => Err(format!("parts are numbered from 1: 1/{of} to {of}/{of}")),
            _ => Err(format!("write which part of how many (at most {MOST}): 1/4, 2/4, 3/4, 4/4")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thing_belongs_to_one_part_and_is_found_again() {
        for of in [1_u32, 2, 3, 7, 64] {
            let shards: Vec<Shard> = (1..=of).map(|n| format!("{n}/{of}").parse().expect("a part")).collect();
            for thing in 0..200 {
                let holders: Vec<&Shard> = shards.iter().filter(|shard| shard.holds(thing)).collect();
                let [holder] = holders[..] else { panic!("{thing} of {of}: {holders:?}") };
                assert_eq!(holder.whole(holder.local(thing)), Some(thing));
                let portions: Vec<u64> = shards.iter().map(|shard| shard.portion(thing)).collect();
                assert_eq!(portions[holder.number() as usize - 1], holder.local(thing), "those before it");
                assert_eq!(portions.iter().sum::<u64>(), thing);
            }
        }
        let second: Shard = "2/8".parse().expect("a part");
        assert_eq!((second.local(17), second.whole(2), second.whole(u64::MAX)), (2, Some(17), None));
    }

    #[test]
    fn parts_are_numbered_from_one() {
        for wrong in ["0/4", "5/4", "1/0", "0/0", "1", "1/", "/4", "-1/4", "1/4/2", "1/100001", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        assert!("0/4".parse::<Shard>().expect_err("from 1").contains("1/4 to 4/4"));
        let shard: Shard = serde_json::from_str("\"3/4\"").expect("a part");
        assert_eq!(serde_json::to_string(&shard).expect("JSON"), "\"3/4\"");
        assert!(serde_json::from_str::<Shard>("\"4/3\"").is_err());
    }
}
