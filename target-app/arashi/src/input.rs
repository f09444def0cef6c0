//! Input from a browser: query, form, cookie, and origin.

use std::borrow::Cow;

use http::{HeaderMap, header, request::Parts};

use super::{
    session::SessionKey,
    store::{EntryId, FolderId},
};

/// The largest number of fields of a form or query: a page of the longest list, with all its rows ticked, has far
/// fewer. A longer one is refused as a whole: acting on a part of it would not be what the user wanted.
pub const MAX_FIELDS: usize = 1100;

/// The cookie that holds the session's key.
pub const COOKIE: &str = "session";

/// Fields of a query or form, in their order.
#[derive(Debug, Default)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Fields<'a> {
    /// Parses `a=1&b=2`. `None`: there are more than [`MAX_FIELDS`].
    #[must_use]
    pub fn parse(encoded: &'a [u8]) -> Option<Self> {
        let fields: Vec<_> = form_urlencoded::parse(encoded).take(MAX_FIELDS + 1).collect();
        (fields.len() <= MAX_FIELDS).then_some(Self(fields))
    }

    /// The first field with this name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_ref())
    }

    /// All fields with this name.
    pub fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_ref())
    }

    /// A field as a whole number, 0 or more.
    #[must_use]
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        number(self.text(name)?)
    }

    /// A field as a folder.
    #[must_use]
    pub fn folder(&self, name: &str) -> Option<FolderId> {
        self.number(name).map(FolderId)
    }

    /// All messages in the fields. `None` if one of them is no number.
    #[must_use]
    pub fn messages(&self) -> Option<Vec<EntryId>> {
        self.all("message").map(|text| number(text).map(EntryId)).collect()
    }

    /// A field as a key.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<SessionKey> {
        SessionKey::parse(self.text(name)?)
    }
}

/// Parses digits and nothing else: `parse` alone would accept a sign.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// The key in the session cookie.
#[must_use]
pub fn cookie(headers: &HeaderMap) -> Option<SessionKey> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).and_then(|(_, value)| SessionKey::parse(value))
}

/// True if the origin of a request permits a change. Browsers name the site whose page sends a form; other programs
/// need not, and no other site can make them send one.
#[must_use]
pub fn is_same_site(head: &Parts) -> bool {
    let text = |name| head.headers.get(name).map(|value: &http::HeaderValue| value.to_str().unwrap_or("malformed"));
    if !matches!(text("sec-fetch-site"), None | Some("same-origin" | "none")) {
        return false;
    }
    let Some(origin) = text("origin") else { return true };
    let sender = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    sender.is_some() && sender == text("host")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(headers: &[(&str, &str)]) -> Parts {
        let mut request = http::Request::builder().uri("/delete");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("well-formed").into_parts().0
    }

    #[test]
    fn other_sites_are_told_from_our_own() {
        let cases: [(&[(&str, &str)], bool); 9] = [
            (&[("host", "mail:80")], true),
            (&[("host", "mail:80"), ("origin", "http://mail:80")], true),
            (&[("host", "mail:80"), ("origin", "http://mail")], false),
            (&[("host", "mail:80"), ("origin", "http://evil")], false),
            (&[("host", "mail:80"), ("origin", "null")], false),
            (&[("host", "mail:80"), ("origin", "http://mail:80.evil")], false),
            (&[("host", "mail:80"), ("sec-fetch-site", "cross-site")], false),
            (&[("host", "mail:80"), ("sec-fetch-site", "same-site")], false),
            (&[("host", "mail:80"), ("sec-fetch-site", "same-origin"), ("origin", "http://mail:80")], true),
        ];
        for (headers, same) in cases {
            assert_eq!(is_same_site(&head(headers)), same, "{headers:?}");
        }
    }

    #[test]
    fn the_session_cookie_is_found_among_others() {
        let key = "0123456789abcdef0123456789abcdef";
        let found = |line: &str| cookie(&head(&[("cookie", line)]).headers).map(SessionKey::to_text);
        assert_eq!(found(&format!("a=b; session={key}")).as_deref(), Some(key));
        assert_eq!(found("xsession=1; session=zz"), None);
    }

    #[test]
    fn too_many_fields_are_none_at_all() {
        let form = |fields: usize| "message=1&".repeat(fields);
        let most = form(MAX_FIELDS);
        assert_eq!(
            Fields::parse(most.as_bytes()).and_then(|fields| fields.messages()).map(|all| all.len()),
            Some(1100)
        );
        assert!(Fields::parse(form(MAX_FIELDS + 1).as_bytes()).is_none());
    }

    #[test]
    fn numbers_are_digits() {
        let fields =
            Fields::parse(b"a=12&b=-1&c=+3&d=1e3&e=99999999999999999999&f=&message=4&message=5&g=%31").expect("few");
        assert_eq!(fields.number("a"), Some(12));
        for name in ["b", "c", "d", "e", "f"] {
            assert_eq!(fields.number::<i64>(name), None, "{name}");
        }
        assert_eq!(fields.number("g"), Some(1));
        assert_eq!(fields.messages(), Some(vec![EntryId(4), EntryId(5)]));
        assert_eq!(Fields::parse(b"message=4&message=x").expect("few").messages(), None);
    }
}
