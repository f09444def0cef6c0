//! The offset of lines without a zone from UTC, found from the sessions in lines of both kinds.
//!
//! Dovecot stamps its log in local time and its events in UTC. A session's login line and its first event are written
//! at nearly the same moment, so the difference of the two stamps is the zone. In a log that contains events, each of
//! these lines has both stamps.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    ops::RangeInclusive,
};

use super::timestamps::zone_name;

/// The number of compared sessions: those with the smallest hashes, so that both kinds of lines keep the same ones.
const SESSIONS: usize = 4096;

/// Zones are whole quarters of an hour.
const QUARTER: i64 = 15 * 60 * 1_000_000;

/// The largest offset of a zone from UTC: 14 hours, in quarters of an hour.
const FARTHEST: i64 = 14 * 4;

/// The offsets of zones in whole hours.
const HOURS: RangeInclusive<i32> = -12..=14;

/// Zones between whole hours that are in use, with those of summer time (IANA's time zone database).
const BETWEEN_HOURS: [&str; 13] = [
    "-09:30", "-03:30", "-02:30", "+03:30", "+04:30", "+05:30", "+05:45", "+06:30", "+08:45", "+09:30", "+10:30",
    "+12:45", "+13:45",
];

/// The smallest number of sessions that decide a zone of quarters of an hour. Nine of ten must agree, so with fewer
/// than ten all must, and nothing shows how the clients of this log behave: a few that are silent for ten minutes after
/// their logins turn Japan's +09:00 into +08:45. To turn it into another zone of whole or half hours they would have to
/// be silent for over 22 minutes.
const FEWEST_FOR_QUARTERS: u64 = 10;

/// The share of sessions that must agree. A client with a long silence after its login is no evidence.
const AGREE: f64 = 0.9;

/// Compares the stamps of sessions.
#[derive(Debug, Default)]
pub struct Clocks {
    sessions: BTreeMap<u64, Seen>,
    /// Lines with both stamps, by the difference of the stamps in quarters of an hour.
    lines: BTreeMap<i64, u64>,
    /// The first file with a stamp without a zone for a user's event, and the first with a known time.
    files: [Option<String>; 2],
}

/// The kind of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampZone {
    /// Its stamp has no zone.
    Local,
    /// It is UTC: the stamp has a zone, or counts from 1970.
    Zoned,
}

/// The start of a session.
#[derive(Debug, Default)]
struct Seen {
    /// By a stamp without a zone, read as UTC.
    local: Option<i64>,
    /// By a stamp with a zone.
    zoned: Option<i64>,
}

/// The result of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// The offset of stamps without a zone, seconds.
    pub seconds: i32,
    /// Sessions (or lines) that agree with it.
    pub agree: u64,
    /// Sessions (or lines) that were compared.
    pub of: u64,
}

impl Clocks {
    /// Notes that a file has times of this kind.
    pub fn file(&mut self, kind: StampZone, name: &str) {
        self.files[kind as usize].get_or_insert_with(|| name.to_owned());
    }

    /// Notes a session's login, by a stamp without a zone.
    pub fn local(&mut self, session: &str, at: i64) {
        self.seen(session, |seen| seen.local = Some(seen.local.map_or(at, |before| before.min(at))));
    }

    /// Notes an event of a session, by a stamp with a zone.
    pub fn zoned(&mut self, session: &str, at: i64) {
        self.seen(session, |seen| seen.zoned = Some(seen.zoned.map_or(at, |before| before.min(at))));
    }

    /// Notes a line that has both stamps.
    pub fn line(&mut self, local: i64, zoned: i64) {
        *self.lines.entry(quarters(local - zoned)).or_default() += 1;
    }

    fn seen(&mut self, session: &str, see: impl FnOnce(&mut Seen)) {
        let mut hasher = DefaultHasher::new();
        session.hash(&mut hasher);
        let key = hasher.finish();
        let full = self.sessions.len() >= SESSIONS;
        if full && self.sessions.last_key_value().is_some_and(|(last, _)| *last < key) {
            return;
        }
        see(self.sessions.entry(key).or_default());
        if self.sessions.len() > SESSIONS {
            self.sessions.pop_last();
        }
    }

    /// The offset of stamps without a zone, beyond the seconds of the zone that they were read with; `None`: there is
    /// nothing to compare.
    ///
    /// # Errors
    /// If the offset is ambiguous, with the reason.
    pub fn ahead(&self, read_with: i32) -> Result<Option<Ahead>, String> {
        let mut votes = BTreeMap::new();
        for seen in self.sessions.values() {
            if let (Some(local), Some(zoned)) = (seen.local, seen.zoned) {
                *votes.entry(quarters(local - zoned)).or_insert(0) += 1;
            }
        }
        // The zone matters only for lines in local time, and only if there is another clock.
        let [Some(local), Some(zoned)] = &self.files else { return Ok(None) };
        let (votes, what) = if votes.is_empty() { (&self.lines, "lines") } else { (&votes, "sessions") };
        let of: u64 = votes.values().sum();
        let Some((&ahead, &agree)) = votes.iter().max_by_key(|(_, count)| **count) else {
            let which = if local == zoned {
                format!("in {local} some stamps say no zone, and others say theirs")
            } else {
                format!("stamps of {local} say no zone, and those of {zoned} say theirs")
            };
            return Err(format!("{which}; no session is in both kinds of lines, so the two clocks cannot be compared"));
        };
        if (agree as f64) < AGREE * of as f64 {
            let mut found: Vec<_> = votes.iter().collect();
            found.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let of_each = |(ahead, count): &(&i64, &u64)| format!("{} by {count}", shown(**ahead));
            let found: Vec<String> = found.iter().take(3).map(of_each).collect();
            return Err(format!(
                "by the {of} {what} whose time is known in both ways, stamps without a zone are not ahead of UTC by a \
                 constant ({}); where clocks were changed to or from summer time, import what lies before and after apart",
                found.join(", ")
            ));
        }
        if ahead.abs() > FARTHEST {
            return Err(format!(
                "by the {of} {what} whose time is known in both ways, stamps without a zone are {} h away from UTC, \
                 which is no zone; if they have no year either, --year names it",
                ahead / 4
            ));
        }
        let zone = read_with + seconds(ahead);
        let of_quarters = zone % 1800 != 0;
        if !is_zone(zone) {
            return Err(format!(
                "by the {of} {what} whose time is known in both ways, stamps without a zone are {} ahead of UTC, which is no \
                 zone of any place: users may have been silent after they logged in, or a clock was wrong",
                zone_name(zone)
            ));
        }
        if of_quarters && what == "sessions" && of < FEWEST_FOR_QUARTERS {
            return Err(format!(
                "by {of} sessions whose time is known in both ways, stamps without a zone are {} ahead of UTC; fewer than \
                 {FEWEST_FOR_QUARTERS} sessions decide only a zone of whole or half hours",
                zone_name(zone)
            ));
        }
        Ok(Some(Ahead { seconds: seconds(ahead), agree, of }))
    }
}

/// True if some place has this offset from UTC, seconds.
fn is_zone(seconds: i32) -> bool {
    let whole_hours = seconds % 3600 == 0 && HOURS.contains(&(seconds / 3600));
    whole_hours || BETWEEN_HOURS.contains(&zone_name(seconds).as_str())
}

/// The nearest number of quarters of an hour.
fn quarters(micros: i64) -> i64 {
    (micros + QUARTER / 2).div_euclid(QUARTER)
}

fn seconds(quarters: i64) -> i32 {
    i32::try_from(quarters * 900).unwrap_or(0)
}

/// A zone as text, or a difference too large for one.
fn shown(quarters: i64) -> String {
    if quarters.abs() > FARTHEST { format!("{} h", quarters / 4) } else { zone_name(seconds(quarters)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn of_two_files() -> Clocks {
        let mut clocks = Clocks::default();
        clocks.file(StampZone::Local, "mail.log");
        clocks.file(StampZone::Zoned, "events");
        clocks
    }

    /// Sessions a minute apart, whose login lines have these offsets.
    fn sessions(ahead: impl Fn(i64) -> i64) -> Clocks {
        so_many_sessions(100, ahead)
    }

    fn so_many_sessions(count: i64, ahead: impl Fn(i64) -> i64) -> Clocks {
        let mut clocks = of_two_files();
        for number in 0..count {
            let (name, at) = (format!("S{number}"), number * 60_000_000);
            clocks.local(&name, at + ahead(number));
            // The first command comes a little later; the next ones add no information.
            clocks.zoned(&name, at + 300_000);
            clocks.zoned(&name, at + 2 * HOUR);
        }
        clocks
    }

    #[test]
    fn a_constant_difference_is_the_zone() {
        for ahead in [HOUR, -3 * HOUR - HOUR / 2, 5 * HOUR + 3 * HOUR / 4, 0] {
            let found = sessions(|_| ahead).ahead(0);
            let expected = Ahead { seconds: (ahead / 1_000_000) as i32, agree: 100, of: 100 };
            assert_eq!(found, Ok(Some(expected)));
        }
        // A few clients with a long silence do not hide it.
        let found = sessions(|number| if number % 20 == 0 { HOUR / 2 } else { HOUR }).ahead(0).expect("an hour");
        assert_eq!(found, Some(Ahead { seconds: 3600, agree: 95, of: 100 }));
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        let summer_ends = sessions(|number| if number < 50 { 2 * HOUR } else { HOUR }).ahead(0).expect_err("two zones");
        assert!(summer_ends.contains("+01:00 by 50") && summer_ends.contains("+02:00 by 50"), "{summer_ends}");
        let last_year = sessions(|_| -365 * 24 * HOUR).ahead(0).expect_err("no zone");
        assert!(last_year.contains("--year"), "{last_year}");
        let mut apart = of_two_files();
        apart.local("S1", 0);
        apart.zoned("S2", 0);
        let said = apart.ahead(0).expect_err("nothing in common");
        assert!(
            said.starts_with("stamps of mail.log say no zone, and those of events say theirs; no session"),
            "{said}"
        );
        apart.line(HOUR, 3);
        assert_eq!(apart.ahead(0), Ok(Some(Ahead { seconds: 3600, agree: 1, of: 1 })), "lines with both stamps say it");
        let mut one_kind = Clocks::default();
        one_kind.file(StampZone::Local, "mail.log");
        one_kind.local("S1", 0);
        assert_eq!(one_kind.ahead(0), Ok(None));
    }

    #[test]
    fn only_zones_of_some_place_are_believed() {
        let zones: Vec<i64> = (-60..=60).filter(|quarters| sessions(|_| quarters * QUARTER).ahead(0).is_ok()).collect();
        let whole = (-12..=14).map(|hours| hours * 4);
        let between = [-38, -14, -10, 14, 18, 22, 23, 26, 35, 38, 42, 51, 55];
        let mut expected: Vec<i64> = whole.chain(between).collect();
        expected.sort_unstable();
        assert_eq!(zones, expected);
        // A log whose clients are all silent for a quarter of an hour gives no zone.
        let silent = sessions(|_| HOUR - QUARTER).ahead(0).expect_err("no zone");
        assert!(silent.contains("+00:45 ahead of UTC, which is no zone of any place"), "{silent}");
        // For stamps read with a zone the offset is in addition to it.
        let quarter = sessions(|_| QUARTER);
        assert!(quarter.ahead(0).is_err());
        assert_eq!(quarter.ahead(5 * 3600 + 1800).map(|found| found.map(|ahead| ahead.seconds)), Ok(Some(900)));
        let hour = sessions(|_| HOUR);
        assert!(hour.ahead(14 * 3600).is_err(), "+15:00");
    }

    #[test]
    fn few_sessions_decide_whole_and_half_hours_only() {
        let ahead = |count: i64, ahead: i64| so_many_sessions(count, |_| ahead).ahead(0);
        for zone in [HOUR, 5 * HOUR + HOUR / 2, -9 * HOUR - HOUR / 2] {
            assert!(ahead(1, zone).is_ok() && ahead(9, zone).is_ok(), "{zone}");
        }
        for zone in [5 * HOUR + 3 * QUARTER, 8 * HOUR + 3 * QUARTER, 12 * HOUR + 3 * QUARTER, 13 * HOUR + 3 * QUARTER] {
            let few = ahead(9, zone).expect_err("few");
            assert!(few.starts_with("by 9 sessions") && few.contains("fewer than 10 sessions"), "{few}");
            assert!(ahead(10, zone).is_ok(), "{zone}");
        }
        // A line with both stamps is written at one moment: one is enough.
        let mut lines = of_two_files();
        lines.line(5 * HOUR + 3 * QUARTER, 3);
        assert_eq!(lines.ahead(0), Ok(Some(Ahead { seconds: 20_700, agree: 1, of: 1 })));
    }

    #[test]
    fn memory_is_bounded_and_both_kinds_keep_the_same_sessions() {
        let mut clocks = of_two_files();
        for number in 0..20_000 {
            clocks.local(&format!("S{number}"), HOUR);
        }
        for number in (10_000..30_000).rev() {
            clocks.zoned(&format!("S{number}"), 0);
        }
        assert_eq!(clocks.sessions.len(), SESSIONS);
        let found = clocks.ahead(0).expect("an hour").expect("compared");
        assert!(found.seconds == 3600 && found.of > 1000, "{found:?}");
    }
}
