//! The date of a message. Dates in mail are often wrong: a year counted from 1900, no time zone, the clock of a machine
//! that was never set, or none at all.

use mail_parser::{DateTime, HeaderName, HeaderValue, Message};

/// The earliest year: mail began about then, and a clock that was never set says 1970.
const FIRST_YEAR: u16 = 1971;
const LAST_YEAR: u16 = 2099;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The date of sending, seconds since 1970: stated, or else of receipt, or 0.
pub(super) fn of(headers: &Message<'_>, received: Option<i64>) -> i64 {
    // The first hop is the newest: every one puts its own on top.
    let hop = || stated(first(headers, HeaderName::Received)?.rsplit_once(';')?.1);
    first(headers, HeaderName::Date).and_then(stated).or_else(hop).or(received).unwrap_or(0)
}

fn first<'a>(headers: &'a Message<'_>, name: HeaderName<'static>) -> Option<&'a str> {
    headers.header_values(name).find_map(HeaderValue::as_text)
}

/// Parses a date in a header: RFC 5322 with or without a time zone, or in the format of the C library.
fn stated(text: &str) -> Option<i64> {
    let text = text.get(..text.len().min(200)).unwrap_or_default().trim();
    // C's format first: the parser would take its hours for a year.
    envelope_date(text).or_else(|| {
        let zoned = DateTime::parse_rfc822(text).or_else(|| DateTime::parse_rfc822(&format!("{text} +0000")));
        zoned.and_then(plausible)
    })
}

/// The date of an mbox separator line or of any other text that ends like `Mon Jul  8 12:08:34 2002`, with or without a
/// time zone around the year. Seconds since 1970; read as UTC unless the zone is a number.
#[must_use]
pub fn envelope_date(line: &str) -> Option<i64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_month = |word: &str| MONTHS.iter().position(|m| word.eq_ignore_ascii_case(m));
    let at = words.iter().rposition(|word| is_month(word).is_some())?;
    let month = is_month(words[at])? as u8 + 1;
    let day = words.get(at + 1)?.parse().ok()?;
    let mut clock = words.get(at + 2)?.split(':').map(str::parse::<u8>);
    let (hour, minute) = (clock.next()?.ok()?, clock.next()?.ok()?);
    let second = clock.next().map_or(Ok(0), |s| s).ok()?;
    let rest = &words[at + 3..];
    let year = rest.iter().find(|word| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit()))?;
    let zone = rest.iter().find_map(|word| offset(word)).unwrap_or_default();
    let date = DateTime {
        year: year.parse().ok()?,
        month,
        day,
        hour,
        minute,
        second,
        tz_before_gmt: false,
        tz_hour: 0,
        tz_minute: 0,
    };
    plausible(date).map(|utc| utc - zone)
}

/// Parses `+0200` to seconds.
fn offset(word: &str) -> Option<i64> {
    let sign = match word.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = word.get(1..).filter(|d| d.len() == 4 && d.bytes().all(|b| b.is_ascii_digit()))?;
    let number: i64 = digits.parse().ok()?;
    Some(sign * (number / 100 * 3600 + number % 100 * 60))
}

/// Seconds since 1970, if the date is possible.
fn plausible(mut date: DateTime) -> Option<i64> {
    // A program printed C's `tm_year` unchanged: 102 is 2002.
    if (100..200).contains(&date.year) {
        date.year += 1900;
    }
    let can_be = (FIRST_YEAR..=LAST_YEAR).contains(&date.year)
        && (1..=12).contains(&date.month)
        && (1..=31).contains(&date.day)
        && date.hour < 24
        && date.minute < 60
        && date.second <= 60;
    can_be.then(|| date.to_timestamp())
}
