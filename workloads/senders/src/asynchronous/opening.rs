//! Places on connections with HTTP/2 that users share, and the opening of more.

use std::rc::Rc;

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::task::spawn_local;
use workloads::host::ExchangeEnd;

use super::{
    connect::Opened,
    http2::{Lane, Place},
    lanes::Lanes,
    lost::Lost,
    task_host::TaskHost,
};

/// How many connections may end before a request is written to them, until it has none.
const TRIES: u32 = 3;

impl Lanes {
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
                return Err(ExchangeEnd::ConnectFailed.into());
            }
        }
        Ok(None)
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
