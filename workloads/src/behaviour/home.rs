//! The service of the users, and the place of a location relative to it.

use std::sync::Arc;

use http::{Uri, uri::Authority};

use crate::plan::Target;

/// The service of the users. They go nowhere else: a load generator must not be led to third parties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    scheme: String,
    /// The service's address as given, and the name that users call it by where that differs: host in lower case, and
    /// port.
    names: [(String, u16); 2],
}

/// The place of a location that an answer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkPlace {
    /// On the users' service, at this path.
    Here(Arc<str>),
    /// On another host, port or scheme.
    Elsewhere,
    /// The location is invalid.
    Nowhere,
}

impl Home {
    /// The home of users of this target; `None` if its URL has no scheme or no valid host.
    #[must_use]
    pub fn of(target: &Target) -> Option<Self> {
        let url: Uri = target.url.parse().ok()?;
        let scheme = url.scheme_str()?.to_ascii_lowercase();
        let address = name(&scheme, url.authority()?)?;
        let called = target.host.parse().ok().and_then(|authority| name(&scheme, &authority));
        Some(Self { names: [address.clone(), called.unwrap_or(address)], scheme })
    }

    /// The place of a location, as written on the page at `base` (RFC 3986, section 5; the service resolves `..`). A
    /// backslash is in no URL, and URL parsers read it as a slash (WHATWG URL, section 4.4): `/\\host` would lead to
    /// another host.
    pub(crate) fn find(&self, place: &str, base: &str) -> LinkPlace {
        let place = place.split('#').next().unwrap_or_default();
        if place.bytes().any(|b| b <= b' ' || b == b'\\' || b == 0x7F) {
            return LinkPlace::Nowhere;
        }
        if place.starts_with("//") {
            return self.find_absolute(&format!("{}:{place}", self.scheme));
        }
        if place.starts_with('/') {
            return LinkPlace::Here(place.into());
        }
        if has_scheme(place) {
            return self.find_absolute(place);
        }
        let base = base.split('?').next().unwrap_or_default();
        if place.is_empty() || place.starts_with('?') {
            return LinkPlace::Here(format!("{base}{place}").into());
        }
        let folder = base.rfind('/').map_or("/", |at| &base[..=at]);
        LinkPlace::Here(format!("{folder}{place}").into())
    }

    fn find_absolute(&self, place: &str) -> LinkPlace {
        // `mailto:` and the like have no authority: they lie elsewhere, too.
        let Ok(place) = place.parse::<Uri>() else { return LinkPlace::Elsewhere };
        let scheme = place.scheme_str().map(str::to_ascii_lowercase);
        let there = place.authority().and_then(|authority| name(&self.scheme, authority));
        if scheme.as_deref() != Some(&self.scheme) || !there.is_some_and(|there| self.names.contains(&there)) {
            return LinkPlace::Elsewhere;
        }
        match place.path_and_query().map_or("/", http::uri::PathAndQuery::as_str) {
            path if path.starts_with('/') => LinkPlace::Here(path.into()),
            query => LinkPlace::Here(format!("/{query}").into()),
        }
    }
}

/// Host and port; `None` if the address has user information (`user@host`), which no service of ours asks for.
fn name(scheme: &str, authority: &Authority) -> Option<(String, u16)> {
    if authority.as_str().contains('@') {
        return None;
    }
    let usual = if scheme == "https" { 443 } else { 80 };
    Some((authority.host().to_ascii_lowercase(), authority.port_u16().unwrap_or(usual)))
}

/// True if the text begins with a scheme: a letter, then letters, digits, `+`, `-`, `.`, then a colon.
fn has_scheme(place: &str) -> bool {
    let Some((scheme, _)) = place.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}
