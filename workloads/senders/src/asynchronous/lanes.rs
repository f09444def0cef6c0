//! The connections with HTTP/2 that users share: as few as carry what is under way.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use tokio::sync::Notify;

use super::{
    http1::Http1Connection,
    http2::{Lane, Place},
};

/// The number of requests that a connection is expected to carry at once, until the service says its own number: what it should
/// allow at least (RFC 9113, section 6.5.2).
const EXPECTED: usize = 100;

/// The lanes of a run whose users share connections.
#[derive(Debug)]
pub(super) struct Lanes {
    pub(super) open: RefCell<Vec<Rc<Lane>>>,
    /// The largest number of connections; `None`: no limit.
    pub(super) most: Option<u32>,
    pub(super) expected: Cell<usize>,
    /// The service has chosen HTTP/1.1: no connection carries several requests.
    pub(super) are_none: Cell<bool>,
    /// The connection on which it did so, and how long it took to connect.
    pub(super) instead: RefCell<Option<(Http1Connection, Duration)>>,
    /// Notified when a request may find a place.
    pub(super) freed: Rc<Notify>,
}

impl Lanes {
    pub(super) fn new(most: Option<u32>) -> Rc<Self> {
        Rc::new(Self {
            open: RefCell::default(),
            most,
            expected: Cell::new(EXPECTED),
            are_none: Cell::new(false),
            instead: RefCell::default(),
            freed: Rc::default(),
        })
    }

    /// The number of requests that all connections carry at once, as far as it is known; `None`: no limit.
    pub(super) fn places(&self) -> Option<u32> {
        let most = self.most?;
        if self.are_none.get() {
            return Some(most);
        }
        let open = self.open.borrow();
        let more = (most as usize).saturating_sub(open.len()).saturating_mul(self.expected.get());
        let all = open.iter().map(|lane| lane.capacity(self.expected.get())).fold(more, usize::saturating_add);
        Some(u32::try_from(all).unwrap_or(u32::MAX))
    }

    /// The connection that turned out to speak HTTP/1.1, once.
    pub(super) fn instead(&self) -> Option<(Http1Connection, Duration)> {
        self.instead.take()
    }

    pub(super) fn free(&self) -> Option<Place> {
        self.open.borrow().iter().find_map(|lane| lane.place(self.expected.get(), Some(&self.freed)))
    }
}
