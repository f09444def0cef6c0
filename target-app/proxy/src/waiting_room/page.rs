//! The page for those who wait: the proxy's own, or one of the service's.
//!
//! It needs no script. What counts the seconds down is CSS, and the time is there in words for browsers without that.

use std::path::Path;

use controllers::UnixSeconds;
use http::HeaderValue;
use hyper::body::Bytes;
use live_service::security_headers::{OF_A_FILE, STYLED};

use crate::error::ProxyError;

/// The largest page of a service's own, bytes: it is sent while everything else is full.
const LARGEST: u64 = 64 * 1024;

const OWN: &str = include_str!("wait.html");

/// A page with places for what it says.
#[derive(Debug)]
pub(super) struct WaitPage {
    text: String,
    /// What it may load: the value of `Content-Security-Policy`.
    pub(super) loads: HeaderValue,
}

/// The text of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) case: PageCase,
    pub(super) wait_s: u32,
    pub(super) at: UnixSeconds,
    /// The value of the `Refresh` header; `None`: the page stays.
    pub(super) refresh: Option<&'a str>,
}

/// The subject of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageCase {
    /// A place in the queue, from the beginning or kept.
    Waits,
    /// A new place, in place of one that is lost.
    NewPlace,
    /// A form that was not sent.
    NotSent,
    /// There is no place left.
    Full,
}

impl PageCase {
    fn words(self) -> [(&'static str, &'static str); 4] {
        let (title, message, when, advice) = match self {
            Self::Waits => (
                "You are in the queue",
                "Many people are here just now. You have a place in the queue, and you will be let in.",
                "Your turn comes",
                "Keep this page open: it goes on by itself. Reloading it keeps your place, as long as cookies are on.",
            ),
            Self::NewPlace => (
                "You have a new place in the queue",
                "The turn that you had is over, or was not yours. You have a new one.",
                "Your turn comes",
                "Keep this page open: it goes on by itself. Reloading it keeps your place, as long as cookies are on.",
            ),
            Self::NotSent => (
                "Nothing was sent yet",
                "Many people are here just now. What you sent was not taken; you have a place in the queue for it.",
                "Send it again",
                "Go back to your form, and send it again when your turn has come: within a few seconds of it.",
            ),
            Self::Full => (
                "The queue is full",
                "More people are here than can be given a place.",
                "This page tries again",
                "Keep it open, or come back later.",
            ),
        };
        [("{{title}}", title), ("{{message}}", message), ("{{when}}", when), ("{{advice}}", advice)]
    }
}

impl WaitPage {
    /// The page of the file, or the proxy's own.
    ///
    /// # Errors
    /// The file cannot be read, or is too large.
    pub(super) fn new(file: Option<&Path>) -> Result<Self, ProxyError> {
        let Some(path) = file else { return Ok(Self { text: OWN.to_owned(), loads: STYLED }) };
        let wrong = |what: String| ProxyError::setting("waiting_room.page", format!("{}: {what}", path.display()));
        let size = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
        if size > LARGEST {
            return Err(wrong(format!("{size} bytes, and a page for those who wait may have {LARGEST}")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        Ok(Self { text, loads: OF_A_FILE })
    }

    /// The page with what it says. Nothing of it comes from the request but the URL in `refresh`.
    pub(super) fn fill(&self, said: &Said<'_>) -> Bytes {
        let Said { case, wait_s, at, refresh } = *said;
        let refresh = refresh.map_or_else(String::new, |value| {
            format!("<meta http-equiv=\"refresh\" content=\"{}\">", value.replace('&', "&amp;").replace('"', "&quot;"))
        });
        let (seconds, wait, at) = (wait_s.to_string(), in_words(wait_s), time_of_day(at));
        let numbers = [("{{refresh}}", &refresh), ("{{seconds}}", &seconds), ("{{wait}}", &wait), ("{{at}}", &at)];
        let mut page = self.text.clone();
        for (place, value) in case.words() {
            page = page.replace(place, value);
        }
        for (place, value) in numbers {
            page = page.replace(place, value);
        }
        page.into()
    }
}

/// `2 min 5 s`.
pub(super) fn in_words(seconds: u32) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// `14:03:20`, in UTC.
fn time_of_day(at: UnixSeconds) -> String {
    let seconds = at.0 % 86_400;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_and_says_the_wait_in_words_and_to_browsers() {
        let page = WaitPage::new(None).unwrap();
        for case in [PageCase::Waits, PageCase::NewPlace, PageCase::NotSent, PageCase::Full] {
            let refresh = (case != PageCase::NotSent).then_some("125; url=?a=1&lab-turn=T\"<");
            let said = Said { case, wait_s: 125, at: UnixSeconds(50_600), refresh };
            let text = String::from_utf8(page.fill(&said).to_vec()).unwrap();
            assert!(text.len() < 4096, "{} bytes", text.len());
            assert!(text.contains("in 2 min 5 s,</span> at 14:03:20 UTC."), "{text}");
            assert!(!text.contains("{{"), "{text}");
            let meta = "<meta http-equiv=\"refresh\" content=\"125; url=?a=1&amp;lab-turn=T&quot;<\">";
            assert_eq!(text.contains(meta), refresh.is_some());
        }
    }

    #[test]
    fn a_page_of_the_services_own_has_the_same_places() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wait.html");
        std::fs::write(&path, "{{refresh}}<p>{{wait}}</p>").unwrap();
        let said = Said { case: PageCase::Waits, wait_s: 60, at: UnixSeconds(0), refresh: Some("60") };
        let text = WaitPage::new(Some(&path)).unwrap().fill(&said);
        assert_eq!(text, "<meta http-equiv=\"refresh\" content=\"60\"><p>1 min</p>");
        std::fs::write(&path, "x".repeat(70_000)).unwrap();
        let error = WaitPage::new(Some(&path)).unwrap_err().to_string();
        assert!(error.contains("waiting_room.page: ") && error.contains("70000 bytes"), "{error}");
    }
}
