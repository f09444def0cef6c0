use std::{pin::pin, rc::Rc};

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::{
    task::{spawn_local, yield_now},
    time::timeout,
};
use workloads::{
    host::{ExchangeEnd, ExchangeOutcome, RequestDeadline, UserTask},
    persona::{Answer, Call, Connection, Method},
};

use super::{
    connect::Opened,
    desk::{Client, Desk},
    http1::Http1Connection,
    http2::{self, Body, Http2Answer, Lane, Place},
    lost::Lost,
    request,
    task_host::TaskHost,
};
use crate::http1::{HEADERS_MAX, Outgoing, ReceivedResponse};

/// How often a request is sent at most that the service has not begun with.
const TRIES: u32 = 3;

/// What a request goes on.
enum Carrier {
    Http1(Http1Connection),
    Http2(Place, SendRequest<Bytes>),
}

/// A complete answer.
enum Received {
    /// In the inbox.
    Http1,
    Http2(Http2Answer),
}

type User = UserTask<Client>;

/// A task's life: it sends for one user until that user thinks, waits or leaves.
pub(super) async fn serve(host: Rc<TaskHost>, user: Box<User>) {
    let mut desk = host.desk();
    let mut next = Some(user);
    while let Some(mut user) = next {
        let Some(answer) = exchange(&host, &mut desk, &mut user).await else {
            let now = host.clock.now();
            host.pool.borrow_mut().cut(user, now);
            return;
        };
        let sudden = !user.has_begun() || answer.as_ref().is_err_and(|lost| lost.end.is_sudden());
        next = settle(&host, &desk, user, answer);
        // Its part of the answer is not needed any more, and frees memory for others.
        desk.inbox.clear();
        if sudden {
            // The exchange may have ended without a wait, and tasks of this thread run only while another one waits.
            yield_now().await;
        }
        if next.is_none() {
            // A user that waits for this one's connection has it without a turn of the pacer.
            next = host.pool.borrow_mut().take(host.clock.now());
        }
        if host.pool.borrow().is_shared() {
            // Users that share a client-side policy with this one may be due now.
            host.changed.notify_one();
        }
    }
    host.desks.borrow_mut().push(desk);
    host.changed.notify_one();
}

/// Sends the user's request; `None` if the run ended first.
async fn exchange(host: &Rc<TaskHost>, desk: &mut Desk, user: &mut User) -> Option<Result<Received, Lost>> {
    let Some(call) = user.call().cloned() else { return Some(Err(ExchangeEnd::Broken.into())) };
    let began = host.clock.now();
    let deadline = RequestDeadline::of(host.network.timeout, &call, user.at, user.patience_factor());
    if let Some(end) = deadline.passed(began) {
        return Some(Err(end.into()));
    }
    user.begins(began);
    let mut cut = host.cut.clone();
    let mut exchange = pin!(timeout(deadline.at.since(began), send(host, desk, user, &call)));
    tokio::select! {
        ended = &mut exchange => Some(ended.unwrap_or_else(|_| Err(deadline.end.into()))),
        // An error means that the sender is gone, and no cut can come.
        _ = cut.wait_for(|cut| *cut) => None,
    }
}

async fn send(host: &Rc<TaskHost>, desk: &mut Desk, user: &mut User, call: &Call) -> Result<Received, Lost> {
    let mut tries = 0;
    loop {
        let (place, sender) = match carrier(host, user, call).await? {
            Carrier::Http2(place, sender) => (place, sender),
            Carrier::Http1(mut connection) => {
                compose(host, desk, call);
                host.sends(user);
                let reusable = connection.exchange(&desk.out, &mut desk.inbox).await?;
                user.connection = Some(Client::Http1(connection)).filter(|_| keeps(call) && reusable);
                return Ok(Received::Http1);
            }
        };
        let into = Body::new(host.network.limits, host.network.memory.clone());
        let answer =
            http2::exchange(sender, request::http2(call, &host.network.target), into, || host.sends(user)).await;
        drop(place);
        tries += 1;
        match answer {
            Err(lost) if lost.unprocessed && tries < TRIES => host.pool.borrow_mut().books.resends(user),
            answer => return answer.map(Received::Http2),
        }
    }
}

fn keeps(call: &Call) -> bool {
    call.connection != Connection::Once
}

/// What the user's request goes on: the connection that the user keeps, one that users share, or a new one.
async fn carrier(host: &Rc<TaskHost>, user: &mut User, call: &Call) -> Result<Carrier, Lost> {
    match user.connection.take().filter(|_| call.connection == Connection::Keep) {
        Some(Client::Http1(mut connection)) => {
            if !connection.is_stale() {
                return Ok(Carrier::Http1(connection));
            }
            host.pool.borrow_mut().books.resends(user);
        }
        Some(Client::Http2(lane)) => {
            if let Some(carrier) = alone(user, call, &lane).await? {
                return Ok(carrier);
            }
        }
        None => {}
    }
    if let Some(lanes) = host.lanes.as_ref().filter(|_| user.shares()) {
        if let Some((place, sender)) = lanes.place(host).await? {
            host.connected(user, place.connected_in());
            return Ok(Carrier::Http2(place, sender));
        }
        if let Some((connection, took)) = lanes.instead() {
            host.connected(user, Some(took));
            return Ok(Carrier::Http1(connection));
        }
    }
    match host.connect().await? {
        (Opened::Http1(connection), took) => {
            host.connected(user, Some(took));
            Ok(Carrier::Http1(connection))
        }
        (Opened::Http2(connection), took) => {
            let lane = Lane::new();
            let times = (took, host.network.connect_timeout);
            spawn_local(Lane::carry(Rc::downgrade(&lane), *connection, times, || {}));
            let carrier = alone(user, call, &lane).await?;
            host.connected(user, Some(took));
            carrier.ok_or_else(|| ExchangeEnd::ConnectFailed.into())
        }
    }
}

/// A lane for one user alone; `None`: nothing can be sent on it.
async fn alone(user: &mut User, call: &Call, lane: &Rc<Lane>) -> Result<Option<Carrier>, Lost> {
    let Some(place) = lane.place(1, None) else { return Ok(None) };
    let Some(sender) = place.sender().await? else { return Ok(None) };
    user.connection = Some(Client::Http2(Rc::clone(lane))).filter(|_| keeps(call));
    Ok(Some(Carrier::Http2(place, sender)))
}

fn compose(host: &TaskHost, desk: &mut Desk, call: &Call) {
    desk.inbox.expect_body(call.method != Method::Head);
    desk.out.clear();
    Outgoing {
        method: call.method.name(),
        path: &call.path,
        host: &host.network.host,
        headers: &call.headers,
        body: call.body.as_deref(),
        attempt: call.attempt,
        known: None,
        close: !keeps(call),
    }
    .write(&mut desk.out);
}

fn settle(host: &TaskHost, desk: &Desk, user: Box<User>, answer: Result<Received, Lost>) -> Option<Box<User>> {
    let now = host.clock.now();
    let mut pool = host.pool.borrow_mut();
    match answer {
        Ok(Received::Http1) => {
            let mut space = [("", &b""[..]); HEADERS_MAX];
            let outcome = match desk.inbox.response(&mut space) {
                Some(ReceivedResponse { status, headers, body, length }) => {
                    ExchangeOutcome::answered(Answer { status, headers, body, length })
                }
                None => ExchangeEnd::Broken.without_answer(),
            };
            pool.settle(user, outcome, now)
        }
        Ok(Received::Http2(Http2Answer { status, headers, body })) => {
            let headers: Vec<(&str, &[u8])> =
                headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
            let answer = Answer { status, headers: &headers, body: &body.bytes, length: body.length };
            pool.settle(user, ExchangeOutcome::answered(answer), now)
        }
        Err(Lost { end, why, .. }) if why.is_empty() => pool.settle(user, end.without_answer(), now),
        Err(Lost { end, why, .. }) => pool.settle(user, end.without_answer().because(&why), now),
    }
}
