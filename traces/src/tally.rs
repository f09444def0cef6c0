//! The account of an import: what was read, kept, merged, dropped and not understood.

use std::{collections::BTreeMap, fmt::Display};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{LeftOut, spread::UserSpread};

/// The largest number of files with a row of their own: the account is one line of a trace, whose length is bounded.
const FILES: usize = 32;

/// The format of a browser's recording. It has one user by nature.
pub const HAR: &str = "HAR";

/// The format of a list of requests with times. It has one user by nature.
pub const SCRIPT: &str = "h2load timing script";

/// The largest number of positions that are named; further ones are only counted.
const EXAMPLES: usize = 5;

/// The account of an import. It is written into the last line of the trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tally {
    /// A row for each file; if there are many, for the first ones and those with a problem.
    pub files: Vec<FileTally>,
    /// The sum of the other files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<MoreFiles>,
    /// Actions in the trace, without `leave`.
    pub actions: u64,
    /// Sessions in the trace.
    pub sessions: u64,
    /// Sessions of a login and nothing else.
    #[serde(skip_serializing_if = "is_zero")]
    pub login_only: u64,
    /// Users in the trace.
    pub users: u64,
    /// Actions of the user who has most.
    pub busiest: u64,
    /// Sessions without an end in the source: the log was cut, or does not report it.
    pub without_end: u64,
    /// Sessions without a login in the source: one was inserted before their first action.
    pub without_login: u64,
    /// Connections without a login. They are no sessions.
    pub without_user: u64,
    /// Lines and packets that were written before the ones that precede them. All were sorted. A line may report an
    /// event older than the line: that counts as in order.
    pub out_of_order: u64,
    /// The offset of stamps without a zone from UTC, if lines with a zone showed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneTally>,
    /// Logins whose time is known to the second only.
    #[serde(skip_serializing_if = "is_zero")]
    pub coarse_logins: u64,
    /// Commands that another source also had: they count once.
    #[serde(skip_serializing_if = "is_zero")]
    pub doubled: u64,
    /// Requests of access logs whose line another file also had: they count once.
    #[serde(skip_serializing_if = "is_zero")]
    pub doubled_requests: u64,
    /// The longest pause after which a command followed a SELECT directly: microseconds.
    pub window_us: u64,
    /// Commands that began an action, by name.
    pub began: BTreeMap<String, u64>,
    /// Commands that joined an action begun by another command, by name.
    pub merged: BTreeMap<String, u64>,
    /// Commands and pages that no page of a web mail shows, by name.
    pub dropped: BTreeMap<String, u64>,
    /// Unknown commands and pages, by name.
    pub unknown: BTreeMap<String, u64>,
}

/// Files without a row of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MoreFiles {
    /// Their number.
    pub files: u64,
    /// Of these: skipped, as they are empty, of no known format, or cannot be unpacked.
    pub skipped: u64,
    /// Of these: could not be read to their end.
    pub cut: u64,
    /// Lines, packets or entries in them.
    pub units: u64,
    /// Units that were understood.
    pub understood: u64,
    /// Units of kinds that carry nothing about users' actions.
    pub beside: u64,
    /// Units that should have been understood, and were not.
    pub not_understood: u64,
}

/// The offset of stamps without a zone from UTC.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ZoneTally {
    /// The offset found by comparison: `+01:00`.
    pub found: String,
    /// The offset given as an option, which takes precedence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Sessions (or lines) that agree with it.
    pub agree: u64,
    /// Sessions (or lines) that were compared.
    pub of: u64,
}

/// The account of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FileTally {
    /// Its name, without folders.
    pub name: String,
    /// The detected format.
    pub format: String,
    /// Lines, packets or entries in it.
    pub units: u64,
    /// Units that were understood.
    pub understood: u64,
    /// Units of kinds that carry nothing about users' actions: other programs' lines, packets of other ports.
    #[serde(skip_serializing_if = "is_zero")]
    pub beside: u64,
    /// Units that should have been understood, and were not.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_understood: u64,
    /// The host of its requests, if it names hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its requests that are not of that host, or of no service.
    #[serde(skip_serializing_if = "LeftOut::is_empty")]
    pub left_out: LeftOut,
    /// Request times that were taken from its lines.
    #[serde(skip_serializing_if = "is_zero")]
    pub times: u64,
    /// Lines that end in a number which may be anything, and was not taken for a time.
    #[serde(skip_serializing_if = "is_zero")]
    pub numbers: u64,
    /// The first that were not understood, with position and problem.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// The reason that nothing of it was read: it is empty, of no known format, or cannot be unpacked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The reason that it could not be read to its end, with the position. The part before was imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

impl Tally {
    /// The number of files with accounts.
    #[must_use]
    pub fn count_files(&self) -> u32 {
        let more = self.more.map_or(0, |more| more.files);
        u32::try_from(more).unwrap_or(u32::MAX).saturating_add(u32::try_from(self.files.len()).unwrap_or(u32::MAX))
    }

    /// Adds the account of a file.
    pub fn add(&mut self, file: FileTally) {
        let over = if self.files.len() < FILES {
            self.files.push(file);
            return;
        } else if file.is_sound() {
            file
        } else if let Some(sound) = self.files.iter_mut().rev().find(|file| file.is_sound()) {
            std::mem::replace(sound, file)
        } else {
            file
        };
        let more = self.more.get_or_insert_default();
        more.files += 1;
        more.skipped += u64::from(over.skipped.is_some());
        more.cut += u64::from(over.cut.is_some());
        more.units += over.units;
        more.understood += over.understood;
        more.beside += over.beside;
        more.not_understood += over.not_understood;
    }

    /// How its actions are spread over users.
    #[must_use]
    pub fn spread(&self) -> UserSpread {
        UserSpread {
            users: self.users,
            requests: self.actions,
            busiest: self.busiest,
            sessions: self.sessions,
            login_only: self.login_only,
            of_one: self.files.iter().all(|file| [HAR, SCRIPT].contains(&&*file.format)),
        }
    }

    /// The number of commands that were read.
    #[must_use]
    pub fn commands(&self) -> u64 {
        [&self.began, &self.merged, &self.dropped, &self.unknown].into_iter().flat_map(BTreeMap::values).sum()
    }

    /// The account without names of files, and without names of commands that may be words of users.
    #[must_use]
    pub fn without_names(mut self) -> Self {
        for file in &mut self.files {
            file.name = String::new();
            file.examples = Vec::new();
            file.host = None;
            file.left_out = LeftOut::default();
            file.cut = file.cut.take().map(|_| "it was cut".into());
            file.skipped = file.skipped.take().map(|_| "it was passed over".into());
        }
        let unknown: u64 = self.unknown.values().sum();
        self.unknown = if unknown > 0 { BTreeMap::from([("others".into(), unknown)]) } else { BTreeMap::new() };
        self
    }
}

impl FileTally {
    /// True if the file was read to its end, and understood.
    fn is_sound(&self) -> bool {
        self.skipped.is_none() && self.cut.is_none() && self.not_understood == 0
    }

    /// Counts a unit that should have been understood.
    pub fn complain(&mut self, place: &dyn Display, problem: &str) {
        self.not_understood += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("{place}: {problem}"));
        }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_have_a_sum_and_what_is_wrong_has_a_row() {
        let mut tally = Tally::default();
        for number in 0..20_000 {
            let cut = (number == 19_000).then(|| "line 7: it ends here".to_owned());
            tally.add(FileTally { name: format!("{number}.in"), units: 3, understood: 2, cut, ..FileTally::default() });
        }
        let more = tally.more.expect("a sum");
        assert_eq!((tally.files.len(), more.files, more.units, more.cut), (FILES, 19_968, 3 * 19_968, 0));
        assert!(tally.files.iter().any(|file| file.cut.is_some()));
        // For any number of errors.
        for number in 0..1000 {
            let skipped = Some("it is empty".to_owned());
            tally.add(FileTally { name: number.to_string(), skipped, ..FileTally::default() });
        }
        let more = tally.more.expect("a sum");
        assert_eq!((tally.files.len(), more.files, more.skipped), (FILES, 20_968, 969));
    }

    #[test]
    fn only_the_first_places_are_named() {
        let mut file = FileTally::default();
        for line in 0..100 {
            file.complain(&format_args!("line {line}"), "no time");
        }
        assert_eq!((file.not_understood, file.examples.len()), (100, EXAMPLES));
        assert_eq!(file.examples[1], "line 1: no time");
    }
}
