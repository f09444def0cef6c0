//! Answers to clients that do not pass: a page for people, JSON or a line of text for programs.

use controllers::{
    UnixSeconds,
    webq::{CheckRefusal, TokenRefusal},
};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header, request::Parts};
use hyper::body::Bytes;
use live_service::security_headers;
use serde::Serialize;
use service_core::waiting_room::{carried, tokens::REASON};

use super::page::{PageCase, Said, WaitPage, in_words};

/// The reason why a token that was shown did not let in.
const TOKEN_REFUSED: HeaderName = HeaderName::from_static("x-token-refused");
const REFUSED: HeaderName = HeaderName::from_static("x-refused");
const REFRESH: HeaderName = HeaderName::from_static("refresh");

/// The answer to a request that does not pass.
pub(super) struct Told<'a> {
    /// The second to come in.
    pub(super) at: UnixSeconds,
    pub(super) wait_s: u32,
    /// True: there is no place left.
    pub(super) is_full: bool,
    pub(super) why: Option<TokenRefusal>,
    /// The token that holds, new or kept.
    pub(super) token: Option<&'a str>,
    /// True: it travels in the URL.
    pub(super) in_url: bool,
    /// The place that it is bound to, for programs that keep no cookies.
    pub(super) place: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Page,
    Json,
    Text,
}

/// The answer for programs.
#[derive(Serialize)]
struct Wait<'a> {
    waiting_room: &'static str,
    wait_s: u32,
    /// Seconds since 1970.
    turn_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_refused: Option<&'static str>,
    /// The value of `X-Turn` for the request to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    x_turn: Option<&'a str>,
}

impl Told<'_> {
    /// People get a page with 200, since it is what they asked for until their turn comes; a form that was not sent, and
    /// programs, get 503 with `Retry-After`.
    pub(super) fn answer(&self, head: &Parts, page: &WaitPage) -> Response<Bytes> {
        let form = Form::of(head, self.in_url);
        let is_read = [Method::GET, Method::HEAD].contains(&head.method);
        let refresh = (form == Form::Page && is_read).then(|| self.refresh(head));
        let x_turn = self.x_turn();
        let body: Bytes = match form {
            Form::Page => {
                let case = self.case(is_read);
                page.fill(&Said { case, wait_s: self.wait_s, at: self.at, refresh: refresh.as_deref() })
            }
            Form::Json => serde_json::to_vec(&self.for_programs(x_turn.as_deref())).unwrap_or_default().into(),
            Form::Text => format!("{} {}\n", self.case(is_read).line(), in_words(self.wait_s)).into(),
        };
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, form.content_type());
        security_headers::add_to(headers);
        if form == Form::Page {
            headers.insert(header::CONTENT_SECURITY_POLICY, page.loads.clone());
        }
        if let Some(why) = self.why {
            headers.insert(TOKEN_REFUSED, HeaderValue::from_static(why.name()));
        }
        match refresh.and_then(|value| HeaderValue::try_from(value).ok()) {
            Some(refresh) => drop(headers.insert(REFRESH, refresh)),
            None => {
                headers.insert(header::RETRY_AFTER, self.wait_s.into());
                headers.insert(REFUSED, HeaderValue::from_static(REASON.name()));
                if let Some(token) = x_turn.and_then(|token| HeaderValue::try_from(token).ok()) {
                    headers.insert(carried::HEADER, token);
                }
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            }
        }
        response
    }

    /// Without a place the page is asked for again as it was.
    fn refresh(&self, head: &Parts) -> String {
        match self.token.filter(|_| self.in_url) {
            Some(token) => format!("{}; url={}", self.wait_s, carried::query_with(&head.uri, token)),
            None => self.wait_s.to_string(),
        }
    }

    fn x_turn(&self) -> Option<String> {
        let token = self.token?;
        Some(self.place.map_or_else(|| token.to_owned(), |place| format!("{place}.{token}")))
    }

    fn case(&self, is_read: bool) -> PageCase {
        let kept =
            matches!(self.why, None | Some(TokenRefusal::Check(CheckRefusal::Early { .. } | CheckRefusal::Wait)));
        match (self.is_full, is_read) {
            (true, _) => PageCase::Full,
            (false, false) => PageCase::NotSent,
            (false, true) if kept => PageCase::Waits,
            (false, true) => PageCase::NewPlace,
        }
    }

    fn for_programs<'a>(&self, x_turn: Option<&'a str>) -> Wait<'a> {
        Wait {
            waiting_room: if self.is_full { "full" } else { "wait" },
            wait_s: self.wait_s,
            turn_at: self.at.0,
            token_refused: self.why.map(TokenRefusal::name),
            x_turn,
        }
    }
}

impl PageCase {
    fn line(self) -> &'static str {
        match self {
            Self::Full => "The queue is full: try again in",
            Self::Waits | Self::NewPlace | Self::NotSent => "You have a place in the queue: come again in",
        }
    }
}

impl Form {
    /// What the client takes: a browser names HTML. Who says nothing at all gets the page as published, where a token in the URL
    /// is enough to come back, and else text.
    fn of(head: &Parts, as_published: bool) -> Self {
        let takes = |kind: &str| {
            let lines = head.headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
            lines.into_iter().any(|line| line.to_ascii_lowercase().contains(kind))
        };
        let says_nothing = !head.headers.contains_key(header::ACCEPT);
        if takes("text/html") || (says_nothing && as_published) {
            Self::Page
        } else if takes("json") {
            Self::Json
        } else {
            Self::Text
        }
    }

    fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Page => "text/html; charset=utf-8",
            Self::Json => "application/json",
            Self::Text => "text/plain; charset=utf-8",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(method: &str, accept: &str) -> Parts {
        let request = http::Request::builder().method(method).uri("//evil.example/a?b=1").header("accept", accept);
        request.body(()).unwrap().into_parts().0
    }

    fn told(in_url: bool) -> Told<'static> {
        let why = Some(TokenRefusal::Check(CheckRefusal::Late { by_s: 3 }));
        let place = (!in_url).then_some("place");
        Told { at: UnixSeconds(100), wait_s: 12, is_full: false, why, token: Some("T"), in_url, place }
    }

    fn header<'a>(response: &'a Response<Bytes>, name: &str) -> Option<&'a str> {
        response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    #[test]
    fn people_get_a_page_that_goes_on_by_itself_and_stays_on_its_host() {
        let page = WaitPage::new(None).unwrap();
        let answer = told(true).answer(&head("GET", "text/html,*/*;q=0.8"), &page);
        assert_eq!((answer.status(), header(&answer, "refresh")), (StatusCode::OK, Some("12; url=?b=1&lab-turn=T")));
        assert_eq!((header(&answer, "retry-after"), header(&answer, "x-token-refused")), (None, Some("late")));
        assert!(String::from_utf8_lossy(answer.body()).contains("You have a new place in the queue"));
        let rule = header(&answer, "content-security-policy").unwrap();
        assert!(rule.contains("default-src 'none'; style-src 'unsafe-inline';"), "{rule}");
        assert!(rule.ends_with("frame-ancestors 'none'"), "{rule}");
        assert_eq!(header(&answer, "x-content-type-options"), Some("nosniff"));
        let by_cookie = told(false).answer(&head("GET", "text/html"), &page);
        assert_eq!((header(&by_cookie, "refresh"), header(&by_cookie, "x-turn")), (Some("12"), None));
    }

    #[test]
    fn a_form_is_not_sent_twice_and_programs_are_told_in_their_own_way() {
        let page = WaitPage::new(None).unwrap();
        let form = told(false).answer(&head("POST", "text/html"), &page);
        assert_eq!((form.status().as_u16(), header(&form, "refresh")), (503, None));
        assert_eq!((header(&form, "retry-after"), header(&form, "x-turn")), (Some("12"), Some("place.T")));
        assert!(String::from_utf8_lossy(form.body()).contains("Nothing was sent yet"));
        let json = told(false).answer(&head("GET", "application/json"), &page);
        let said: serde_json::Value = serde_json::from_slice(json.body()).unwrap();
        let wanted = serde_json::json!({"waiting_room": "wait", "wait_s": 12, "turn_at": 100, "token_refused": "late",
            "x_turn": "place.T"});
        assert_eq!((json.status().as_u16(), said), (503, wanted));
        let text = told(true).answer(&head("GET", "*/*"), &page);
        assert_eq!((text.status().as_u16(), header(&text, "x-turn")), (503, Some("T")));
        assert_eq!(text.body(), "You have a place in the queue: come again in 12 s\n");
        let mut silent = head("GET", "");
        silent.headers.remove("accept");
        assert_eq!([true, false].map(|in_url| told(in_url).answer(&silent, &page).status().as_u16()), [200, 503]);
        let full = Told { is_full: true, token: None, why: None, ..told(true) };
        let answer = full.answer(&head("GET", "text/html"), &page);
        assert_eq!((answer.status().as_u16(), header(&answer, "refresh")), (200, Some("12")));
    }
}
