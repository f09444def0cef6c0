//! Requests to web servers: access logs (Common and Combined), HAR files, and h2load's timing scripts.
//!
//! ```text
//! 192.0.2.1 - joe [21/Nov/2026:01:39:32 +0000] "GET /list?folderid=3 HTTP/1.1" 200 2326 "http://…" "Mozilla/5.0 …" 0.012
//! ```
//!
//! The last number belongs to neither format, but is often added: seconds with a decimal point (nginx), or whole
//! microseconds (Apache's `%D`). The user is the name, or address and browser without a name. A virtual host can
//! precede the address, and a list of forwarded addresses can stand in its place, or at the end of the line.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read},
};

use serde::{
    Deserialize,
    de::{self, DeserializeSeed as _},
};

use super::{
    entry::{Cost, EventKind, LogLine, Page},
    log_client::{LogClient, address},
    rules::Found,
    sink::{LineResult, Sink, Stop},
    timestamps::{rfc3339, with_month_name, within_second},
};
use crate::trace::RecordOutcome;

/// The usual time limit of a request in web servers, microseconds: 60 s in nginx and Apache. For logs without
/// durations.
const LONGEST: i64 = 60_000_000;

/// Reads an access log to its end.
pub fn access_log(from: impl Read, sink: &mut Sink<'_>) -> Result<(), Stop> {
    sink.lines(from, |line, sink| {
        let Some(request) = Request::of(line) else {
            return Ok(LineResult::Not("this is no line of the Common or Combined log format"));
        };
        let Some(at) = with_month_name(request.stamp) else { return Ok(LineResult::Not("its time cannot be read")) };
        // Some servers stamp a line with the time of writing, which is that of the answer, others with the time of the
        // request.
        let longest = request.cost.lasted.map_or(LONGEST, |lasted| i64::try_from(lasted).unwrap_or(LONGEST));
        sink.written(at..=within_second(at).end() + longest);
        let line = Some(LogLine { file: sink.number, id: request.id() });
        let Request { user, method, url, cost, .. } = &request;
        page(at, "", &Asked { user, method, url, cost: *cost, line }, sink)
    })
}

/// Reads a timing script of h2load: milliseconds, a tab, a URI.
pub fn script(from: impl Read, sink: &mut Sink<'_>) -> Result<(), Stop> {
    sink.dated = false;
    sink.lines(from, |line, sink| {
        let wrong = LineResult::Not("this is no offset in milliseconds, a tab, and a URI");
        let Some((offset, uri)) = line.split_once('\t') else { return Ok(wrong) };
        match offset.trim().parse::<f64>() {
            Ok(offset) if (0.0..=1e12).contains(&offset) => {
                let at = (offset * 1000.0).round() as i64;
                sink.written(at..=at);
                let (user, url, cost) = ("script", path_of(uri.trim()), Cost::default());
                page(at, "script", &Asked { user, method: "GET", url, cost, line: None }, sink)
            }
            _ => Ok(wrong),
        }
    })
}

/// Reads a HAR file to its end, one entry at a time.
pub fn har(name: &str, from: impl Read, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut full = None;
    let result = {
        let mut json = serde_json::Deserializer::from_reader(io::BufReader::new(from));
        HarPart { name, sink, full: &mut full, level: HarLevel::File }.deserialize(&mut json)
    };
    match (full, result) {
        (Some(error), _) => Err(Stop::Spool(error)),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => Err(Stop::Source(
            format!("line {} (column {})", error.line(), error.column()),
            io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
        )),
    }
}

/// A request in a source.
struct Asked<'a> {
    user: &'a str,
    method: &'a str,
    url: &'a str,
    cost: Cost,
    line: Option<LogLine>,
}

/// Converts a request to an action, if a rule matches.
fn page(at: i64, session: &str, asked: &Asked<'_>, sink: &mut Sink<'_>) -> io::Result<LineResult> {
    let &Asked { user, method, url, cost, line } = asked;
    let options = sink.options;
    // The first part of the path, without parts that may contain names or secrets.
    let named = || {
        let first = url.split(['?', '#']).next().unwrap_or_default().split('/').nth(1).unwrap_or_default();
        format!("{method} /{first}")
    };
    match options.rules.find(method, url) {
        Found::Action(action, object) => {
            sink.entry(at, session, user, EventKind::Page(Page { action: action.to_owned(), object, line, cost }))?;
        }
        Found::Drop => sink.dropped(&named()),
        Found::Unknown => sink.unknown(&named()),
    }
    Ok(LineResult::Understood)
}

/// A line of an access log.
struct Request<'a> {
    user: String,
    stamp: &'a str,
    /// The request line: method, URL and protocol.
    request: &'a str,
    method: &'a str,
    url: &'a str,
    status: u16,
    cost: Cost,
}

impl<'a> Request<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (who, rest) = line.split_once(" [")?;
        let (stamp, rest) = rest.split_once("] \"")?;
        let (request, rest) = quoted(rest)?;
        let mut words = request.split(' ');
        let (method, url) = (words.next()?, words.next()?);
        let mut after = rest.trim_start().splitn(3, ' ');
        let status: u16 = after.next()?.parse().ok()?;
        let received = after.next().and_then(|bytes| bytes.parse().ok());
        let more = after.next().unwrap_or_default();
        let agent = more.split('"').nth(3).unwrap_or_default();
        let LogClient { client, name } = LogClient::of(who)?;
        // Behind a proxy the address is the proxy's, and many servers add the client's after the browser's name.
        let client = more.split('"').nth(5).and_then(address).unwrap_or(client);
        let user = if name == "-" { format!("{client} {agent}") } else { name };
        let last = more.rsplit(['"', ' ']).next().unwrap_or_default();
        let lasted = match last.contains('.') {
            true => last.parse().ok().filter(|s: &f64| (0.0..1e6).contains(s)).map(|s| (s * 1e6).round() as u64),
            false => last.parse().ok().filter(|micros: &u64| *micros < 1_000_000_000_000),
        };
        let cost = Cost { lasted, sent: None, received, outcome: outcome(status) };
        Some(Self { user, stamp, request, method, url, status, cost })
    }

    /// A hash that the line shares with its copy in another file, computed without the time.
    fn id(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.user, self.request, self.status, self.cost.received, self.cost.lasted).hash(&mut hasher);
        hasher.finish()
    }
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

fn outcome(status: u16) -> RecordOutcome {
    match status {
        429 | 503 => RecordOutcome::Rejected,
        400..=499 => RecordOutcome::Error,
        0 => RecordOutcome::Unanswered,
        500.. => RecordOutcome::Failed,
        _ => RecordOutcome::Ok,
    }
}

/// Path and query of an absolute URL.
fn path_of(url: &str) -> &str {
    match url.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => url,
    }
}

/// A part of `{"log": {"entries": […]}}`, as far as it matters.
struct HarPart<'s, 'a> {
    name: &'s str,
    sink: &'s mut Sink<'a>,
    /// The reason that an entry could not be stored: no fault of the file.
    full: &'s mut Option<io::Error>,
    level: HarLevel,
}

#[derive(Clone, Copy)]
enum HarLevel {
    File,
    Log,
    Entries,
}

#[derive(Deserialize)]
struct HarEntry {
    #[serde(rename = "startedDateTime")]
    started: String,
    #[serde(default)]
    time: f64,
    request: HarRequest,
    response: HarResponse,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest {
    method: String,
    url: String,
    #[serde(default)]
    body_size: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarResponse {
    #[serde(default)]
    status: i64,
    #[serde(default)]
    body_size: i64,
}

impl<'de> de::DeserializeSeed<'de> for HarPart<'_, '_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.level {
            HarLevel::File | HarLevel::Log => deserializer.deserialize_map(self),
            HarLevel::Entries => deserializer.deserialize_seq(self),
        }
    }
}

impl<'de> de::Visitor<'de> for HarPart<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.level {
            HarLevel::File | HarLevel::Log => "a HAR file: {\"log\": {\"entries\": […]}}",
            HarLevel::Entries => "a list of requests",
        })
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let level = match (self.level, key.as_str()) {
                (HarLevel::File, "log") => HarLevel::Log,
                (HarLevel::Log, "entries") => HarLevel::Entries,
                _ => {
                    map.next_value::<de::IgnoredAny>()?;
                    continue;
                }
            };
            map.next_value_seed(HarPart { sink: &mut *self.sink, full: &mut *self.full, level, ..self })?;
        }
        Ok(())
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(entry) = seq.next_element::<HarEntry>()? {
            let heard = heard(self.name, &entry, self.sink).map_err(|error| {
                *self.full = Some(error);
                de::Error::custom("there is no room")
            })?;
            let number = self.sink.file.units + 1;
            self.sink.heard(heard, format_args!("entry {number}"));
        }
        Ok(())
    }
}

fn heard(name: &str, entry: &HarEntry, sink: &mut Sink<'_>) -> io::Result<LineResult> {
    let Some(at) = rfc3339(&entry.started) else { return Ok(LineResult::Not("its startedDateTime cannot be read")) };
    sink.written(at..=at);
    let size = |size: i64| u64::try_from(size).ok();
    let cost = Cost {
        lasted: (0.0..1e9).contains(&entry.time).then(|| (entry.time * 1000.0).round() as u64),
        sent: size(entry.request.body_size),
        received: size(entry.response.body_size),
        outcome: outcome(u16::try_from(entry.response.status).unwrap_or(0)),
    };
    let HarRequest { method, url, .. } = &entry.request;
    page(at, "", &Asked { user: name, method, url: path_of(url), cost, line: None }, sink)
}
