//! Times in logs, in microseconds since 1970.

use std::ops::RangeInclusive;

use jiff::{
    Timestamp,
    civil::{Date, DateTime},
    fmt::{strtime, temporal::DateTimeParser},
    tz::Offset,
};

/// The valid times of a log: 1970 to 2100. Any other is an error of the source.
pub const TIMES: RangeInclusive<i64> = 0..=4_102_444_800_000_000;

const SECOND: i64 = 1_000_000;

/// All moments that a time in whole seconds can mean.
pub fn within_second(at: i64) -> RangeInclusive<i64> {
    at..=at + SECOND - 1
}

/// The parts of a date that the lines of a log omit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// The offset of the log's local time from UTC, seconds; `None`: it is found from the log where possible, and else
    /// is 0.
    pub zone: Option<i32>,
    /// The year of lines without one. A log that continues from December to January continues in the next year.
    pub year: i16,
}

impl Clock {
    /// UTC, in the year of this moment (seconds since 1970): that of the newest log, or the current one.
    #[must_use]
    pub fn of(seconds: i64) -> Self {
        let year = Timestamp::from_second(seconds).map_or(1970, |at| Offset::UTC.to_datetime(at).year());
        Self { zone: None, year }
    }
}

/// A time at the beginning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Microseconds since 1970.
    pub at: i64,
    /// True if it has no fraction: the moment lies anywhere in the second that begins there.
    pub whole_second: bool,
    /// True if it has no zone.
    pub local: bool,
    /// The number of bytes of the line that it takes.
    pub length: usize,
}

impl Stamp {
    /// All moments that it can mean.
    #[must_use]
    pub fn span(&self) -> RangeInclusive<i64> {
        if self.whole_second { within_second(self.at) } else { self.at..=self.at }
    }

    /// The last moment that it can mean. Used for ends: events before an end are then earlier.
    #[must_use]
    pub fn latest(&self) -> i64 {
        *self.span().end()
    }
}

/// RFC 3339, with its zone.
pub fn rfc3339(text: &str) -> Option<i64> {
    let at = DateTimeParser::new().parse_timestamp(text).ok()?.as_microsecond();
    TIMES.contains(&at).then_some(at)
}

/// `21/Nov/2026:01:39:32 +0000`, as web servers write it; `21-Nov-2026 01:39:32 +0000`, as Roundcube does.
pub fn with_month_name(text: &str) -> Option<i64> {
    let format = if text.contains('/') { "%d/%b/%Y:%H:%M:%S %z" } else { "%d-%b-%Y %H:%M:%S %z" };
    let at = strtime::parse(format, text).ok()?.to_timestamp().ok()?.as_microsecond();
    TIMES.contains(&at).then_some(at)
}

/// Seconds since 1970 with up to six decimals: `1700000000.123456`.
pub fn unix(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    if !(1..=10).contains(&seconds.len()) || !digits(seconds) || fraction.len() > 9 || !digits(fraction) {
        return None;
    }
    let micros: i64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    let at = seconds.parse::<i64>().ok()? * SECOND + micros;
    TIMES.contains(&at).then_some(at)
}

/// Reads the stamps of a mail log, one line after another.
#[derive(Debug)]
pub struct Stamps {
    clock: Clock,
    month: i8,
}

impl Stamps {
    pub fn new(clock: Clock) -> Self {
        Self { clock, month: 1 }
    }

    /// `2026-11-21 01:39:32.257662`, `2026-11-21T01:39:32+01:00`, or `Nov 21 01:39:32` without a year.
    pub fn read(&mut self, line: &str) -> Option<Stamp> {
        let stamp = match line.as_bytes().first()? {
            b'0'..=b'9' => self.numeric(line),
            _ => self.syslog(line),
        }?;
        TIMES.contains(&stamp.at).then_some(stamp)
    }

    fn numeric(&self, line: &str) -> Option<Stamp> {
        let bytes = line.as_bytes();
        // Date, one character, time; then a fraction, then a zone.
        let mut length = 19;
        let whole_second = bytes.get(length) != Some(&b'.');
        let digits_from = |from: usize| bytes.iter().skip(from).take_while(|c| c.is_ascii_digit()).count();
        if !whole_second {
            length += 1 + digits_from(length + 1);
        }
        let local = DateTimeParser::new().parse_datetime(line.get(..length)?);
        let offset = match bytes.get(length) {
            Some(b'Z') => {
                length += 1;
                Some(Offset::UTC)
            }
            Some(b'+' | b'-') => {
                let zone = line.get(length..length + 6)?;
                length += 6;
                zone_seconds(zone).and_then(|seconds| Offset::from_seconds(seconds).ok())
            }
            _ => None,
        };
        Some(Stamp { at: self.micros(local.ok()?, offset)?, whole_second, local: offset.is_none(), length })
    }

    fn syslog(&mut self, line: &str) -> Option<Stamp> {
        const LENGTH: usize = "Nov 21 01:39:32".len();
        let text = line.get(..LENGTH)?;
        let parsed = strtime::parse("%b %e %H:%M:%S", text).ok()?;
        let (month, day) = (parsed.month()?, parsed.day()?);
        // A line of January after one of December: the next year. Lines slightly out of order must not count years up.
        if month == 1 && self.month == 12 {
            self.clock.year += 1;
        }
        self.month = month;
        let date = Date::new(self.clock.year, month, day).ok()?;
        let (hour, minute, second) = (parsed.hour()?, parsed.minute()?, parsed.second()?);
        let at = self.micros(date.at(hour, minute, second, 0), None)?;
        Some(Stamp { at, whole_second: true, local: true, length: LENGTH })
    }

    fn micros(&self, local: DateTime, offset: Option<Offset>) -> Option<i64> {
        let offset = match offset {
            Some(offset) => offset,
            None => Offset::from_seconds(self.clock.zone.unwrap_or(0)).ok()?,
        };
        offset.to_timestamp(local).ok().map(Timestamp::as_microsecond)
    }
}

/// Parses `+01:00` to seconds.
pub fn zone_seconds(text: &str) -> Option<i32> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let number = |text: &str, below: i32| {
        let sound = text.len() == 2 && text.bytes().all(|c| c.is_ascii_digit());
        text.parse::<i32>().ok().filter(|number| sound && *number < below)
    };
    Some(sign * (number(hours, 24)? * 3600 + number(minutes, 60)? * 60))
}

/// Formats seconds as `+01:00`.
#[must_use]
pub fn zone_name(seconds: i32) -> String {
    let minutes = seconds.unsigned_abs() / 60;
    let sign = if seconds < 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Formats a time as RFC 3339, for the header of a trace.
pub fn shown(at: i64) -> Option<String> {
    Timestamp::from_microsecond(at).ok().map(|at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Clock = Clock { zone: None, year: 2026 };
    /// 2026-11-21T01:39:32Z.
    const THEN: i64 = 1_795_225_172 * SECOND;

    #[test]
    fn stamps_of_mail_logs_are_read() {
        let mut stamps = Stamps::new(CLOCK);
        let mut read = |line: &str| stamps.read(line).map(|stamp| (stamp.at - THEN, stamp.whole_second, stamp.length));
        assert_eq!(read("2026-11-21 01:39:32.257662 imap-login: x"), Some((257_662, false, 26)));
        assert_eq!(read("2026-11-21T02:39:32+01:00 x"), Some((0, true, 25)));
        assert_eq!(read("2026-11-21 01:39:32 x"), Some((0, true, 19)));
        assert_eq!(read("Nov 21 01:39:32 mail dovecot: x"), Some((0, true, 15)));
        assert_eq!(read("Nov  1 01:39:32 x"), Some((-20 * 86_400 * SECOND, true, 15)));
        for none in ["", "hello", "Nov 31 01:39:32 x", "2026-11-21", "2026-13-21 01:39:32 x", "Növ 21 01:39:32", "9"] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    #[test]
    fn a_log_in_local_time_is_brought_to_utc_and_a_new_year_is_a_new_year() {
        let mut stamps = Stamps::new(Clock { zone: Some(3600), year: 2025 });
        let first = stamps.read("Dec 31 23:59:59 x").expect("a stamp");
        let next = stamps.read("Jan  1 00:00:01 x").expect("a stamp");
        assert_eq!(next.at - first.at, 2 * SECOND);
        assert_eq!(shown(first.at).as_deref(), Some("2025-12-31T22:59:59Z"));
        assert_eq!(first.latest() - first.at, SECOND - 1);
    }

    #[test]
    fn other_forms_are_read() {
        assert_eq!(rfc3339("2026-11-21T01:39:32.863933Z"), Some(THEN + 863_933));
        assert_eq!(with_month_name("21/Nov/2026:02:39:32 +0100"), Some(THEN));
        assert_eq!(with_month_name("21-Nov-2026 01:39:32 +0000"), Some(THEN));
        assert_eq!(unix("1795225172.25"), Some(THEN + 250_000));
        assert_eq!(unix("1795225172"), Some(THEN));
        assert_eq!(zone_seconds("-05:30"), Some(-19_800));
        assert_eq!((zone_name(-19_800), zone_name(0)), ("-05:30".into(), "+00:00".into()));
        assert_eq!(Clock::of(THEN / SECOND), CLOCK);
        for none in ["", "1.2.3", "-1", "99999999999", "1e9", "1795225172.x"] {
            assert_eq!(unix(none), None, "{none}");
        }
        assert_eq!((rfc3339("1969-01-01T00:00:00Z"), rfc3339("2026-11-21")), (None, None));
        assert_eq!((zone_seconds("+1:00"), zone_seconds("+25:00"), zone_seconds("é1:00")), (None, None, None));
    }
}
