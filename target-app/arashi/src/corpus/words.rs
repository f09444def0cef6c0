//! The words of generated mail. ASCII only: text may be cut anywhere.

use std::sync::LazyLock;

use controllers::random::{Random, Seeded};

/// A word; those early in the list are far more frequent, as in real text.
pub(super) fn word(random: &mut Seeded) -> &'static str {
    // The cube of a uniform draw: the first eighth of the list makes half of the text.
    let u = random.uniform();
    WORDS[(u * u * u * WORDS.len() as f64) as usize]
}

/// One a line, the more frequent ones first.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("words.txt").lines().collect());

pub(super) const FIRST_NAMES: &[&str] = &[
    "Ada",
    "Alan",
    "Barbara",
    "Brian",
    "Claude",
    "Dennis",
    "Donald",
    "Edsger",
    "Elena",
    "Frances",
    "Grace",
    "Hedy",
    "Ivan",
    "Jean",
    "John",
    "Katherine",
    "Ken",
    "Leslie",
    "Margaret",
    "Maria",
    "Niklaus",
    "Olga",
    "Peter",
    "Radia",
    "Robin",
    "Sophie",
    "Tim",
    "Ursula",
    "Vera",
    "Wendy",
];

pub(super) const LAST_NAMES: &[&str] = &[
    "Abbott", "Baker", "Carter", "Dixon", "Evans", "Fisher", "Graham", "Hughes", "Ingram", "Jensen", "Keller", "Lang",
    "Moore", "Norris", "Owens", "Parker", "Quinn", "Reyes", "Sato", "Turner", "Ueda", "Vogel", "Walker", "Xu", "Young",
    "Zimmer",
];

pub(super) const HOSTS: &[&str] =
    &["example.com", "example.net", "example.org", "cs.example.edu", "mail.example.edu", "labs.example.com"];

pub(super) const LISTS: &[&str] = &["kernel", "friends", "research", "announce", "users", "devel", "music", "climbing"];
