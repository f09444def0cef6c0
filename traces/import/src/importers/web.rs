//! Requests to web servers: access logs (Common and Combined), HAR files, and h2load's timing scripts.

use std::io::{self, Read};

use serde::de::IgnoredAny;
use traces::{tally, trace::RecordOutcome};

use crate::{
    entry::{Cost, EventKind, LogLine, Page},
    importer::{Certainty, Importer, Mark, Reads, Stream},
    rules::Found,
    sink::{LineResult, Sink, Stop},
    timestamps::{rfc3339, with_month_name, within_second},
    web::{HarEntry, HarError, HarFound, LoggedRequest, TimeFound, begins_as_har, main_host, read_har},
};

/// The usual time limit of a request in web servers, microseconds: 60 s in nginx and Apache. For logs without
/// durations.
const LONGEST: i64 = 60_000_000;

/// Access logs.
pub const ACCESS_LOG: Importer = Importer {
    name: "access log",
    files: "access logs (Common, Combined)",
    mark: Mark::Line(|line| {
        let (stamp, _) = line.split_once(" [")?.1.split_once("] \"")?;
        (stamp.len() > 20 && stamp.as_bytes()[2] == b'/').then_some(Certainty::Form)
    }),
    reads: Reads::Log(|_, from, sink| access_log(from, sink)),
};

/// Reads an access log to its end.
fn access_log(from: impl Read, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let time = sink.options.request_time;
    sink.lines(from, |line, sink| {
        let Some(request) = LoggedRequest::of(line, time) else {
            return Ok(LineResult::Not("this is no line of the Common or Combined log format"));
        };
        let Some(at) = with_month_name(request.stamp) else { return Ok(LineResult::Not("its time cannot be read")) };
        match request.time {
            TimeFound::Taken => sink.file.times += 1,
            TimeFound::Number => sink.file.numbers += 1,
            TimeFound::Nothing => {}
        }
        // Some servers stamp a line with the time of writing, which is that of the answer, others with the time of the
        // request.
        let longest = request.lasted.map_or(LONGEST, |lasted| i64::try_from(lasted).unwrap_or(LONGEST));
        sink.written(at..=within_second(at).end() + longest);
        let line = Some(LogLine { file: sink.number, id: request.id() });
        let LoggedRequest { user, method, url, status, received, lasted, .. } = &request;
        let cost = Cost { lasted: *lasted, sent: None, received: *received, outcome: outcome(*status) };
        page(at, "", &Asked { user, method, url, other_host: None, cost, line }, sink)
    })
}

/// Timing scripts of h2load.
pub const SCRIPT: Importer = Importer {
    name: tally::SCRIPT,
    files: "h2load timing scripts",
    mark: Mark::Line(|line| {
        let (offset, uri) = line.split_once('\t')?;
        let is_request = offset.parse::<f64>().is_ok() && (uri.starts_with('/') || uri.contains("://"));
        is_request.then_some(Certainty::Number)
    }),
    reads: Reads::Log(|_, from, sink| script(from, sink)),
};

/// Reads a timing script of h2load: milliseconds, a tab, a URI.
fn script(from: impl Read, sink: &mut Sink<'_>) -> Result<(), Stop> {
    sink.dated = false;
    sink.lines(from, |line, sink| {
        let wrong = LineResult::Not("this is no offset in milliseconds, a tab, and a URI");
        let Some((offset, uri)) = line.split_once('\t') else { return Ok(wrong) };
        match offset.trim().parse::<f64>() {
            Ok(offset) if (0.0..=1e12).contains(&offset) => {
                let at = (offset * 1000.0).round() as i64;
                sink.written(at..=at);
                let (user, url, cost) = ("script", path_of(uri.trim()), Cost::default());
                page(at, "script", &Asked { user, method: "GET", url, other_host: None, cost, line: None }, sink)
            }
            _ => Ok(wrong),
        }
    })
}

/// HAR files.
pub const HAR: Importer =
    Importer { name: tally::HAR, files: "HAR", mark: Mark::Beginning(begins_as_har), reads: Reads::Log(har) };

/// The number of entries by which the host of a recording is found.
const HELD: usize = 1000;

/// Reads a HAR file to its end, one entry at a time.
fn har(name: &str, from: Stream, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut recording = Recording { name, sink, held: Vec::new() };
    let read = read_har(from, &mut |found| recording.take(found));
    match (read, recording.tell_held()) {
        (Err(HarError::File(place, error)), Ok(())) => Err(Stop::Source(place, error)),
        (Err(HarError::Receiver(error)), _) | (_, Err(error)) => Err(Stop::Spool(error)),
        (Ok(()), Ok(())) => Ok(()),
    }
}

/// A HAR file that is being read.
struct Recording<'s, 'a> {
    name: &'s str,
    sink: &'s mut Sink<'a>,
    /// Its first entries, until its host is known.
    held: Vec<HarFound<IgnoredAny>>,
}

impl Recording<'_, '_> {
    fn take(&mut self, found: HarFound<IgnoredAny>) -> io::Result<()> {
        if self.sink.file.host.is_some() {
            return self.tell(&found);
        }
        self.held.push(found);
        if self.held.len() < HELD { Ok(()) } else { self.tell_held() }
    }

    /// Tells of the held entries, now that there are no others or enough.
    fn tell_held(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        let requests = held.iter().filter_map(|found| match found {
            HarFound::Request(entry) => Some(entry),
            HarFound::Scheme(_) | HarFound::Not(_) => None,
        });
        if self.sink.file.host.is_none() {
            self.sink.file.host = main_host(&requests, &[]).map(str::to_owned);
        }
        held.iter().try_for_each(|found| self.tell(found))
    }

    fn tell(&mut self, found: &HarFound<IgnoredAny>) -> io::Result<()> {
        let heard = match found {
            HarFound::Request(entry) => heard(self.name, entry, self.sink)?,
            HarFound::Scheme(scheme) => {
                self.sink.file.left_out.because(&format!("{scheme}: URLs"));
                LineResult::Beside
            }
            HarFound::Not(problem) => LineResult::Not(problem),
        };
        let number = self.sink.file.units + 1;
        self.sink.heard(heard, format_args!("entry {number}"));
        Ok(())
    }
}

fn heard(name: &str, entry: &HarEntry<IgnoredAny>, sink: &mut Sink<'_>) -> io::Result<LineResult> {
    let HarEntry { method, host, path, lasted, sent, received, status, .. } = entry;
    let Some(at) = entry.started.as_deref().and_then(rfc3339) else {
        return Ok(LineResult::Not("its startedDateTime cannot be read"));
    };
    sink.written(at..=at);
    let cost = Cost { lasted: *lasted, sent: *sent, received: *received, outcome: outcome(*status) };
    let other_host = (sink.file.host.as_ref() != Some(host)).then_some(host.as_str());
    page(at, "", &Asked { user: name, method, url: path, other_host, cost, line: None }, sink)
}

/// A request in a source.
struct Asked<'a> {
    user: &'a str,
    method: &'a str,
    url: &'a str,
    /// The host, if the recording is about another.
    other_host: Option<&'a str>,
    cost: Cost,
    line: Option<LogLine>,
}

/// Converts a request to an action, if a rule matches.
fn page(at: i64, session: &str, asked: &Asked<'_>, sink: &mut Sink<'_>) -> io::Result<LineResult> {
    let &Asked { user, method, url, other_host, cost, line } = asked;
    let options = sink.options;
    // The first part of the path, without parts that may contain names or secrets.
    let named = || {
        let first = url.split(['?', '#']).next().unwrap_or_default().split('/').nth(1).unwrap_or_default();
        format!("{method} /{first}")
    };
    match options.rules.find_at(other_host, method, url) {
        Found::Action(action, object) => {
            sink.entry(at, session, user, EventKind::Page(Page { action: action.to_owned(), object, line, cost }))?;
        }
        Found::Drop => sink.dropped(&named()),
        Found::Unknown => match other_host {
            Some(host) => {
                sink.file.left_out.host(host);
                return Ok(LineResult::Beside);
            }
            None => sink.unknown(&named()),
        },
    }
    Ok(LineResult::Understood)
}

fn outcome(status: u16) -> RecordOutcome {
    match status {
        // The client had gone: nginx, AWS's load balancer.
        0 | 460 | 499 => RecordOutcome::Unanswered,
        429 | 503 => RecordOutcome::Rejected,
        400..=499 => RecordOutcome::Error,
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
