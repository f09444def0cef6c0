//! Answers with security headers.

use std::{sync::LazyLock, time::Duration};

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use live_service::{
    security_headers,
    service::{Bytes, PageBody},
};
use maud::{Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use service_core::request::DEGRADED;

use super::{input::COOKIE, pages, session::SessionKey};

/// A complete answer.
pub type MailAnswer = Response<PageBody>;

/// The headers of every answer. Mail with HTML has one style sheet in addition to ours.
static COMMON: LazyLock<HeaderMap> = LazyLock::new(|| {
    let mut headers = HeaderMap::new();
    security_headers::add_to(&mut headers);
    let policy = format!(
        "default-src 'none'; style-src 'self' '{}'; img-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'",
        pages::MAIL_STYLE_HASH
    );
    let policy = HeaderValue::from_str(&policy).expect("constants are fit for headers");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers
});

fn answer(status: StatusCode, kind: &'static str, cache: &'static str, body: PageBody) -> MailAnswer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.clone_from(&COMMON);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    answer
}

/// A page.
#[must_use]
pub fn page(status: StatusCode, markup: Markup) -> MailAnswer {
    answer(status, "text/html; charset=utf-8", "no-store", markup.into_string().into())
}

/// An answer that is less than was requested, or older; `how`: its mark.
#[must_use]
pub fn degraded(mut answer: MailAnswer, how: &str) -> MailAnswer {
    let how = HeaderValue::from_str(how).expect("a word or two, and a number");
    answer.headers_mut().insert(DEGRADED, how);
    answer
}

/// A file that is the same for everybody.
#[must_use]
pub fn file(kind: &'static str, content: &'static [u8]) -> MailAnswer {
    answer(StatusCode::OK, kind, "max-age=3600", Bytes::from_static(content).into())
}

/// An attachment, to be saved and not shown: its stated type is not trusted.
#[must_use]
pub fn attachment(name: &str, content: PageBody) -> MailAnswer {
    let mut answer = answer(StatusCode::OK, "application/octet-stream", "no-store", content);
    // Both spellings consist of letters, digits and a few harmless marks only: no name can break out of the header.
    let value = HeaderValue::from_str(&disposition(name)).expect("ASCII without control characters");
    answer.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    let sandbox = HeaderValue::from_static("default-src 'none'; sandbox");
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, sandbox);
    answer
}

/// `Content-Disposition` as in RFC 6266: a plain name for old programs, the real one percent-encoded (RFC 8187).
fn disposition(name: &str) -> String {
    /// `attr-char` of RFC 8187, without the marks that some programs might misinterpret.
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_') { c } else { '_' }).collect();
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{}", utf8_percent_encode(name, ENCODED))
}

/// The page of a problem. Internal errors are not described.
#[must_use]
pub fn error(status: StatusCode, text: &str) -> MailAnswer {
    let title = status.canonical_reason().unwrap_or("Error");
    page(status, pages::plain("error", title, &html! { p { (text) } }))
}

/// The text for a missing object.
pub const MISSING: &str = "There is nothing here. It may have been moved or deleted.";

/// The answer for a missing object, and for another user's object: the same.
#[must_use]
pub fn missing() -> MailAnswer {
    error(StatusCode::NOT_FOUND, MISSING)
}

/// The answer to a method that this address does not have.
#[must_use]
pub fn wrong_method(allowed: &'static str) -> MailAnswer {
    let mut answer = error(StatusCode::METHOD_NOT_ALLOWED, "This address does not work that way.");
    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    answer
}

/// A wait in the form for clients: in whole seconds, rounded up.
#[must_use]
pub fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// Tells the client when to retry.
#[must_use]
pub fn retry_after(mut answer: MailAnswer, wait: Duration) -> MailAnswer {
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
    answer
}

/// Sets the browser's cookie with the session's key, or removes it. Not `Secure`: the service speaks plain HTTP on
/// loopback.
#[must_use]
pub fn with_cookie(mut answer: MailAnswer, key: Option<SessionKey>) -> MailAnswer {
    let value = match key {
        Some(key) => format!("{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/", key.to_text()),
        None => format!("{COOKIE}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"),
    };
    let value = HeaderValue::from_str(&value).expect("hexadecimal digits");
    answer.headers_mut().insert(header::SET_COOKIE, value);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_breaks_out_of_the_header() {
        assert_eq!(
            disposition("Été 1.txt"),
            "attachment; filename=\"_t__1.txt\"; filename*=UTF-8''%C3%89t%C3%A9%201.txt"
        );
        for evil in ["a\r\nSet-Cookie: x=1", "a\"; filename=b.exe", "\0", "../../etc/passwd", "\u{202e}fdp.exe", "a;b"]
        {
            let value = attachment(evil, Vec::new().into()).headers()[header::CONTENT_DISPOSITION].clone();
            let text = value.to_str().expect("plain");
            assert!(text.bytes().all(|b| (0x20..0x7F).contains(&b)), "{text}");
            assert_eq!(text.matches('"').count(), 2, "{text}");
            assert_eq!(text.matches(';').count(), 2, "{text}");
        }
    }

    #[test]
    fn a_wait_is_rounded_up() {
        let answer = retry_after(missing(), Duration::from_millis(1001));
        assert_eq!(answer.headers()[header::RETRY_AFTER], "2");
    }
}
