//! Cookies that a user carries from page to page.

use crate::{headers::COOKIE, persona::Answer};

/// The header lines of a user with the marks of its class (whole lines) and these cookies (as a `Cookie` header holds them).
pub(crate) fn headers(marks: &str, cookies: &str) -> String {
    let mut lines = String::with_capacity(cookies.len() + marks.len() + 10);
    if !cookies.is_empty() {
        lines.extend([COOKIE, ": ", cookies, "\r\n"]);
    }
    lines.push_str(marks);
    lines
}

/// The cookies in these header lines.
pub(crate) fn cookies(headers: &str) -> &str {
    let value = headers.strip_prefix(COOKIE).and_then(|rest| rest.strip_prefix(": "));
    value.and_then(|rest| rest.split("\r\n").next()).unwrap_or_default()
}

/// The value of a cookie.
pub(crate) fn value<'a>(cookies: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = cookies.split("; ").filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(known, value)| (known == name).then_some(value))
}

/// The cookies with another value of this one, if it is among them.
pub(crate) fn with_value(cookies: &str, name: &str, value: &str) -> String {
    let pair = |pair: &str| match pair.split_once('=') {
        Some((known, _)) if known == name => format!("{name}={value}"),
        _ => pair.to_owned(),
    };
    cookies.split("; ").map(pair).collect::<Vec<_>>().join("; ")
}

/// The cookies after this answer, if it changed them. Path, domain and age are ignored: users talk to one service, and
/// forget its cookies when they sign in again. An empty value removes a cookie.
pub(crate) fn updated(cookies: &str, answer: &Answer<'_>) -> Option<String> {
    let mut kept: Vec<(&str, &str)> = cookies.split("; ").filter_map(|pair| pair.split_once('=')).collect();
    let mut changed = false;
    for (_, value) in answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")) {
        let pair = std::str::from_utf8(value).ok().and_then(|value| value.split(';').next()?.trim().split_once('='));
        // A control character would break the header line that returns the cookie.
        let Some((name, value)) = pair.filter(|(name, value)| !(*name).bytes().chain(value.bytes()).any(|b| b < b' '))
        else {
            continue;
        };
        kept.retain(|(kept, _)| *kept != name);
        if !value.is_empty() {
            kept.push((name, value));
        }
        changed = true;
    }
    changed.then(|| kept.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_kept_replaced_and_taken_away() {
        let answer = |lines: &[&str]| {
            let headers: Vec<(&str, &[u8])> = lines.iter().map(|line| ("Set-Cookie", line.as_bytes())).collect();
            updated("a=1; b=2", &Answer::whole(200, &headers, b""))
        };
        assert_eq!(answer(&[]), None);
        assert_eq!(answer(&["a=3; Path=/; HttpOnly", "c=4"]).as_deref(), Some("b=2; a=3; c=4"));
        assert_eq!(answer(&["b=; Max-Age=0"]).as_deref(), Some("a=1"));
        assert_eq!(answer(&["x=\u{1}y"]), None);
    }

    #[test]
    fn one_cookie_is_read_and_replaced() {
        assert_eq!((value("a=1; b=2", "b"), value("a=1; ab=2", "b"), value("", "b")), (Some("2"), None, None));
        assert_eq!(with_value("a=1; b=2; c=3", "b", "x"), "a=1; b=x; c=3");
        assert_eq!(with_value("a=1", "b", "x"), "a=1");
    }

    #[test]
    fn header_lines_hold_cookies_and_class() {
        assert_eq!(headers("", ""), "");
        let lines = headers("User-Class: 2\r\nX-Customer: 3\r\n", "a=1; b=2");
        assert_eq!(lines, "Cookie: a=1; b=2\r\nUser-Class: 2\r\nX-Customer: 3\r\n");
        assert_eq!(cookies(&lines), "a=1; b=2");
        assert_eq!(cookies(&headers("User-Class: 2\r\n", "")), "");
    }
}
