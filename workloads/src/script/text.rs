//! Texts with places for values.

use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::plan::Account;

/// The number of places in one text at most: with [`LONGEST_VALUE`](super::LONGEST_VALUE) it bounds a request.
pub(super) const MOST_PLACES: usize = 32;

/// Characters that RFC 3986 (section 2.3) does not call unreserved.
const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Characters that are in no URL, and `#`, which would end the path. A backslash would be read as a slash.
const NOT_IN_URLS: AsciiSet = CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A piece of a text as it is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Literal(&'a str),
    /// `${name}`, or percent-encoded `${name|url}`.
    Named {
        name: &'a str,
        encoded: bool,
    },
}

/// The pieces of a text; `$${` is written for a literal `${`.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            pieces.push(Piece::Literal(&rest[..at]));
            pieces.push(Piece::Literal("{"));
            rest = &rest[at + 2..];
            continue;
        }
        let inside = &rest[at + 2..];
        let end = inside.find('}').ok_or_else(|| format!("{:?} is not closed", clipped(&rest[at..])))?;
        let (name, encoded) = match inside[..end].split_once('|') {
            None => (&inside[..end], false),
            Some((name, "url")) => (name, true),
            Some((_, other)) => return Err(format!("values have no form {other:?}, but `|url`")),
        };
        pieces.extend((at > 0).then(|| Piece::Literal(&rest[..at])));
        pieces.push(Piece::Named { name, encoded });
        rest = &inside[end + 1..];
    }
    pieces.extend((!rest.is_empty()).then_some(Piece::Literal(rest)));
    if pieces.iter().filter(|piece| matches!(piece, Piece::Named { .. })).count() > MOST_PLACES {
        return Err(format!("it has over {MOST_PLACES} places for values"));
    }
    Ok(pieces)
}

fn clipped(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A text with its places.
#[derive(Debug)]
pub(super) enum Text {
    /// It has none.
    Fixed(Arc<str>),
    Parts(Box<[Part]>),
}

#[derive(Debug)]
pub(super) enum Part {
    Literal(Box<str>),
    Place { value: ValueName, encoded: bool },
}

/// The value at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueName {
    /// The value of this number.
    Extracted(usize),
    User,
    Password,
    UserNumber,
}

impl ValueName {
    /// A value that every user has.
    pub(super) fn given(name: &str) -> Option<Self> {
        match name {
            "user" => Some(Self::User),
            "password" => Some(Self::Password),
            "user-number" => Some(Self::UserNumber),
            _ => None,
        }
    }
}

/// The values of a user.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) extracted: &'a [Option<Arc<str>>],
    pub(super) account: Option<&'a Account>,
    pub(super) number: u32,
}

impl Values<'_> {
    fn push(&self, value: ValueName, write: impl FnOnce(&str)) {
        match value {
            // The plan was checked: every way to this text has extracted it.
            ValueName::Extracted(number) => write(self.extracted[number].as_deref().unwrap_or_default()),
            ValueName::User => write(self.account.map_or("", |account| &account.user)),
            ValueName::Password => write(self.account.map_or("", |account| &account.password)),
            ValueName::UserNumber => write(&self.number.to_string()),
        }
    }
}

impl Text {
    /// A header line or body: values stand in it as they are.
    pub(super) fn fill(&self, values: &Values<'_>) -> Arc<str> {
        self.filled(values, String::push_str)
    }

    /// A path: a value can begin no header line, fragment or host.
    pub(super) fn fill_path(&self, values: &Values<'_>) -> Arc<str> {
        let path = self.filled(values, |text, value| text.extend(utf8_percent_encode(value, &NOT_IN_URLS)));
        match path.strip_prefix("//") {
            None => path,
            Some(rest) => format!("/{}", rest.trim_start_matches('/')).into(),
        }
    }

    fn filled(&self, values: &Values<'_>, plain: impl Fn(&mut String, &str)) -> Arc<str> {
        let parts = match self {
            Self::Fixed(text) => return text.clone(),
            Self::Parts(parts) => parts,
        };
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Place { value, encoded: true } => {
                    values.push(*value, |value| text.extend(utf8_percent_encode(value, &RESERVED)));
                }
                Part::Place { value, encoded: false } => values.push(*value, |value| plain(&mut text, value)),
            }
        }
        text.into()
    }

    /// True if there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Fixed(text) if text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_and_dollars_escaped() {
        let named = |name, encoded| Piece::Named { name, encoded };
        assert_eq!(
            pieces("/a/${x}?b=${y|url}"),
            Ok(vec![Piece::Literal("/a/"), named("x", false), Piece::Literal("?b="), named("y", true)])
        );
        assert_eq!(pieces("a$${x}"), Ok(vec![Piece::Literal("a$"), Piece::Literal("{"), Piece::Literal("x}")]));
        assert_eq!(pieces("cost: $5"), Ok(vec![Piece::Literal("cost: $5")]));
        assert!(pieces("/a/${x").is_err_and(|problem| problem.contains("not closed")));
        assert!(pieces("${x|html}").is_err_and(|problem| problem.contains("`|url`")));
        assert!(pieces(&"${x}".repeat(MOST_PLACES + 1)).is_err());
    }

    fn filled(text: &Text, value: &str) -> String {
        let extracted = [Some(Arc::from(value))];
        text.fill_path(&Values { extracted: &extracted, account: None, number: 0 }).to_string()
    }

    fn path(encoded: bool) -> Text {
        let value = ValueName::Extracted(0);
        Text::Parts([Part::Literal("/".into()), Part::Place { value, encoded }].into())
    }

    #[test]
    fn a_value_stays_on_the_users_service() {
        assert_eq!(filled(&path(false), "a/b?c=d&e=%20f"), "/a/b?c=d&e=%20f");
        assert_eq!(filled(&path(true), "a/b?c=d&e"), "/a%2Fb%3Fc%3Dd%26e");
        let base = url::Url::parse("http://127.0.0.1:80/").expect("a URL");
        for value in ["/evil.example/", "\\evil.example", "//evil.example", "a#b", "ä ö", "@evil.example"] {
            let path = filled(&path(false), value);
            let url = base.join(&path).expect("a path");
            assert_eq!((url.host_str(), url.fragment()), (Some("127.0.0.1"), None), "{path}");
            assert!(path.bytes().all(|byte| byte.is_ascii_graphic()), "{path}");
        }
    }
}
