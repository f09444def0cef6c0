//! The mail of a web-mail service.

use serde::{Deserialize, Serialize};
use service_core::mail::CorpusSpec;

use super::keys::{choice, count, table};

table! {
    /// The generated mail of `arashi`.
    #[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Mail as "Mail" {
        folders = choice::<_, String>(&[("generated", ())]), "Source of the folders";
        seed: u64 = count(0..=1 << 53).or(7), "Seed of the generated mail";
        accounts: u32 = count(1..=100_000).or(100), "Accounts; users with the same account share its mail, and what one of them has moved or deleted the others ask for in vain: `failed`";
        inbox: Option<u32> = count(1..=1_000_000), "Messages in every inbox, for long runs in which users would empty small ones";
    }
}

impl Mail {
    /// Spec of the corpus to generate.
    pub fn corpus(self) -> CorpusSpec {
        let any = CorpusSpec { users: self.accounts, seed: self.seed, ..CorpusSpec::default() };
        match self.inbox {
            None => any,
            Some(messages) => CorpusSpec {
                inbox_median: messages.into(),
                inbox_sigma: 0.0,
                inbox_min: messages,
                inbox_max: messages,
                ..any
            },
        }
    }
}
