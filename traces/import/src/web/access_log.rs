//! Access logs in the Common and the Combined log format, a line at a time.
//!
//! ```text
//! 192.0.2.1 - joe [21/Nov/2026:01:39:32 +0000] "GET /list?folderid=3 HTTP/1.1" 200 2326 "http://…" "Mozilla/5.0 …" 0.012
//! ```
//!
//! The user is the name, or address and browser without a name. A virtual host can precede the address, and a list of
//! forwarded addresses can stand in its place, before it, or after the browser's name.
//!
//! What follows is of neither format, and servers add anything there: times, but also bytes, ratios, ports. A number is
//! a time if [`RequestTime`] says so, or if it can be nothing else.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    str::FromStr,
};

use super::client::{LogClient, address};

/// A line of an access log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRequest<'a> {
    /// The user.
    pub user: String,
    /// The time, as written.
    pub stamp: &'a str,
    /// The request line: method, URL and protocol.
    pub request: &'a str,
    /// The method.
    pub method: &'a str,
    /// The URL, mostly path and query alone.
    pub url: &'a str,
    /// The status.
    pub status: u16,
    /// Bytes of the answer.
    pub received: Option<u64>,
    /// The request time, microseconds.
    pub lasted: Option<u64>,
    /// What was found of it.
    pub time: TimeFound,
    last: &'a str,
}

/// The time in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeFound {
    /// It was taken.
    Taken,
    /// The line ends in a number that may be anything.
    Number,
    /// There is none.
    Nothing,
}

/// The place of the request time in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestTime {
    /// The last field, if it is a time by its form: with a unit, or seconds with three decimals or more, as nginx writes
    /// times and nothing else.
    #[default]
    Usual,
    /// Nowhere.
    Nowhere,
    /// A field, in a unit of so many microseconds.
    Field {
        /// Its number after the browser's name, from 1; 0: the last field.
        number: usize,
        /// Microseconds.
        unit: u32,
    },
}

const UNITS: [(&str, u32); 4] = [("us", 1), ("µs", 1), ("ms", 1_000), ("s", 1_000_000)];

/// `none`, `last:us`, `2:s`.
impl FromStr for RequestTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (place, unit) = text.split_once(':')?;
            let number = if place == "last" { 0 } else { place.parse().ok().filter(|number| *number > 0)? };
            let (_, unit) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
            Some(Self::Field { number, unit })
        };
        if text == "none" {
            return Ok(Self::Nowhere);
        }
        read().ok_or_else(|| {
            "write last:us for a last field in microseconds (or ms, s), 2:s for the second after the browser's name, or none"
                .to_owned()
        })
    }
}

/// A field of a line.
#[derive(Debug, Clone, Copy, Default)]
struct Field<'a> {
    text: &'a str,
    in_quotes: bool,
}

impl<'a> LoggedRequest<'a> {
    /// Parses a line; `None`: it is of another format.
    #[must_use]
    pub fn of(line: &'a str, time: RequestTime) -> Option<Self> {
        let (who, rest) = line.split_once(" [")?;
        let (stamp, rest) = rest.split_once("] \"")?;
        let (request, rest) = quoted(rest)?;
        let mut words = request.split(' ');
        let (method, url) = (words.next()?, words.next()?);
        let mut after = rest.trim_start().splitn(3, ' ');
        let status: u16 = after.next()?.parse().ok()?;
        let received = after.next().and_then(|bytes| bytes.parse().ok());
        let more = fields(after.next().unwrap_or_default());
        let (agent, more) = match &more[..] {
            [referrer, agent, more @ ..] if referrer.in_quotes && agent.in_quotes => (agent.text, more),
            more => ("", more),
        };
        let LogClient { client, name } = LogClient::of(who)?;
        // Behind a proxy the address is the proxy's, and many servers add the client's after the browser's name.
        let forwarded = more.iter().find(|field| field.in_quotes).and_then(|field| address(field.text));
        let client = forwarded.unwrap_or(client);
        let user = if name == "-" { format!("{client} {agent}") } else { name };
        let lasted = time.of(more);
        let last = more.last().copied().unwrap_or_default();
        let time = match lasted {
            Some(_) => TimeFound::Taken,
            None if time == RequestTime::Usual && !last.in_quotes && last.text.parse::<f64>().is_ok() => {
                TimeFound::Number
            }
            None => TimeFound::Nothing,
        };
        Some(Self { user, stamp, request, method, url, status, received, lasted, time, last: last.text })
    }

    /// A hash that the line shares with its copy in another file, computed without the time.
    #[must_use]
    pub fn id(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.user, self.request, self.status, self.received, self.last).hash(&mut hasher);
        hasher.finish()
    }
}

impl RequestTime {
    /// The time in these fields, microseconds.
    fn of(self, fields: &[Field<'_>]) -> Option<u64> {
        let (field, unit) = match self {
            Self::Nowhere => return None,
            Self::Field { number: 0, unit } => (fields.last()?, Some(unit)),
            Self::Field { number, unit } => (fields.get(number - 1)?, Some(unit)),
            Self::Usual => (fields.last().filter(|field| !field.in_quotes)?, None),
        };
        let named = UNITS.into_iter().find_map(|(name, unit)| Some((field.text.strip_suffix(name)?, unit)));
        let decimals = field.text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let (number, unit) = match (named, unit) {
            (Some(named), _) => named,
            (None, Some(unit)) => (field.text, unit),
            (None, None) if decimals >= 3 => (field.text, 1_000_000),
            (None, None) => return None,
        };
        let micros = number.parse::<f64>().ok()? * f64::from(unit);
        (0.0..1e12).contains(&micros).then(|| micros.round() as u64)
    }
}

/// The fields of the end of a line.
fn fields(text: &str) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let in_quotes = rest.strip_prefix('"').and_then(quoted);
        let (text, after) = in_quotes.unwrap_or_else(|| rest.split_once(' ').unwrap_or((rest, "")));
        fields.push(Field { text, in_quotes: in_quotes.is_some() });
        rest = after.trim_start();
    }
    fields
}

/// The text up to the closing quote, which a backslash may escape; and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return Some((&text[..at], &text[at + 1..])),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(end: &str, place: &str) -> (Option<u64>, TimeFound) {
        let line = format!("192.0.2.1 - - [21/Nov/2026:01:39:32 +0000] \"GET /a HTTP/1.1\" 200 5000 {end}");
        let place = if place.is_empty() { RequestTime::Usual } else { place.parse().expect(place) };
        let request = LoggedRequest::of(&line, place).expect("a line");
        assert_eq!((request.user.as_str(), request.received), ("192.0.2.1 UA", Some(5000)), "{line}");
        (request.lasted, request.time)
    }

    #[test]
    fn a_number_is_a_time_by_its_form_or_because_it_is_said() {
        let agent = "\"-\" \"UA\"";
        for (end, micros) in [(" 0.012", 12_000), (" 1.000", 1_000_000), (" 0.012345", 12_345), (" 12 7ms", 7_000)] {
            assert_eq!(time(&format!("{agent}{end}"), ""), (Some(micros), TimeFound::Taken), "{end}");
        }
        // Bytes (%O), a port, whole seconds (%T) or microseconds (%D), a ratio; and seconds since 1970.
        for end in [" 412 5316", " 443", " 2", " 3.10", " 1795225172.123"] {
            assert_eq!(time(&format!("{agent}{end}"), ""), (None, TimeFound::Number), "{end}");
        }
        for end in ["", " \"-\"", " -", " \"0.012\"", " ms"] {
            assert_eq!(time(&format!("{agent}{end}"), ""), (None, TimeFound::Nothing), "{end}");
        }
        let ingress = format!("{agent} 80 0.004 [default-web-80] [] 10.244.0.9:80 13 0.003 200 c99400a4");
        for (end, place, micros) in [
            (&*ingress, "2:s", Some(4_000)),
            (&*ingress, "7:s", Some(3_000)),
            (&*ingress, "", None),
            ("\"-\" \"UA\" 5316", "last:us", Some(5_316)),
            ("\"-\" \"UA\" 2", "last:s", Some(2_000_000)),
            ("\"-\" \"UA\" \"0.012\"", "1:s", Some(12_000)),
            ("\"-\" \"UA\" 0.012", "none", None),
            ("\"-\" \"UA\" 0.012", "2:s", None),
        ] {
            assert_eq!(time(end, place).0, micros, "{end} {place}");
        }
        for wrong in ["", "last", "0:s", "last:h", "-1:s"] {
            assert!(wrong.parse::<RequestTime>().expect_err(wrong).contains("last:us"), "{wrong}");
        }
    }

    #[test]
    fn quotes_in_a_browsers_name_end_no_field() {
        let line = r#"10.0.0.5 - - [21/Nov/2026:01:39:32 +0000] "GET /a HTTP/1.1" 200 13 "-" "a \"192.0.2.9\" b" "192.0.2.1" 0.004"#;
        let request = LoggedRequest::of(line, RequestTime::Usual).expect("a line");
        assert_eq!((request.user.as_str(), request.lasted), (r#"192.0.2.1 a \"192.0.2.9\" b"#, Some(4_000)));
        // The Common format has no browser.
        let line = "192.0.2.1 - - [21/Nov/2026:01:39:32 +0000] \"GET /a HTTP/1.1\" 200 -";
        let request = LoggedRequest::of(line, RequestTime::Usual).expect("a line");
        assert_eq!((request.user.as_str(), request.received, request.time), ("192.0.2.1 ", None, TimeFound::Nothing));
        assert_eq!(LoggedRequest::of("no line", RequestTime::Usual), None);
    }
}
