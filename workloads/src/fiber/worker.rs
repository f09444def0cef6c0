use std::{
    os::fd::RawFd,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use controllers::Timestamp;

use super::{
    connection::Connection,
    deadline::Deadline,
    exchange::{Desk, Errand, Witness},
    pool::Squad,
};
use crate::{
    host::{End, Guest, Outcome},
    http1::{HEADERS_MAX, Known, Response},
    persona::Answer,
};

/// A fiber's life: it takes one user after the other, and sends for each until that user thinks, waits or leaves.
#[derive(Debug)]
pub(super) struct Worker {
    squad: Arc<Squad>,
    deadline: Arc<Deadline>,
}

impl Worker {
    pub(super) fn new(squad: Arc<Squad>, deadline: Arc<Deadline>) -> Self {
        Self { squad, deadline }
    }

    pub(super) fn run(self) {
        self.squad.came();
        let mut desk = Desk::new(self.squad.clock, Arc::clone(&self.deadline), &self.squad.network);
        while self.squad.survive(|| self.serve_one(&mut desk)).unwrap_or(true) {
            // After a panic it may still be set.
            self.deadline.clear();
        }
        self.squad.gone(&self.deadline);
    }

    /// False if the run is over.
    fn serve_one(&self, desk: &mut Desk) -> bool {
        let Some(guest) = self.squad.next_guest() else { return false };
        self.serve(desk, guest);
        true
    }

    fn serve(&self, desk: &mut Desk, guest: Box<Guest<Connection>>) {
        let mut next = Some(guest);
        while let Some(mut guest) = next {
            let end = self.send(desk, &mut guest);
            let now = self.squad.clock.now();
            if end != End::Answered && self.squad.is_cutting() {
                self.squad.crew(|crew| crew.cut(guest, now));
                return;
            }
            let sudden = end.is_sudden() || !guest.has_begun();
            next = self.settle(desk, guest, end, now);
            // What it holds of the answer is not needed any more, and others may be short of it.
            desk.inbox.clear();
            self.squad.ring_for_others();
            if sudden {
                self.squad.step_aside();
            }
        }
    }

    fn send(&self, desk: &mut Desk, guest: &mut Box<Guest<Connection>>) -> End {
        let Some(call) = guest.call().cloned() else { return End::Broken };
        let mut kept = guest.connection.take();
        let errand = Errand { call: &call, user: guest.number, intended: guest.at, haste: guest.haste };
        let end = desk.exchange(&self.squad.network, &mut kept, errand, &mut Book { squad: &self.squad, guest });
        guest.connection = kept;
        end
    }

    fn settle(
        &self,
        desk: &Desk,
        guest: Box<Guest<Connection>>,
        end: End,
        now: Timestamp,
    ) -> Option<Box<Guest<Connection>>> {
        let tally = &self.squad.tally;
        match end {
            End::OutOfDescriptors => _ = tally.out_of_descriptors.fetch_add(1, Relaxed),
            End::OutOfPorts => _ = tally.out_of_ports.fetch_add(1, Relaxed),
            End::OutOfMemory => _ = tally.out_of_memory.fetch_add(1, Relaxed),
            _ => {}
        }
        let mut space = [("", &b""[..]); HEADERS_MAX];
        let outcome = match desk.inbox.response(&mut space) {
            Some(Response { status, headers, body }) if end == End::Answered => {
                Outcome::answered(Answer { status, headers, body })
            }
            _ if desk.error.is_empty() => end.without_answer(),
            _ => end.without_answer().because(&desk.error),
        };
        self.squad.crew(|crew| crew.settle(guest, outcome, now))
    }
}

/// Enters what happens during an exchange into the books.
struct Book<'a> {
    squad: &'a Squad,
    guest: &'a mut Guest<Connection>,
}

impl Witness for Book<'_> {
    fn begins(&mut self, now: Timestamp) {
        self.guest.begins(now);
    }

    fn connected(&mut self, took: Duration) {
        self.squad.crew(|crew| crew.connected(self.guest, took));
    }

    fn known(&mut self) -> Option<Known> {
        let number = self.squad.crew(|crew| crew.number(self.guest))?;
        Some(Known { number: Some(number), draw: self.guest.key() })
    }

    fn sends(&mut self, now: Timestamp) {
        self.squad.crew(|crew| crew.sends(self.guest, now));
    }

    fn opened(&mut self, descriptor: RawFd) {
        // Descriptors are given out lowest first: the number of the last is how many there are.
        let open = u64::try_from(descriptor).unwrap_or_default() + 1;
        self.squad.tally.descriptors_peak.fetch_max(open, Relaxed);
    }

    fn found_stale(&mut self) {
        self.squad.tally.stale_connections.fetch_add(1, Relaxed);
    }

    fn turned_back(&mut self, service: &str) {
        self.squad.crew(|crew| crew.turned_back(self.guest, service));
    }
}
