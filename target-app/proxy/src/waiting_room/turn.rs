//! A request that was let in, until its end.

use http::{HeaderMap, HeaderValue, header};

use super::Turn;

impl Turn {
    /// Takes the cookies for the answer, whatever it will be.
    pub(crate) fn take_cookies(&mut self) -> Vec<HeaderValue> {
        std::mem::take(&mut self.cookies)
    }

    /// The request has ended; `served`: with a good answer, whole.
    pub(crate) fn ended(self, served: bool) {
        self.room.ended(self.kind, self.room.clock.now().since(self.entered), served);
    }
}

/// Puts cookies on an answer.
pub(crate) fn put(cookies: Vec<HeaderValue>, headers: &mut HeaderMap) {
    for cookie in cookies {
        headers.append(header::SET_COOKIE, cookie);
    }
}
