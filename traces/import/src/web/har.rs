//! HAR files, as browsers and proxies save them, read one entry at a time.
//!
//! Recorders differ: fields are null or missing, URLs are no places of a service (`data:`, `blob:`, `wss:`), bodies are a
//! text, a list of parameters, or left out. What an entry lacks is nothing; an entry that cannot be sent again says why.

use std::{
    fmt,
    io::{self, BufReader, Read},
};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned, DeserializeSeed, IgnoredAny},
};
use url::Url;

use super::place::place_of;

/// A request, and what is said of its body: [`PostData`], or nothing ([`IgnoredAny`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarEntry<B> {
    /// When it was sent, as written (RFC 3339).
    pub started: Option<String>,
    /// Microseconds until the answer was complete.
    pub lasted: Option<u64>,
    /// The method.
    pub method: String,
    /// The host, with its port unless that is the scheme's own.
    pub host: String,
    /// Path and query.
    pub path: String,
    /// The body.
    pub body: Option<B>,
    /// Bytes of the body.
    pub sent: Option<u64>,
    /// Bytes of the answer's body.
    pub received: Option<u64>,
    /// The status; 0: there is no answer.
    pub status: u16,
    /// True if the answer is a page, and no redirect to one.
    pub is_page: bool,
}

/// An element of `entries`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HarFound<B> {
    /// A request of HTTP.
    Request(HarEntry<B>),
    /// The URL has another scheme: `data`, `blob`, `wss`.
    Scheme(String),
    /// It is no request, for this reason.
    Not(&'static str),
}

/// The reason that a file was not read to its end.
#[derive(Debug)]
pub enum HarError {
    /// The file is cut or broken: at this place, for this reason.
    File(String, io::Error),
    /// The receiver of the entries failed.
    Receiver(io::Error),
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PostData {
    #[serde(rename = "mimeType", default, deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    text: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    params: Option<Vec<Param>>,
    #[serde(default, deserialize_with = "lenient")]
    encoding: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Param {
    #[serde(default)]
    name: String,
    #[serde(default)]
    value: Option<String>,
}

/// The type of a body that is a list of parameters, if none is given.
const FORM: &str = "application/x-www-form-urlencoded";

impl PostData {
    /// The body with its type.
    ///
    /// # Errors
    /// If the file does not have the body as it was sent: what is missing.
    pub fn body(self) -> Result<(String, Option<String>), &'static str> {
        let Self { kind, text, params, encoding } = self;
        let (kind, params) = (kind.filter(|kind| !kind.is_empty()), params.unwrap_or_default());
        match text.filter(|text| !text.is_empty() || params.is_empty()) {
            Some(_) if encoding.is_some_and(|encoding| !encoding.is_empty()) => Err("whose body is encoded"),
            Some(text) => Ok((text, kind)),
            None if params.is_empty() => Ok((String::new(), kind)),
            None if kind.as_ref().is_some_and(|kind| !kind.to_ascii_lowercase().starts_with(FORM)) => {
                Err("whose body is a form of several parts, without its text")
            }
            None => {
                let mut form = url::form_urlencoded::Serializer::new(String::new());
                form.extend_pairs(params.iter().map(|param| (&param.name, param.value.as_deref().unwrap_or_default())));
                Ok((form.finish(), Some(kind.unwrap_or_else(|| FORM.to_owned()))))
            }
        }
    }
}

/// The host that a recording is about: the first of `wanted` that it has; else that of its first page, which redirects
/// (`shop.example` to `www.shop.example`) are not; else that of its first request.
pub fn main_host<'e, B: 'e>(
    entries: &(impl Iterator<Item = &'e HarEntry<B>> + Clone),
    wanted: &[String],
) -> Option<&'e str> {
    let asked = wanted.iter().find_map(|host| entries.clone().find(|entry| entry.host == *host));
    let page = || entries.clone().find(|entry| entry.is_page);
    asked.or_else(page).or_else(|| entries.clone().next()).map(|entry| entry.host.as_str())
}

/// Reads a file to its end.
///
/// # Errors
/// If it is no HAR or cut, or `each` fails.
pub fn read_har<B: DeserializeOwned>(
    from: impl Read,
    each: &mut dyn FnMut(HarFound<B>) -> io::Result<()>,
) -> Result<(), HarError> {
    let mut failed = None;
    let result = {
        let mut json = serde_json::Deserializer::from_reader(BufReader::new(from));
        let mut take = |entry: Entry<B>| {
            each(entry.found()).map_err(|error| {
                failed = Some(error);
                "not taken"
            })
        };
        Part { take: &mut take, level: Level::File }.deserialize(&mut json)
    };
    match (failed, result) {
        (Some(error), _) => Err(HarError::Receiver(error)),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => Err(HarError::File(
            format!("line {} (column {})", error.line(), error.column()),
            io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
        )),
    }
}

/// True if this is the beginning of a HAR, by its structure: an object whose `log` is an object with what HARs have.
#[must_use]
pub fn begins_as_har(first: &[u8]) -> bool {
    let mut found = false;
    // The beginning of a file is no whole object: the error at its end says nothing.
    let _ = Probe { found: &mut found, in_log: false }.deserialize(&mut serde_json::Deserializer::from_slice(first));
    found
}

struct Probe<'f> {
    found: &'f mut bool,
    in_log: bool,
}

impl<'de> DeserializeSeed<'de> for Probe<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> de::Visitor<'de> for Probe<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "log" if !self.in_log => map.next_value_seed(Probe { found: &mut *self.found, in_log: true })?,
                "creator" | "browser" | "pages" | "entries" if self.in_log => {
                    *self.found = true;
                    return Err(de::Error::custom("it is one"));
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}

/// A part of `{"log": {"entries": […]}}`, as far as it matters.
struct Part<'t, B> {
    take: &'t mut dyn FnMut(Entry<B>) -> Result<(), &'static str>,
    level: Level,
}

#[derive(Clone, Copy)]
enum Level {
    File,
    Log,
    Entries,
}

impl<'de, B: DeserializeOwned> DeserializeSeed<'de> for Part<'_, B> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.level {
            Level::File | Level::Log => deserializer.deserialize_map(self),
            Level::Entries => deserializer.deserialize_seq(self),
        }
    }
}

impl<'de, B: DeserializeOwned> de::Visitor<'de> for Part<'_, B> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            Level::File | Level::Log => "a HAR file: {\"log\": {\"entries\": […]}}",
            Level::Entries => "a list of requests",
        })
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let level = match (self.level, key.as_str()) {
                (Level::File, "log") => Level::Log,
                (Level::Log, "entries") => Level::Entries,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            map.next_value_seed(Part { take: &mut *self.take, level })?;
        }
        Ok(())
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(entry) = seq.next_element::<Entry<B>>()? {
            (self.take)(entry).map_err(de::Error::custom)?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "B: Deserialize<'de>"))]
struct Entry<B> {
    #[serde(rename = "startedDateTime", default, deserialize_with = "lenient")]
    started: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    time: Option<f64>,
    request: Option<Request<B>>,
    response: Option<Response>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "B: Deserialize<'de>"))]
struct Request<B> {
    #[serde(default, deserialize_with = "lenient")]
    method: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    url: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    body_size: Option<f64>,
    post_data: Option<B>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    #[serde(default, deserialize_with = "lenient")]
    status: Option<f64>,
    #[serde(default, deserialize_with = "lenient")]
    body_size: Option<f64>,
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    #[serde(default, deserialize_with = "lenient")]
    mime_type: Option<String>,
}

/// A value of this type; any other is none.
fn lenient<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Maybe<T> {
        Is(T),
        Not(IgnoredAny),
    }
    Ok(match Maybe::deserialize(deserializer)? {
        Maybe::Is(value) => Some(value),
        Maybe::Not(IgnoredAny) => None,
    })
}

impl<B> Entry<B> {
    fn found(self) -> HarFound<B> {
        let Self { started, time, request, response } = self;
        let Some(Request { method, url, body_size, post_data }) = request else {
            return HarFound::Not("it has no request");
        };
        let Some(method) = method.filter(|method| !method.is_empty()) else { return HarFound::Not("it has no method") };
        let Some(url) = url.and_then(|url| Url::parse(&url).ok()) else {
            return HarFound::Not("its URL cannot be read");
        };
        let Some((host, path)) = place_of(&url) else { return HarFound::Scheme(url.scheme().to_owned()) };
        // Recorders write -1 for what they do not know.
        let bytes = |size: Option<f64>| size.filter(|size| (0.0..1e15).contains(size)).map(|size| size as u64);
        let Response { status, body_size: answered, content } =
            response.unwrap_or(Response { status: None, body_size: None, content: None });
        let status = status.filter(|status| (0.0..1000.0).contains(status)).map_or(0, |status| status as u16);
        let kind = content.and_then(|content| content.mime_type).unwrap_or_default();
        HarFound::Request(HarEntry {
            started,
            lasted: time.filter(|time| (0.0..1e9).contains(time)).map(|time| (time * 1000.0).round() as u64),
            method,
            host,
            path,
            body: post_data,
            sent: bytes(body_size),
            received: bytes(answered),
            status,
            is_page: kind.contains("html") && !(300..400).contains(&status),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<B: DeserializeOwned>(entries: &str) -> Vec<HarFound<B>> {
        let mut found = Vec::new();
        let har = format!(r#"{{"log": {{"version": "1.2", "entries": [{entries}]}}, "more": [1]}}"#);
        let read = read_har(har.as_bytes(), &mut |entry| {
            found.push(entry);
            Ok(())
        });
        read.unwrap_or_else(|error| panic!("{error:?}: {har}"));
        found
    }

    fn body(post_data: &str) -> Result<(String, Option<String>), &'static str> {
        let entry =
            format!(r#"{{"request": {{"method": "POST", "url": "http://shop/buy", "postData": {post_data}}}}}"#);
        match read::<PostData>(&entry).remove(0) {
            HarFound::Request(entry) => entry.body.expect("a body").body(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_null_or_missing_is_not_known() {
        let entries = r#"
            {"startedDateTime": null, "time": null, "request": {"method": "GET", "url": "https://shop:8080/a?b=%20#c",
             "bodySize": null, "postData": null}, "response": null},
            {"time": "soon", "request": {"method": "GET", "url": "http://shop:80"}, "response": {"status": 200.0,
             "bodySize": 7, "content": {"mimeType": "text/html; charset=utf-8"}}},
            {"request": {"method": "GET", "url": "data:text/plain,x"}}, {"request": {"method": "GET", "url": "wss://shop/"}},
            {"request": {"method": "GET", "url": "blob:https://shop/1"}}, {"request": null}, {"request": {"method": "GET"}}"#;
        let found = read::<IgnoredAny>(entries);
        let empty = HarEntry {
            started: None,
            lasted: None,
            method: "GET".to_owned(),
            host: "shop:8080".to_owned(),
            path: "/a?b=%20".to_owned(),
            body: None,
            sent: None,
            received: None,
            status: 0,
            is_page: false,
        };
        let page = HarEntry {
            host: "shop".to_owned(),
            path: "/".to_owned(),
            received: Some(7),
            status: 200,
            is_page: true,
            ..empty.clone()
        };
        let scheme = |scheme: &str| HarFound::Scheme(scheme.to_owned());
        let expected = [
            HarFound::Request(empty),
            HarFound::Request(page),
            scheme("data"),
            scheme("wss"),
            scheme("blob"),
            HarFound::Not("it has no request"),
            HarFound::Not("its URL cannot be read"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_body_is_a_text_or_parameters_or_not_in_the_file() {
        let form = Some(FORM.to_owned());
        let params = r#""params": [{"name": "a b", "value": "1&2"}, {"name": "c"}]"#;
        assert_eq!(body(&format!("{{{params}}}")), Ok(("a+b=1%262&c=".to_owned(), form.clone())));
        let typed = format!(r#"{{"mimeType": "{FORM};charset=UTF-8", "text": "", {params}}}"#);
        assert_eq!(body(&typed), Ok(("a+b=1%262&c=".to_owned(), Some(format!("{FORM};charset=UTF-8")))));
        let both = format!(r#"{{"mimeType": "{FORM}", "text": "x=y", {params}}}"#);
        assert_eq!(body(&both), Ok(("x=y".to_owned(), form)));
        let text = r#"{"mimeType": "text/plain", "text": "x", "params": []}"#;
        assert_eq!(body(text), Ok(("x".to_owned(), Some("text/plain".to_owned()))));
        assert_eq!(body("{}"), Ok((String::new(), None)));
        let parts = format!(r#"{{"mimeType": "multipart/form-data; boundary=x", {params}}}"#);
        assert_eq!(body(&parts), Err("whose body is a form of several parts, without its text"));
        assert_eq!(body(r#"{"text": "eA==", "encoding": "base64"}"#), Err("whose body is encoded"));
    }

    #[test]
    fn the_host_is_the_wanted_one_or_that_of_the_first_page() {
        let entry = |host: &str, is_page: bool| HarEntry::<IgnoredAny> {
            started: None,
            lasted: None,
            method: String::new(),
            host: host.to_owned(),
            path: String::new(),
            body: None,
            sent: None,
            received: None,
            status: 200,
            is_page,
        };
        let entries = [entry("shop", false), entry("cdn", false), entry("www.shop", true), entry("ads", true)];
        let main = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|host| (*host).to_owned()).collect();
            main_host(&entries.iter(), &wanted).expect("a host")
        };
        assert_eq!((main(&[]), main(&["127.0.0.1:80"]), main(&["x", "cdn"])), ("www.shop", "www.shop", "cdn"));
        assert_eq!(main_host(&entries[..2].iter(), &[]), Some("shop"));
    }

    #[test]
    fn a_har_is_told_by_its_structure() {
        for har in [
            r#"{"log": {"version": "1.2", "creator": {"name": "Fire"#,
            r#"{"log":{"entries":[{"request":{"queryString":[{"name":"start_time","value":"imap( dovecot: "#,
            "\n{\"comment\": \"x\", \"log\": {\"pages\": [",
        ] {
            assert!(begins_as_har(har.as_bytes()), "{har}");
        }
        for other in [
            r#"{"log":"192.0.2.1 - - creator entries\n","stream":"stdout"}"#,
            r#"{"message":"\"log\" \"entries\"","log":{"level":"info"}}"#,
            r#"{"start_time":"2026-11-21T10:00:01Z"}"#,
            "[]",
            "",
        ] {
            assert!(!begins_as_har(other.as_bytes()), "{other}");
        }
    }
}
