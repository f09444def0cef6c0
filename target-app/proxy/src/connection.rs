//! One connection of a client: which protocol it speaks, and its requests until it ends.

use std::{
    io,
    pin::{Pin, pin},
    sync::Arc,
};

use futures_util::{
    FutureExt as _,
    stream::{FuturesUnordered, StreamExt as _},
};
use hyper::{
    rt::{Read, Write},
    server::conn::http2,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use live_service::edge::{Conn, ConnPhase, Wire, http1_within};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest},
    net::TcpStream,
    sync::Notify,
};

use super::{
    client::{Client, Open},
    endable::StreamTasks,
    exchange,
    opening::{self, Spoken, Unsecured},
    state::Proxy,
    stream::{Reported, Shared, Taken},
    tls::Acceptor,
};

/// A connection, and what its requests need.
pub(super) struct Served {
    pub(super) proxy: Arc<Proxy>,
    pub(super) conn: Arc<Conn>,
    pub(super) open: Arc<Open>,
    /// Told when the proxy is to stop.
    pub(super) ending: Arc<Notify>,
    pub(super) tls: Option<Acceptor>,
}

/// The reason why a connection ended.
enum Ended {
    /// Nobody has anything to say any more.
    InOrder,
    /// The client has left.
    ClientLeft,
    /// The bytes were no acceptable HTTP.
    Malformed,
}

/// Messages to a connection beside its bytes.
enum Signal {
    /// The client has left.
    Left,
    /// The head has taken too long.
    Late,
    /// The proxy is to stop.
    End,
}

type SignalFuture<'a> = Pin<Box<dyn Future<Output = Signal> + Send + 'a>>;

/// Bytes that a stream and a connection of HTTP/2 may bring unasked.
const WINDOWS: (u32, u32) = (64 * 1024, 1024 * 1024);

/// Serves one connection until it is closed.
pub(super) async fn serve(served: Served, stream: TcpStream) {
    let stream = Arc::new(stream);
    let streams = served.proxy.settings().spec.limits.streams;
    // Boxed: each protocol's part of a connection has its own size, and the task has room for the largest.
    let ended = match &served.tls {
        Some(tls) => {
            let limit = served.proxy.settings().edge.head_timeout;
            let secured = match Box::pin(opening::secured(tls, &stream, limit)).await {
                Ok(secured) => secured,
                Err(Unsecured::Plain) => return served.proxy.ledgers.users.malformed(),
                Err(Unsecured::Broken) => return,
            };
            if secured.get_ref().1.alpn_protocol() == Some(b"h2") {
                let io = TokioIo::new(Taken::new(secured, &served.conn));
                Box::pin(http2(&served, io, &stream)).await
            } else {
                let io = TokioIo::new(Reported::new(secured, &served.conn));
                Box::pin(http1(&served, io, &stream)).await
            }
        }
        None => {
            let spoken = if streams > 0 { opening::spoken(&stream, &served.conn).await } else { Some(Spoken::Http1) };
            match spoken {
                None => Ended::Malformed,
                Some(Spoken::Http1) => {
                    let wire = TokioIo::new(Wire::new(Arc::clone(&stream), Arc::clone(&served.conn)));
                    Box::pin(http1(&served, wire, &stream)).await
                }
                Some(Spoken::Http2) => {
                    let io = TokioIo::new(Taken::new(Shared(Arc::clone(&stream)), &served.conn));
                    Box::pin(http2(&served, io, &stream)).await
                }
            }
        }
    };
    if let Ended::Malformed = ended {
        served.proxy.ledgers.users.malformed();
    }
}

async fn http1<I: Read + Write + Unpin + Send + 'static>(served: &Served, io: I, stream: &Arc<TcpStream>) -> Ended {
    let Served { proxy, conn, open, ending, tls } = served;
    let settings = proxy.settings();
    let (http, half_close) = (http1_within(&settings.edge), settings.spec.headers.half_close);
    drop(settings);
    let client = &Client::new(conn, stream, open, &proxy.takers, [tls.is_some(), false]);
    let service = service_fn(|request| exchange::answer(proxy, request, client));
    let mut serving = pin!(http.serve_connection(io, service).with_upgrades());
    // In a set: each has a waker of its own, and is looked at when it was woken and not at each turn of a request.
    let mut signals = FuturesUnordered::<SignalFuture<'_>>::new();
    signals.push(Box::pin(left(stream, half_close).map(|()| Signal::Left)));
    signals.push(Box::pin(ending.notified().map(|()| Signal::End)));
    signals.push(Box::pin(conn.called_late().map(|()| Signal::Late)));
    let ended = loop {
        let signal = tokio::select! {
            biased;
            // First: no backend is asked for a client that has already gone.
            Some(signal) = signals.next() => signal,
            ended = &mut serving => break ended,
        };
        match signal {
            // It has the answer to a head at fault, and has closed its side too.
            Signal::Left if conn.phase() == ConnPhase::Closing => match serving.as_mut().now_or_never() {
                Some(ended) => break ended,
                None => return Ended::ClientLeft,
            },
            Signal::Left => return Ended::ClientLeft,
            // hyper knows nothing of a head that comes; the request's answer says that it is the last.
            Signal::End if conn.phase() == ConnPhase::Head => {}
            Signal::End => serving.as_mut().graceful_shutdown(),
            // On the next read, the wire sends the answer itself.
            Signal::Late => signals.push(Box::pin(conn.called_late().map(|()| Signal::Late))),
        }
    };
    let at_fault = ended.is_err_and(|error| error.is_parse() || conn.is_late());
    if at_fault { Ended::Malformed } else { Ended::InOrder }
}

async fn http2<S>(served: &Served, io: TokioIo<S>, stream: &Arc<TcpStream>) -> Ended
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Served { proxy, conn, open, ending, tls } = served;
    let settings = proxy.settings();
    let mut http = http2::Builder::new(StreamTasks);
    http.max_concurrent_streams(settings.spec.limits.streams)
        .max_header_list_size(settings.edge.head_bytes)
        .initial_stream_window_size(WINDOWS.0)
        .initial_connection_window_size(WINDOWS.1)
        .max_send_buf_size(usize::try_from(WINDOWS.0).unwrap_or(usize::MAX));
    drop(settings);
    let client = Client::new(conn, stream, open, &proxy.takers, [tls.is_some(), true]);
    let service = service_fn(|request| {
        let (proxy, client) = (Arc::clone(proxy), Arc::clone(&client));
        async move { exchange::answer(&proxy, request, &client).await }
    });
    let mut serving = pin!(http.serve_connection(io, service));
    let (mut left, mut told, mut retired) =
        (pin!(left(stream, false)), pin!(ending.notified()), pin!(client.retired()));
    let mut ends = false;
    loop {
        tokio::select! {
            biased;
            () = &mut left => return Ended::ClientLeft,
            ended = &mut serving => return if is_at_fault(ended) { Ended::Malformed } else { Ended::InOrder },
            () = &mut told, if !ends => ends = true,
            () = &mut retired, if !ends => ends = true,
        }
        if ends {
            serving.as_mut().graceful_shutdown();
        }
    }
}

fn is_at_fault(ended: hyper::Result<()>) -> bool {
    let from_the_network = |error: &hyper::Error| {
        let mut cause = std::error::Error::source(error);
        while let Some(of) = cause {
            if of.is::<io::Error>() {
                return true;
            }
            cause = of.source();
        }
        false
    };
    ended.is_err_and(|error| !from_the_network(&error))
}

/// Waits until the client has left: until it resets the connection or, unless it is allowed to, ends its sending side. That
/// is seen whatever bytes are still unread: the interest is in the end alone.
async fn left(stream: &TcpStream, half_close: bool) {
    let interest = if half_close { Interest::ERROR } else { Interest::PRIORITY };
    loop {
        match stream.ready(interest).await {
            Ok(ready) if ready.is_error() || (!half_close && ready.is_read_closed()) => return,
            Ok(_) => tokio::task::yield_now().await,      // a spurious wake-up
            Err(_) => std::future::pending::<()>().await, // the runtime ends
        }
    }
}
