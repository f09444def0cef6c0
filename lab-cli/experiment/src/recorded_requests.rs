//! Requests of recordings: HAR files and access logs. Equal ones are one, with their number as its weight.
//!
//! A load asks one service. Requests of a recording to other hosts are left out, and so are those that users cannot send as
//! they were sent; what was left out is said in words.

use std::{collections::BTreeMap, io::Read};

use analysis::text::without_os_numbers;
use trace_import::web::{
    ContainerLog, HarEntry, HarError, HarFound, LoggedRequest, PostData, RequestTime, main_host, place_of, read_har,
};
use traces::{
    LeftOut,
    lines::{Line, Lines},
};
use url::Url;
use workloads::{persona::Method, plan::UrlRequest, url::MOST_REQUESTS};

/// The number of request types in tables at most: further ones of a recording are `other`.
const MOST_TYPES: usize = 24;

/// The longest line of an access log, bytes.
const LONGEST_LINE: usize = 1 << 20;

/// Requests of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FileRequests {
    /// Requests that users draw from.
    pub requests: Vec<UrlRequest>,
    /// Parts of the file that are not sent, in a sentence.
    pub left_out: Option<String>,
}

/// Requests that are being collected.
#[derive(Debug, Default)]
struct Collected {
    requests: Vec<UrlRequest>,
    /// Indices by method, path and body.
    places: BTreeMap<(String, String, Option<String>), usize>,
    taken: u64,
    left_out: LeftOut,
}

/// Reads the recording of a browser or a proxy. `hosts`: what the target is called; the first of them that the recording has
/// counts, else the host of its first page.
pub fn from_har(from: impl Read, hosts: &[String]) -> Result<FileRequests, String> {
    let mut collected = Collected::default();
    let mut entries: Vec<HarEntry<PostData>> = Vec::new();
    let read = read_har(from, &mut |found| {
        match found {
            HarFound::Request(entry) => entries.push(entry),
            HarFound::Scheme(scheme) => collected.left_out.because(&format!("{scheme}: URLs")),
            HarFound::Not(_) => collected.left_out.because("that are no requests"),
        }
        Ok(())
    });
    read.map_err(|error| match error {
        HarError::File(place, error) => format!("{place}: {}", without_os_numbers(&error.to_string())),
        HarError::Receiver(error) => without_os_numbers(&error.to_string()),
    })?;
    let host = main_host(&entries.iter(), hosts).unwrap_or_default().to_owned();
    for entry in entries {
        if entry.host != host {
            collected.left_out.host(&entry.host);
            continue;
        }
        match sent_again(entry) {
            Ok(request) => collected.take(request),
            Err(reason) => collected.left_out.because(reason),
        }
    }
    collected.finished(&format!("those to {host}"), "this HAR has no request that users could send")
}

/// The request that a user sends for an entry; or what is against it.
fn sent_again(entry: HarEntry<PostData>) -> Result<UrlRequest, &'static str> {
    let HarEntry { method, path, body, sent, .. } = entry;
    let method = Method::of(&method).ok_or("by methods that users do not know")?;
    let (body, kind) = match body {
        Some(body) => body.body().map(|(body, kind)| (Some(body), kind))?,
        None if sent.is_some_and(|bytes| bytes > 0) => return Err("whose body is not in the file"),
        None => (None, None),
    };
    let body = body.filter(|body| !body.is_empty());
    let headers = kind.filter(|_| body.is_some()).map(|kind| ("Content-Type".to_owned(), kind)).into_iter().collect();
    Ok(request(method, path, headers, body))
}

/// Reads an access log in the common or combined format. Requests of methods with a body are left out, since the log does not
/// have the body.
pub fn from_log(from: impl Read) -> Result<FileRequests, String> {
    let mut collected = Collected::default();
    let mut host = None;
    let (mut lines, mut container) = (Lines::new(from, LONGEST_LINE), ContainerLog::default());
    loop {
        let place = lines.place();
        match lines.next().map_err(|error| format!("{place}: {}", without_os_numbers(&error.to_string())))? {
            None => break,
            Some(Line::TooLong) => collected.left_out.because("lines over 1 MiB"),
            Some(Line::Whole(line)) => {
                if let Some(line) = container.line(&String::from_utf8_lossy(line)) {
                    collected.line(line.trim_end(), &mut host);
                }
            }
        }
    }
    if let Some(line) = container.rest() {
        collected.line(line.trim_end(), &mut host);
    }
    collected.finished("GET requests", "this log has no GET request that was answered")
}

impl Collected {
    fn take(&mut self, request: UrlRequest) {
        self.taken += 1;
        let key = (request.method.clone(), request.path.clone(), request.body.clone());
        let at = *self.places.entry(key).or_insert(self.requests.len());
        match self.requests.get_mut(at) {
            Some(known) => known.weight += 1.0,
            None => self.requests.push(request),
        }
    }

    /// Takes a line of an access log. `host`: of the URLs that name theirs.
    fn line(&mut self, line: &str, host: &mut Option<String>) {
        if line.is_empty() {
            return;
        }
        let parsed = LoggedRequest::of(line, RequestTime::Nowhere);
        let Some(logged) = parsed.filter(|logged| logged.request.contains(" HTTP/")) else {
            return self.left_out.because("lines that are no requests");
        };
        if logged.method != "GET" {
            return self.left_out.because("by other methods than GET");
        }
        let path = match Url::parse(logged.url).ok().and_then(|url| place_of(&url)) {
            Some((this, _)) if *host.get_or_insert_with(|| this.clone()) != this => {
                return self.left_out.host(&this);
            }
            Some((_, path)) => path,
            None => logged.url.to_owned(),
        };
        // What no client of HTTP can send, as scanners do.
        if !path.starts_with('/') || path.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return self.left_out.because("whose URL is no path");
        }
        self.take(request(Method::Get, path, Vec::new(), None));
    }

    /// The most frequent first, and no more than users can have; rare types become `other`.
    fn finished(self, which: &str, nothing: &str) -> Result<FileRequests, String> {
        let Self { requests: mut found, taken, left_out, .. } = self;
        if found.is_empty() {
            let others = if left_out.is_empty() { String::new() } else { format!("; it has {left_out}") };
            return Err(format!("{nothing}{others}"));
        }
        let different = found.len();
        found.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.path.cmp(&b.path)));
        found.truncate(MOST_REQUESTS);
        let mut types: Vec<String> = Vec::new();
        for request in &mut found {
            if types.contains(&request.name) {
                continue;
            }
            if types.len() < MOST_TYPES {
                types.push(request.name.clone());
            } else {
                "other".clone_into(&mut request.name);
            }
        }
        let mut parts = Vec::new();
        if !left_out.is_empty() {
            parts.push(format!("left out: {left_out}"));
        }
        if different > MOST_REQUESTS {
            parts.push(format!("of {different} different ones the {MOST_REQUESTS} most frequent are sent"));
        }
        let left_out = (!parts.is_empty()).then(|| format!("{taken} requests, {which}; {}", parts.join("; ")));
        Ok(FileRequests { requests: found, left_out })
    }
}

/// A list that names URLs: those of one host, the first of `hosts` that it has, else the first. A path without a host is the
/// target's.
pub fn of_one_host(all: Vec<(Option<String>, UrlRequest)>, hosts: &[String]) -> FileRequests {
    let named = || all.iter().filter_map(|(host, _)| host.clone());
    let wanted = hosts.iter().find(|host| named().any(|named| named == **host));
    let host = wanted.cloned().or_else(|| named().next());
    let (mut requests, mut left_out) = (Vec::new(), LeftOut::default());
    for (of, request) in all {
        match of {
            Some(other) if Some(&other) != host.as_ref() => left_out.host(&other),
            _ => requests.push(request),
        }
    }
    let said = (!left_out.is_empty())
        .then(|| format!("{} lines, those of {}; left out: {left_out}", requests.len(), host.unwrap_or_default()));
    FileRequests { requests, left_out: said }
}

/// A request of weight 1, named by its type.
pub fn request(method: Method, path: String, headers: Vec<(String, String)>, body: Option<String>) -> UrlRequest {
    let (name, method) = (type_of(method.name(), &path), method.name().to_owned());
    UrlRequest { name, weight: 1.0, method, path, headers, body }
}

/// `GET /items/*`: the path without its query, with a star for each part that looks like a number or a key.
pub fn type_of(method: &str, path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let key = |part: &str| part.bytes().any(|byte| byte.is_ascii_digit()) || part.len() > 32;
    let parts: Vec<&str> = path.split('/').map(|part| if key(part) { "*" } else { part }).collect();
    format!("{method} {}", parts.join("/"))
}
