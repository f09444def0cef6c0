//! The connections with HTTP/2 that users share: as few as carry what is under way.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::{sync::Notify, task::spawn_local};

use super::{
    TaskHost,
    connect::Opened,
    http1::Http1Connection,
    http2::{Lane, Place},
    lost::Lost,
};
use crate::host::End;

/// The number of requests that a connection is expected to carry at once, until the service says its own number: what it should
/// allow at least (RFC 9113, section 6.5.2).
const EXPECTED: usize = 100;

/// How many connections may end before a request is written to them, until it has none.
const TRIES: u32 = 3;

/// The lanes of a run whose users share connections.
#[derive(Debug)]
pub(super) struct Lanes {
    open: RefCell<Vec<Rc<Lane>>>,
    /// The largest number of connections; `None`: no limit.
    most: Option<u32>,
    expected: Cell<usize>,
    /// The service has chosen HTTP/1.1: no connection carries several requests.
    are_none: Cell<bool>,
    /// The connection on which it did so, and how long it took to connect.
    instead: RefCell<Option<(Http1Connection, Duration)>>,
    /// Notified when a request may find a place.
    freed: Rc<Notify>,
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

    /// A place for a request, and the way to send from there, on the first connection that has one; `None`: connections of this
    /// service carry one request at a time.
    pub(super) async fn place(
        self: &Rc<Self>,
        host: &Rc<TaskHost>,
    ) -> Result<Option<(Place, SendRequest<Bytes>)>, Lost> {
        let mut tries = 0;
        while !self.are_none.get() {
            let freed = self.freed.notified();
            let Some(place) = self.free().or_else(|| self.open_another(host)) else {
                freed.await;
                continue;
            };
            if let Some(sender) = place.sender().await? {
                return Ok(Some((place, sender)));
            }
            tries += u32::from(place.is_over());
            if tries == TRIES && !self.are_none.get() {
                return Err(End::ConnectFailed.into());
            }
        }
        Ok(None)
    }

    /// The connection that turned out to speak HTTP/1.1, once.
    pub(super) fn instead(&self) -> Option<(Http1Connection, Duration)> {
        self.instead.take()
    }

    fn free(&self) -> Option<Place> {
        self.open.borrow().iter().find_map(|lane| lane.place(self.expected.get(), Some(&self.freed)))
    }

    fn open_another(self: &Rc<Self>, host: &Rc<TaskHost>) -> Option<Place> {
        if self.most.is_some_and(|most| self.open.borrow().len() >= most as usize) {
            return None;
        }
        let lane = Lane::new();
        self.open.borrow_mut().push(Rc::clone(&lane));
        spawn_local(Rc::clone(self).connect(Rc::clone(host), Rc::clone(&lane)));
        lane.place(self.expected.get(), Some(&self.freed))
    }

    async fn connect(self: Rc<Self>, host: Rc<TaskHost>, lane: Rc<Lane>) {
        match host.connect().await {
            Ok((Opened::Http2(connection), took)) => {
                let weak = Rc::downgrade(&lane);
                drop(lane);
                Lane::carry(weak, *connection, (took, host.network.connect_timeout), || self.changed(&host)).await;
            }
            Ok((Opened::Http1(connection), took)) => {
                self.are_none.set(true);
                self.instead.replace(Some((connection, took)));
                lane.end();
                self.changed(&host);
            }
            Err(lost) => {
                lane.fail(lost);
                self.changed(&host);
            }
        }
    }

    /// Takes in what a lane can carry now.
    fn changed(&self, host: &TaskHost) {
        self.open.borrow_mut().retain(|lane| !lane.is_over());
        if let Some(said) = self.open.borrow().iter().rev().find_map(|lane| lane.said()) {
            self.expected.set(said.max(1));
        }
        self.freed.notify_waiters();
        host.pool.borrow_mut().set_places(self.places());
        host.changed.notify_one();
    }
}
