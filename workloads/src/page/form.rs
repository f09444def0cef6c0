//! A form on a page, in the form that a browser would send.

use memchr::memmem;

use super::text::{place, push_encoded, unescape};

/// A form, from its mark to its end.
#[derive(Debug)]
pub struct Form<'a> {
    inside: &'a [u8],
    action: String,
}

const HIDDEN: &[u8] = b"<input type=\"hidden\" name=\"";
const CHECKBOX: &[u8] = b"<input type=\"checkbox\" name=\"message\" value=\"";
const OPTION: &[u8] = b"<option value=\"";

impl<'a> Form<'a> {
    /// The form whose `data-do` value begins at `at`, sent to its own action.
    pub(super) fn read(body: &'a [u8], at: usize) -> Option<Self> {
        let inside = inside(body, at)?;
        let tag = &inside[..memchr::memchr(b'>', inside)?];
        let from = memmem::find(tag, b" action=\"")? + 9;
        Some(Self { inside, action: place(&tag[from..])? })
    }

    /// The form whose `data-do` value begins at `at`, sent by the button whose own begins at `button`.
    pub(super) fn with_button(body: &'a [u8], at: usize, button: usize) -> Option<Self> {
        let value = &body[button..];
        let end = memchr::memchr(b'"', value)?;
        let action = place(value[end..].strip_prefix(b"\" formaction=\"")?)?;
        Some(Self { inside: inside(body, at)?, action })
    }

    /// The path that the form is sent to.
    #[must_use]
    pub fn action(&self) -> &str {
        &self.action
    }

    /// Appends the form's hidden fields, encoded; returns true if one of them names a message (on the page of a
    /// message).
    pub fn push_hidden(&self, into: &mut String) -> bool {
        let mut has_message = false;
        for at in memmem::find_iter(self.inside, HIDDEN) {
            let rest = &self.inside[at + HIDDEN.len()..];
            let Some((name, rest)) = split_quote(rest) else { continue };
            let value = rest.strip_prefix(b" value=\"").and_then(split_quote);
            let (Some(name), Some(value)) = (unescape(name), value.and_then(|(value, _)| unescape(value))) else {
                continue;
            };
            has_message |= name == "message";
            push_encoded(into, &name, &value);
        }
        has_message
    }

    /// The number of rows that can be ticked.
    #[must_use]
    pub fn rows(&self) -> usize {
        memmem::find_iter(self.inside, CHECKBOX).count()
    }

    /// The message of a row, counted from 0.
    #[must_use]
    pub fn row(&self, number: usize) -> Option<String> {
        value(self.inside, CHECKBOX, number)
    }

    /// The number of folders that a message can be refiled to.
    #[must_use]
    pub fn folders(&self) -> usize {
        memmem::find_iter(self.inside, OPTION).count()
    }

    /// A folder for refiling, counted from 0.
    #[must_use]
    pub fn folder(&self, number: usize) -> Option<String> {
        value(self.inside, OPTION, number)
    }
}

/// The bytes between the mark and the form's end tag; a form without one extends to the end of the page.
fn inside(body: &[u8], at: usize) -> Option<&[u8]> {
    let from = body.get(at..)?;
    Some(&from[..memmem::find(from, b"</form>").unwrap_or(from.len())])
}

fn value(inside: &[u8], begins: &[u8], number: usize) -> Option<String> {
    let at = memmem::find_iter(inside, begins).nth(number)?;
    let (value, _) = split_quote(&inside[at + begins.len()..])?;
    unescape(value)
}

/// The bytes before the next double quote, and those after it.
fn split_quote(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'"', bytes)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}
