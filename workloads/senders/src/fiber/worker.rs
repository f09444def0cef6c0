use std::sync::Arc;

use workloads::{
    host::{ExchangeEnd, ExchangeOutcome, UserTask},
    persona::Answer,
};

use super::{connection::Connection, deadline::Deadline, exchange::HttpExchange, pool::FiberPool};
use crate::http1::{HEADERS_MAX, ReceivedResponse};

/// The main function of a fiber: it takes one user after the other, and sends for each until that user thinks, waits or
/// leaves.
#[derive(Debug)]
pub(super) struct Worker {
    fibers: Arc<FiberPool>,
    deadline: Arc<Deadline>,
}

impl Worker {
    /// Works until the run is over.
    pub(super) fn run(fibers: Arc<FiberPool>, deadline: Arc<Deadline>) {
        fibers.started();
        let mut exchange = HttpExchange::new(&fibers, Arc::clone(&deadline));
        let worker = Self { fibers, deadline };
        while worker.fibers.catch_panic(|| worker.serve_one(&mut exchange)).unwrap_or(true) {
            // After a panic it may still be set.
            worker.deadline.clear();
        }
        worker.fibers.stopped(&worker.deadline);
    }

    /// Serves one user; false if the run is over.
    fn serve_one(&self, exchange: &mut HttpExchange) -> bool {
        let Some(user) = self.fibers.next_user() else { return false };
        self.serve(exchange, user);
        true
    }

    fn serve(&self, exchange: &mut HttpExchange, user: Box<UserTask<Connection>>) {
        let mut next = Some(user);
        while let Some(mut user) = next {
            let end = exchange.run(&self.fibers, &mut user);
            let now = self.fibers.clock.now();
            if end != ExchangeEnd::Answered && self.fibers.is_cutting() {
                self.fibers.users(|users| users.cut(user, now));
                return;
            }
            let sudden = end.is_sudden() || !user.has_begun();
            let mut space = [("", &b""[..]); HEADERS_MAX];
            let outcome = match exchange.inbox.response(&mut space) {
                Some(ReceivedResponse { status, headers, body, length }) if end == ExchangeEnd::Answered => {
                    ExchangeOutcome::answered(Answer { status, headers, body, length })
                }
                _ if exchange.error.is_empty() => end.without_answer(),
                _ => end.without_answer().because(&exchange.error),
            };
            next = self.fibers.users(|users| users.settle(user, outcome, now));
            // Its part of the answer is not needed any more, and frees memory for others.
            exchange.inbox.clear();
            self.fibers.ring_for_others();
            if sudden {
                self.fibers.yield_to_pacer();
            }
        }
    }
}
