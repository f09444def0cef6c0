use std::{
    os::fd::RawFd,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use controllers::Timestamp;

use super::{
    connection::Connection,
    deadline::Deadline,
    exchange::{Errand, HttpExchange, Witness},
    pool::FiberPool,
};
use crate::{
    host::{End, Outcome, UserTask},
    http1::{HEADERS_MAX, Known, Response},
    persona::Answer,
};

/// A fiber's life: it takes one user after the other, and sends for each until that user thinks, waits or leaves.
#[derive(Debug)]
pub(super) struct Worker {
    fibers: Arc<FiberPool>,
    deadline: Arc<Deadline>,
}

impl Worker {
    pub(super) fn new(fibers: Arc<FiberPool>, deadline: Arc<Deadline>) -> Self {
        Self { fibers, deadline }
    }

    pub(super) fn run(self) {
        self.fibers.came();
        let mut exchange = HttpExchange::new(self.fibers.clock, Arc::clone(&self.deadline), &self.fibers.network);
        while self.fibers.catch_panic(|| self.serve_one(&mut exchange)).unwrap_or(true) {
            // After a panic it may still be set.
            self.deadline.clear();
        }
        self.fibers.gone(&self.deadline);
    }

    /// False if the run is over.
    fn serve_one(&self, exchange: &mut HttpExchange) -> bool {
        let Some(user) = self.fibers.next_user() else { return false };
        self.serve(exchange, user);
        true
    }

    fn serve(&self, exchange: &mut HttpExchange, user: Box<UserTask<Connection>>) {
        let mut next = Some(user);
        while let Some(mut user) = next {
            let end = self.send(exchange, &mut user);
            let now = self.fibers.clock.now();
            if end != End::Answered && self.fibers.is_cutting() {
                self.fibers.users(|users| users.cut(user, now));
                return;
            }
            let sudden = end.is_sudden() || !user.has_begun();
            next = self.settle(exchange, user, end, now);
            // What it holds of the answer is not needed any more, and others may be short of it.
            exchange.inbox.clear();
            self.fibers.ring_for_others();
            if sudden {
                self.fibers.step_aside();
            }
        }
    }

    fn send(&self, exchange: &mut HttpExchange, user: &mut Box<UserTask<Connection>>) -> End {
        let Some(call) = user.call().cloned() else { return End::Broken };
        let mut kept = user.connection.take();
        let errand =
            Errand { call: &call, user: user.number, intended: user.at, patience_factor: user.patience_factor() };
        let end = exchange.exchange(&self.fibers.network, &mut kept, errand, &mut Book { fibers: &self.fibers, user });
        user.connection = kept;
        end
    }

    fn settle(
        &self,
        exchange: &HttpExchange,
        user: Box<UserTask<Connection>>,
        end: End,
        now: Timestamp,
    ) -> Option<Box<UserTask<Connection>>> {
        let tally = &self.fibers.tally;
        match end {
            End::OutOfDescriptors => _ = tally.out_of_descriptors.fetch_add(1, Relaxed),
            End::OutOfPorts => _ = tally.out_of_ports.fetch_add(1, Relaxed),
            End::OutOfMemory => _ = tally.out_of_memory.fetch_add(1, Relaxed),
            _ => {}
        }
        let mut space = [("", &b""[..]); HEADERS_MAX];
        let outcome = match exchange.inbox.response(&mut space) {
            Some(Response { status, headers, body }) if end == End::Answered => {
                Outcome::answered(Answer { status, headers, body })
            }
            _ if exchange.error.is_empty() => end.without_answer(),
            _ => end.without_answer().because(&exchange.error),
        };
        self.fibers.users(|users| users.settle(user, outcome, now))
    }
}

/// Enters what happens during an exchange into the books.
struct Book<'a> {
    fibers: &'a FiberPool,
    user: &'a mut UserTask<Connection>,
}

impl Witness for Book<'_> {
    fn begins(&mut self, now: Timestamp) {
        self.user.begins(now);
    }

    fn connected(&mut self, took: Duration) {
        self.fibers.users(|users| users.books.connected(self.user, took));
    }

    fn known(&mut self) -> Option<Known> {
        let number = self.fibers.users(|users| users.books.number(self.user))?;
        Some(Known { number: Some(number), user: Some(self.user.number), draw: self.user.key() })
    }

    fn sends(&mut self, now: Timestamp) {
        self.fibers.users(|users| users.books.sends(self.user, now));
    }

    fn opened(&mut self, descriptor: RawFd) {
        // Descriptors are given out lowest first: the number of the last is how many there are.
        let open = u64::try_from(descriptor).unwrap_or_default() + 1;
        self.fibers.tally.descriptors_peak.fetch_max(open, Relaxed);
    }

    fn found_stale(&mut self) {
        self.fibers.tally.stale_connections.fetch_add(1, Relaxed);
    }

    fn turned_back(&mut self, service: &str) {
        self.fibers.users(|users| users.books.turned_back(self.user, service));
    }
}
