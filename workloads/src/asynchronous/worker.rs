use std::{pin::pin, rc::Rc};

use tokio::{task::yield_now, time::timeout};

use super::{
    TaskHost,
    client::{Client, Lost, Received},
};
use crate::{
    host::{End, Outcome, RequestDeadline, UserTask},
    persona::{Answer, Connection},
};

/// A task's life: it sends for one user until that user thinks, waits or leaves.
pub(super) async fn serve(host: Rc<TaskHost>, user: Box<UserTask<Client>>) {
    let mut next = Some(user);
    while let Some(mut user) = next {
        let Some(answer) = exchange(&host, &mut user).await else {
            let now = host.clock.now();
            host.pool.borrow_mut().cut(user, now);
            return;
        };
        let sudden = !user.has_begun() || answer.as_ref().is_err_and(|lost| lost.end.is_sudden());
        next = settle(&host, user, answer);
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
    host.changed.notify_one();
}

/// Sends the user's request; `None` if the run ended first.
async fn exchange(host: &TaskHost, user: &mut Box<UserTask<Client>>) -> Option<Result<Received, Lost>> {
    let Some(call) = user.call().cloned() else { return Some(Err(End::Broken.into())) };
    let began = host.clock.now();
    let deadline = RequestDeadline::of(host.timeout, &call, user.at, user.patience_factor());
    if let Some(end) = deadline.passed(began) {
        return Some(Err(end.into()));
    }
    user.begins(began);
    let kept = user.connection.take().filter(|_| call.connection == Connection::Keep);
    let is_new = kept.is_none();
    // The set-up was tried before the run: a failure now is a lack of resources in the process.
    let Ok(client) = kept.map_or_else(|| host.factory.build(call.connection), Ok) else {
        return Some(Err(End::ConnectFailed.into()));
    };
    let mut cut = host.cut.clone();
    let answer = {
        let mut exchange = pin!(timeout(deadline.at.since(began), host.factory.exchange(&client, &call)));
        tokio::select! {
            ended = &mut exchange => Some(ended.unwrap_or_else(|_| Err(deadline.end.into()))),
            // An error means that the sender is gone, and no cut can come.
            _ = cut.wait_for(|cut| *cut) => None,
        }
    };
    if is_new {
        host.descriptors.look();
    }
    let unconnected = matches!(
        answer,
        Some(Err(Lost {
            end: End::ConnectFailed | End::ConnectTimedOut | End::OutOfPorts | End::OutOfDescriptors,
            ..
        }))
    );
    if !unconnected {
        host.pool.borrow_mut().books.sends(user, began);
    }
    if call.connection != Connection::Once && matches!(answer, Some(Ok(_))) {
        user.connection = Some(client);
    }
    answer
}

fn settle(
    host: &TaskHost,
    user: Box<UserTask<Client>>,
    answer: Result<Received, Lost>,
) -> Option<Box<UserTask<Client>>> {
    let now = host.clock.now();
    let mut pool = host.pool.borrow_mut();
    match answer {
        Ok(Received { status, headers, body }) => {
            let headers: Vec<(&str, &[u8])> =
                headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
            pool.settle(user, Outcome::answered(Answer { status, headers: &headers, body: &body.bytes }), now)
        }
        Err(Lost { end, why }) if why.is_empty() => pool.settle(user, end.without_answer(), now),
        Err(Lost { end, why }) => pool.settle(user, end.without_answer().because(&why), now),
    }
}
