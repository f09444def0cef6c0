use std::{pin::pin, rc::Rc};

use tokio::{task::yield_now, time::timeout};

use super::{
    Floor,
    client::{Client, Lost, Received},
};
use crate::{
    host::{End, Guest, Limit, Outcome},
    persona::{Answer, Connection},
};

/// A task's life: it sends for one user until that user thinks, waits or leaves.
pub(super) async fn serve(floor: Rc<Floor>, guest: Box<Guest<Client>>) {
    let mut next = Some(guest);
    while let Some(mut guest) = next {
        let Some(answer) = exchange(&floor, &mut guest).await else {
            let now = floor.clock.now();
            floor.crew.borrow_mut().cut(guest, now);
            return;
        };
        let sudden = !guest.has_begun() || answer.as_ref().is_err_and(|lost| lost.end.is_sudden());
        next = settle(&floor, guest, answer);
        if sudden {
            // It may have come without a wait, and nobody else has a turn on this thread unless somebody waits.
            yield_now().await;
        }
        if floor.crew.borrow().is_shared() {
            // Others who share a policy of their own may be due now.
            floor.changed.notify_one();
        }
    }
    floor.changed.notify_one();
}

/// `None` if the run ended first.
async fn exchange(floor: &Floor, guest: &mut Box<Guest<Client>>) -> Option<Result<Received, Lost>> {
    let Some(call) = guest.call().cloned() else { return Some(Err(End::Broken.into())) };
    let began = floor.clock.now();
    let limit = Limit::of(floor.timeout, &call, guest.at, guest.haste);
    if let Some(end) = limit.passed(began) {
        return Some(Err(end.into()));
    }
    guest.begins(began);
    let kept = guest.connection.take().filter(|_| call.connection == Connection::Keep);
    let is_new = kept.is_none();
    // The set-up was tried before the run: what fails now is the process's own lack of something.
    let Ok(client) = kept.map_or_else(|| floor.clients.build(call.connection), Ok) else {
        return Some(Err(End::ConnectFailed.into()));
    };
    let mut cut = floor.cut.clone();
    let answer = {
        let mut exchange = pin!(timeout(limit.at.since(began), floor.clients.exchange(&client, &call)));
        tokio::select! {
            ended = &mut exchange => Some(ended.unwrap_or_else(|_| Err(limit.end.into()))),
            // An error would mean that nobody can cut any more.
            _ = cut.wait_for(|cut| *cut) => None,
        }
    };
    if is_new {
        floor.descriptors.look();
    }
    let unconnected = matches!(
        answer,
        Some(Err(Lost {
            end: End::ConnectFailed | End::ConnectTimedOut | End::OutOfPorts | End::OutOfDescriptors,
            ..
        }))
    );
    if !unconnected {
        floor.crew.borrow_mut().sends(guest, began);
    }
    if call.connection != Connection::Once && matches!(answer, Some(Ok(_))) {
        guest.connection = Some(client);
    }
    answer
}

fn settle(floor: &Floor, guest: Box<Guest<Client>>, answer: Result<Received, Lost>) -> Option<Box<Guest<Client>>> {
    let now = floor.clock.now();
    let count = |counter: &std::cell::Cell<u64>| counter.set(counter.get() + 1);
    let received = match answer {
        Ok(received) => received,
        Err(Lost { end, why }) => {
            match end {
                End::OutOfPorts => count(&floor.out_of_ports),
                End::OutOfDescriptors => count(&floor.out_of_descriptors),
                End::OutOfMemory => count(&floor.out_of_memory),
                _ => {}
            }
            let outcome = end.without_answer();
            let outcome = if why.is_empty() { outcome } else { outcome.because(&why) };
            return floor.crew.borrow_mut().settle(guest, outcome, now);
        }
    };
    let headers: Vec<(&str, &[u8])> =
        received.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let answer = Answer { status: received.status, headers: &headers, body: &received.body.bytes };
    floor.crew.borrow_mut().settle(guest, Outcome::answered(answer), now)
}
