//! Values taken out of answers.

use std::{borrow::Cow, sync::Arc};

use regex::bytes::Regex;

use crate::{
    behaviour::{Home, LinkPlace, cookies},
    page::unescape,
    persona::Answer,
    plan::{Extraction, MOST_BODY, ValueSource},
};

/// The longest value that is remembered, in bytes. A longer one, or one with a control character (which could end a
/// header line), counts as not found.
pub const LONGEST_VALUE: usize = 4096;

/// An extraction, ready to be made.
#[derive(Debug)]
pub(super) struct Extractor {
    /// The number of the value.
    pub(super) value: usize,
    from: ValueSource,
    regex: Option<Regex>,
    default: Option<Arc<str>>,
    in_virtual_time: Option<Arc<str>>,
    /// True if the value is a link: it is resolved on the page where it is found.
    is_link: bool,
}

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Value(Arc<str>),
    /// Nothing matches.
    Nothing,
    /// A link to another host, where users do not go.
    Elsewhere,
}

/// The answer that is searched, and its user.
#[derive(Debug, Clone, Copy)]
pub(super) struct Searched<'a> {
    pub(super) answer: &'a Answer<'a>,
    /// The path that was requested.
    pub(super) path: &'a str,
    pub(super) cookies: &'a str,
    pub(super) home: &'a Home,
    pub(super) in_virtual_time: bool,
}

impl Extractor {
    /// Of the value of this number; `regex` is that of the extraction, compiled.
    pub(super) fn new(value: usize, extraction: &Extraction, regex: Option<Regex>, is_link: bool) -> Self {
        Self {
            value,
            from: extraction.from.clone(),
            regex,
            default: extraction.default.as_deref().map(Arc::from),
            in_virtual_time: extraction.in_virtual_time.as_deref().map(Arc::from),
            is_link,
        }
    }

    /// The value in this answer.
    pub(super) fn find(&self, page: Searched<'_>) -> Found {
        if let Some(value) = self.in_virtual_time.as_ref().filter(|_| page.in_virtual_time) {
            return Found::Value(value.clone());
        }
        let found = match self.search(page) {
            Some(value) if self.is_link => match page.home.find(&value, page.path) {
                LinkPlace::Here(path) if path.len() <= LONGEST_VALUE => return Found::Value(path),
                LinkPlace::Elsewhere => return Found::Elsewhere,
                LinkPlace::Here(_) | LinkPlace::Nowhere => None,
            },
            found => found.map(|value| Arc::from(&*value)),
        };
        found.or_else(|| self.default.clone()).map_or(Found::Nothing, Found::Value)
    }

    fn search<'a>(&self, page: Searched<'a>) -> Option<Cow<'a, str>> {
        let answer = page.answer;
        let found = match &self.from {
            ValueSource::Body => {
                let body = &answer.body[..answer.body.len().min(MOST_BODY)];
                let group = self.group(body)?;
                if is_html(answer) {
                    Cow::Owned(unescape(group)?)
                } else {
                    Cow::Borrowed(std::str::from_utf8(group).ok()?)
                }
            }
            ValueSource::Url => Cow::Borrowed(std::str::from_utf8(self.group(page.path.as_bytes())?).ok()?),
            ValueSource::Header(name) => {
                let mut lines = answer.headers.iter().filter(|(line, _)| line.eq_ignore_ascii_case(name));
                Cow::Borrowed(std::str::from_utf8(lines.find_map(|(_, value)| self.group(value))?).ok()?)
            }
            ValueSource::Cookie(name) => {
                let value = cookies::value(page.cookies, name)?;
                Cow::Borrowed(std::str::from_utf8(self.group(value.as_bytes())?).ok()?)
            }
        };
        let fits = found.len() <= LONGEST_VALUE && !found.bytes().any(|byte| byte < b' ' || byte == 0x7F);
        fits.then_some(found)
    }

    /// The group of the first match; all of the text without a regular expression.
    fn group<'a>(&self, text: &'a [u8]) -> Option<&'a [u8]> {
        match &self.regex {
            None => Some(text),
            Some(regex) => regex.captures(text)?.get(1).map(|group| group.as_bytes()),
        }
    }
}

/// True if a body is HTML: its type says so, or has not been said and it begins with a tag.
fn is_html(answer: &Answer<'_>) -> bool {
    match answer.header("content-type") {
        Some(kind) => kind.to_ascii_lowercase().contains("html"),
        None => answer.body.trim_ascii_start().starts_with(b"<"),
    }
}
