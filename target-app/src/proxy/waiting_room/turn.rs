//! A request that was let in, until its end.

use std::sync::Arc;

use controllers::Timestamp;
use http::{HeaderMap, HeaderValue, header};

use super::Room;

/// A request that the room let in. What its end tells the estimate; dropped before, it tells nothing.
#[derive(Debug)]
pub(in crate::proxy) struct Turn {
    room: Arc<Room>,
    kind: usize,
    entered: Timestamp,
    /// Cookies for the answer.
    pub(super) cookies: Vec<HeaderValue>,
}

impl Turn {
    pub(super) fn new(room: &Arc<Room>, kind: usize, entered: Timestamp) -> Self {
        Self { room: Arc::clone(room), kind, entered, cookies: Vec::new() }
    }

    /// Takes the cookies for the answer, whatever it will be.
    pub(in crate::proxy) fn take_cookies(&mut self) -> Vec<HeaderValue> {
        std::mem::take(&mut self.cookies)
    }

    /// The request has ended; `served`: with a good answer, whole.
    pub(in crate::proxy) fn ended(self, served: bool) {
        self.room.ended(self.kind, self.room.clock.now().since(self.entered), served);
    }
}

/// Puts cookies on an answer.
pub(in crate::proxy) fn put(cookies: Vec<HeaderValue>, headers: &mut HeaderMap) {
    for cookie in cookies {
        headers.append(header::SET_COOKIE, cookie);
    }
}
