//! One connection of a client, as its requests see it.

use std::{
    fmt::Write as _,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use controllers::Outcome;
use http::HeaderValue;
use live_service::{
    edge::{Conn, ConnPhase, Membership},
    stage::{GatePermit, lock},
};
use service_core::ledger::ServiceLedger;
use socket2::SockRef;
use spec::EdgeSpec;
use tokio::{net::TcpStream, sync::Notify};

use super::{
    endable::EndableTask,
    patience::Baton,
    takers::{Hold, Takers, WaitingRequest},
};

/// The resources that end with a connection, however it ends.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) ledger: Arc<ServiceLedger>,
    /// Of the policy at accept.
    pub(super) permit: Option<GatePermit>,
    pub(super) member: Membership,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.ledger.disconnected();
        self.permit.take().into_iter().for_each(|permit| _ = permit.end(Outcome::Served));
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) conn: Arc<Conn>,
    socket: Arc<TcpStream>,
    /// Kept for a tunnel, which outlives the task of its connection.
    open: Arc<Open>,
    pub(super) secure: bool,
    /// The requests of an HTTP/2 connection; `None`: HTTP/1.1, one at a time.
    streams: Option<Streams>,
    pub(super) takers: Arc<Takers>,
    retired: Notify,
    /// The address as `X-Forwarded-For` has it.
    pub(super) address: HeaderValue,
    /// The last `Host` and the `Forwarded` line made of it: most clients ask for one host.
    forwarded: Mutex<Option<(HeaderValue, HeaderValue)>>,
    /// The timer of its requests: with HTTP/2, of whichever comes first.
    pub(super) timer: Baton,
}

/// The connections that one over HTTP/2 counts as in `limits.connections`, whose buffers take as much memory, and the number of its
/// requests that count as one more.
const HTTP2_PLACES: (u32, u32) = (2, 4);

/// The requests of an HTTP/2 connection, by who is waited for.
#[derive(Debug, Default)]
struct Streams {
    /// All that have begun and not ended.
    open: AtomicU32,
    /// Requests whose answers the client does not take.
    blocked: AtomicU32,
    /// All that have ever begun.
    begun: AtomicU32,
    /// True while there is no place for them.
    crowded: AtomicBool,
}

/// A request's part in its connection. Dropped, it has ended.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) client: Arc<Client>,
    /// Its number among the answers that wait, while the client has more of it than it takes.
    waits: Option<u64>,
}

impl Stream {
    /// Notes that the client has more of the answer than it has taken.
    pub(super) fn waits(&mut self, held: Option<Hold>) {
        let Client { streams, conn, takers, .. } = &*self.client;
        self.waits.get_or_insert_with(|| {
            if streams.as_ref().is_some_and(|streams| streams.blocked.fetch_add(1, Ordering::Relaxed) == 0) {
                conn.enter(ConnPhase::Writing);
            }
            let closed = streams.is_some().then_some(Duration::ZERO);
            takers.wait(WaitingRequest { closed, ..WaitingRequest::new(conn, EndableTask::current(), held) })
        });
    }

    /// Notes that the client has taken that.
    pub(super) fn goes_on(&mut self) {
        let Client { streams, conn, takers, .. } = &*self.client;
        let Some(number) = self.waits.take() else { return };
        takers.leave(number);
        if streams.as_ref().is_some_and(|streams| streams.blocked.fetch_sub(1, Ordering::Relaxed) == 1) {
            conn.enter(ConnPhase::Working);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.goes_on();
        let Some(streams) = &self.client.streams else { return };
        let open = streams.open.fetch_sub(1, Ordering::Relaxed);
        if open == 1 {
            self.client.conn.enter(ConnPhase::Idle);
        }
        self.client.take_places(streams, open);
    }
}

impl Client {
    pub(super) fn new(
        conn: &Arc<Conn>,
        socket: &Arc<TcpStream>,
        open: &Arc<Open>,
        takers: &Arc<Takers>,
        [secure, multiplexed]: [bool; 2],
    ) -> Arc<Self> {
        let address = conn.peer.ip().to_canonical().to_string();
        let client = Arc::new(Self {
            conn: Arc::clone(conn),
            socket: Arc::clone(socket),
            open: Arc::clone(open),
            secure,
            streams: multiplexed.then(Streams::default),
            takers: Arc::clone(takers),
            retired: Notify::new(),
            address: HeaderValue::try_from(address).unwrap_or(HeaderValue::from_static("unknown")),
            forwarded: Mutex::new(None),
            timer: Baton::default(),
        });
        client.streams.iter().for_each(|streams| client.take_places(streams, 0));
        client
    }

    /// True if its requests have taken the last place: one more is refused.
    pub(super) fn is_crowded(&self) -> bool {
        self.streams.as_ref().is_some_and(|streams| streams.crowded.load(Ordering::Relaxed))
    }

    /// Takes as many places as its requests need, where their number has reached or left a multiple of those of one.
    fn take_places(&self, streams: &Streams, reached: u32) {
        let (least, requests) = HTTP2_PLACES;
        if reached.is_multiple_of(requests) || streams.crowded.load(Ordering::Relaxed) {
            let places = || (least + streams.open.load(Ordering::Relaxed) / requests) as usize;
            let ended = self.open.member.takes(places, self.conn.clock.now());
            streams.crowded.store(ended.is_none(), Ordering::Relaxed);
            self.open.ledger.connections_evicted(ended.unwrap_or(0));
        }
    }

    /// True for HTTP/2.
    pub(super) fn is_multiplexed(&self) -> bool {
        self.streams.is_some()
    }

    /// Begins a request.
    pub(super) fn begin(self: &Arc<Self>) -> Stream {
        if let Some(streams) = &self.streams {
            streams.begun.fetch_add(1, Ordering::Relaxed);
        }
        self.stream()
    }

    /// Another part of a request that has begun.
    pub(super) fn stream(self: &Arc<Self>) -> Stream {
        if let Some(streams) = &self.streams {
            let open = streams.open.fetch_add(1, Ordering::Relaxed);
            if open == 0 {
                self.conn.enter(ConnPhase::Working);
            }
            self.take_places(streams, open + 1);
        }
        Stream { client: Arc::clone(self), waits: None }
    }

    /// True if the current request is the last one that this connection may bring.
    pub(super) fn is_used_up(&self, limits: &EdgeSpec) -> bool {
        match &self.streams {
            None => self.conn.is_used_up(limits),
            Some(streams) => {
                limits.kept.connection_requests > 0
                    && streams.begun.load(Ordering::Relaxed) >= limits.kept.connection_requests
            }
        }
    }

    /// Makes the connection end after the requests that have begun.
    pub(super) fn retire(&self) {
        if self.is_multiplexed() {
            self.retired.notify_one();
        }
    }

    /// Waits for [`Client::retire`].
    pub(super) async fn retired(&self) {
        self.retired.notified().await;
    }

    /// Enters a phase of the one request of HTTP/1.1.
    pub(super) fn enter(&self, phase: ConnPhase) {
        if !self.is_multiplexed() {
            self.conn.enter(phase);
        }
    }

    /// The address of the client.
    pub(super) fn peer(&self) -> SocketAddr {
        self.conn.peer
    }

    /// `http` or `https`.
    pub(super) fn scheme(&self) -> HeaderValue {
        HeaderValue::from_static(if self.secure { "https" } else { "http" })
    }

    /// The element of `Forwarded` (RFC 7239) for a request to this host.
    pub(super) fn forwarded(&self, host: &HeaderValue) -> HeaderValue {
        let mut last = lock(&self.forwarded);
        if let Some((of, line)) = &*last
            && of == host
        {
            return line.clone();
        }
        let line = element(self.peer().ip().to_canonical(), host, self.secure);
        *last = Some((host.clone(), line.clone()));
        line
    }

    /// Makes the end of the connection a reset: a client could take a plain end for that of its answer.
    pub(super) fn reset(&self) {
        let _ = SockRef::from(&*self.socket).set_linger(Some(std::time::Duration::ZERO));
    }
}

fn element(address: IpAddr, host: &HeaderValue, secure: bool) -> HeaderValue {
    let mut text = match address {
        IpAddr::V4(address) => format!("for={address}"),
        IpAddr::V6(address) => format!("for=\"[{address}]\""),
    };
    if let Ok(host) = host.to_str()
        && !host.contains(['"', '\\'])
    {
        let _ = write!(text, ";host=\"{host}\""); // writing to a string cannot fail
    }
    text.push_str(if secure { ";proto=https" } else { ";proto=http" });
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("for=unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_of_forwarded_quotes_what_is_no_token() {
        let element = |address: &str, host| element(address.parse().unwrap(), &HeaderValue::from_static(host), false);
        assert_eq!(element("127.0.0.1", "a:80"), "for=127.0.0.1;host=\"a:80\";proto=http");
        assert_eq!(element("::1", "a\"b"), "for=\"[::1]\";proto=http");
    }
}
