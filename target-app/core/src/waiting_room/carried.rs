//! How tokens travel: in a cookie, in the URL, or in a header, and what is taken out of a request before the service sees it.

use http::{
    HeaderName, HeaderValue, Uri, header,
    request::Parts,
    uri::{self, PathAndQuery},
};

/// The parameter of a URL, and the name of a cookie, that a token is in.
pub const TOKEN: &str = "lab-turn";
/// The cookie that tokens are bound to.
const PLACE: &str = "lab-place";
/// The header of a program that keeps no cookies: a token, after the place that it is bound to and a full stop.
pub const HEADER: HeaderName = HeaderName::from_static("x-turn");
/// What browsers believe of TLS alone (RFC 6265bis, section 4.1.3).
const HOST_ONLY: &str = "__Host-";
/// Letters of a place: 128 bits in base64.
pub const PLACE_LETTERS: usize = 22;

/// What a request shows.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Carried {
    pub token: Option<String>,
    pub place: Option<String>,
}

impl Carried {
    /// Takes token and place out of a request. A token of the URL counts more than one of a header, and that more than a
    /// cookie's; `secure`: the request came by TLS.
    pub fn take(head: &mut Parts, secure: bool) -> Self {
        let mut carried = Self::cookies(head, secure);
        if let Some(value) = head.headers.remove(HEADER) {
            let text = value.to_str().unwrap_or_default();
            match text.split_once('.') {
                Some((place, token)) => {
                    carried = Self { token: Some(token.to_owned()), place: is_place(place).then(|| place.to_owned()) };
                }
                None => carried.token = Some(text.to_owned()),
            }
        }
        if let Some(token) = of_url(&mut head.uri) {
            carried.token = Some(token);
        }
        carried
    }

    fn cookies(head: &mut Parts, secure: bool) -> Self {
        let mut carried = Self::default();
        let ours = |line: &HeaderValue| {
            let line = String::from_utf8_lossy(line.as_bytes());
            line.contains(TOKEN) || line.contains(PLACE)
        };
        if !head.headers.get_all(header::COOKIE).iter().any(ours) {
            return carried;
        }
        let (token, place) = (name(TOKEN, secure), name(PLACE, secure));
        let mut others: Vec<Vec<u8>> = Vec::new();
        for line in head.headers.get_all(header::COOKIE) {
            for pair in line.as_bytes().split(|byte| *byte == b';').map(<[u8]>::trim_ascii) {
                match std::str::from_utf8(pair).ok().and_then(|pair| pair.split_once('=')) {
                    // The first counts: it has the longer path.
                    Some((name, value)) if name == token => {
                        carried.token.get_or_insert_with(|| value.to_owned());
                    }
                    Some((name, value)) if name == place => {
                        carried.place.get_or_insert_with(|| value.to_owned());
                    }
                    _ if pair.is_empty() => {}
                    _ => others.push(pair.to_vec()),
                }
            }
        }
        carried.place = carried.place.filter(|place| is_place(place));
        head.headers.remove(header::COOKIE);
        if !others.is_empty()
            && let Ok(line) = HeaderValue::from_bytes(&others.join(&b"; "[..]))
        {
            head.headers.insert(header::COOKIE, line);
        }
        carried
    }
}

fn name(name: &str, secure: bool) -> String {
    if secure { format!("{HOST_ONLY}{name}") } else { name.to_owned() }
}

fn is_place(text: &str) -> bool {
    text.len() == PLACE_LETTERS && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Takes the token out of a URL.
fn of_url(uri: &mut Uri) -> Option<String> {
    let query = uri.query()?;
    let is_token = |pair: &&str| pair.split('=').next() == Some(TOKEN);
    let token = query.split('&').find(is_token)?.split_once('=').map_or("", |(_, value)| value).to_owned();
    let query = without_token(query);
    let path = if query.is_empty() { uri.path().to_owned() } else { format!("{}?{query}", uri.path()) };
    let mut parts = uri::Parts::from(std::mem::take(uri));
    parts.path_and_query = PathAndQuery::try_from(path).ok();
    *uri = Uri::from_parts(parts).unwrap_or_default(); // a part of a valid URL is one
    Some(token)
}

fn without_token(query: &str) -> String {
    let others: Vec<&str> = query.split('&').filter(|pair| pair.split('=').next() != Some(TOKEN)).collect();
    others.join("&")
}

/// The query that carries a token, for a reference relative to the page: it cannot lead to another host, whatever the path.
pub fn query_with(uri: &Uri, token: &str) -> String {
    match uri.query().filter(|query| !query.is_empty()) {
        Some(query) => format!("?{query}&{TOKEN}={token}"),
        None => format!("?{TOKEN}={token}"),
    }
}

/// A cookie for so many seconds; 0: it is forgotten.
fn cookie(name_of: &str, value: &str, seconds: u64, secure: bool) -> Option<HeaderValue> {
    let only = if secure { "; Secure" } else { "" };
    let name = name(name_of, secure);
    HeaderValue::try_from(format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{only}")).ok()
}

/// The cookie of a token.
pub fn token_cookie(token: &str, seconds: u64, secure: bool) -> Option<HeaderValue> {
    cookie(TOKEN, token, seconds, secure)
}

/// The cookie that tokens are bound to: for a day, so that a place is the same all evening.
pub fn place_cookie(place: &str, secure: bool) -> Option<HeaderValue> {
    cookie(PLACE, place, 86_400, secure)
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: &str = "abcdefghijklmnopqrstuv";

    fn head(url: &str, headers: &[(&str, &str)]) -> Parts {
        let request = http::Request::builder().uri(url);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    fn carried(head: &mut Parts, secure: bool) -> (Option<String>, Option<String>) {
        let Carried { token, place } = Carried::take(head, secure);
        (token, place)
    }

    fn some(token: &str, place: &str) -> (Option<String>, Option<String>) {
        (Some(token.to_owned()), Some(place.to_owned()))
    }

    #[test]
    fn cookies_are_taken_out_and_those_of_the_service_stay() {
        let line = format!("a=1; lab-turn=T;lab-place={P}; b=\"2\"");
        let mut of_two = head("/", &[("cookie", &line), ("cookie", "c=3; lab-turn=second")]);
        assert_eq!(carried(&mut of_two, false), some("T", P));
        assert_eq!(of_two.headers[header::COOKIE], "a=1; b=\"2\"; c=3");
        let mut alone = head("/", &[("cookie", &format!("lab-place={P}"))]);
        assert_eq!(carried(&mut alone, false), (None, Some(P.to_owned())));
        assert!(!alone.headers.contains_key(header::COOKIE));
        let mut none = head("/", &[("cookie", "lab-turner=1; place=lab-place")]);
        assert_eq!(carried(&mut none, false), (None, None));
        assert_eq!(none.headers[header::COOKIE], "lab-turner=1; place=lab-place");
    }

    #[test]
    fn under_tls_only_a_cookie_that_no_other_host_can_set_counts() {
        let mut both = head("/", &[("cookie", &format!("lab-turn=X; __Host-lab-turn=T; __Host-lab-place={P}"))]);
        assert_eq!(carried(&mut both, true), some("T", P));
        assert_eq!(both.headers[header::COOKIE], "lab-turn=X", "it is somebody else's");
        assert_eq!(carried(&mut head("/", &[("cookie", "lab-place=short")]), false), (None, None));
    }

    #[test]
    fn a_url_and_a_header_carry_tokens_too() {
        for (url, left) in [
            ("/a?x=1&lab-turn=T&y=2", "/a?x=1&y=2"),
            ("/a?lab-turn=T", "/a"),
            ("http://h/a?lab-turn=T&lab-turn=U", "http://h/a"),
        ] {
            let mut of_url = head(url, &[("cookie", "lab-turn=C")]);
            assert_eq!(carried(&mut of_url, false).0.as_deref(), Some("T"));
            assert_eq!(of_url.uri, *left);
            assert_eq!(
                query_with(&of_url.uri, "N"),
                if left.contains('?') { "?x=1&y=2&lab-turn=N" } else { "?lab-turn=N" }
            );
        }
        let mut of_header = head("/", &[("x-turn", &format!("{P}.T")), ("cookie", "lab-turn=C")]);
        assert_eq!(carried(&mut of_header, false), some("T", P));
        assert!(of_header.headers.is_empty());
    }

    #[test]
    fn cookies_have_the_attributes_of_their_wire() {
        assert_eq!(
            token_cookie("T", 30, true).unwrap(),
            "__Host-lab-turn=T; Path=/; HttpOnly; SameSite=Lax; Max-Age=30; Secure"
        );
        assert_eq!(
            place_cookie(P, false).unwrap(),
            *format!("lab-place={P}; Path=/; HttpOnly; SameSite=Lax; Max-Age=86400")
        );
    }
}
