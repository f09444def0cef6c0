//! The service's own ledgers: every request that was read is counted once by how it ended.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use controllers::Reason;
use spec::wire::{ReadRequests, ServerLedger, StageGauges};

use crate::request::{Intake, LedgerEnding};

mod numbers;

use numbers::Numbers;

/// The ledgers of a service. Users' requests are counted apart from other services' calls; each
/// ledger is compared with the sender's.
#[derive(Debug, Default)]
pub struct Ledgers {
    /// Users' requests.
    pub users: Arc<ServiceLedger>,
    /// Calls of other services.
    pub calls: Arc<ServiceLedger>,
}

impl Ledgers {
    /// The ledger of a connection: of calls, or of users.
    #[must_use]
    pub fn of(&self, calls: bool) -> &Arc<ServiceLedger> {
        if calls { &self.calls } else { &self.users }
    }

    /// Both ledgers, users' first.
    #[must_use]
    pub fn read(&self) -> [ServerLedger; 2] {
        [self.users.read(), self.calls.read()]
    }

    /// The gauges of reading and of sending, which have no site.
    #[must_use]
    pub fn rows([users, calls]: &[ServerLedger; 2], intake: &Intake) -> [StageGauges; 2] {
        let sent = |books: &ServerLedger| books.answered() + books.errors + books.refused.values().sum::<u64>();
        let row = |name: &str, completed| StageGauges { name: name.to_owned(), completed, ..StageGauges::default() };
        let read = StageGauges {
            counts: intake.by_attempt().chain([("checks".to_owned(), users.checks)]).collect(),
            ..row("read", users.requests_read + calls.requests_read)
        };
        let send = StageGauges {
            counts: [("degraded".to_owned(), users.degraded + calls.degraded)].into(),
            ..row("send", sent(users) + sent(calls))
        };
        [read, send]
    }
}

/// The ledger. One lock, so that the equation holds at every moment at which it is read.
#[derive(Debug, Default)]
pub struct ServiceLedger(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    sums: ServerLedger,
    refused: BTreeMap<Reason, u64>,
    numbers: Numbers,
}

impl ServiceLedger {
    /// Counts a complete head of a request with this number.
    #[must_use]
    pub fn open(self: &Arc<Self>, number: Option<u64>) -> LedgerEntry {
        let mut books = self.lock();
        books.numbers.read(number);
        books.sums.requests_read += 1;
        books.sums.in_flight += 1;
        drop(books);
        LedgerEntry { ledger: Arc::clone(self), closed: false }
    }

    /// Counts a health check.
    pub fn checked(&self) {
        self.lock().sums.checks += 1;
    }

    /// Counts an answer that says that it is less than was requested, or older.
    pub fn degraded(&self) {
        self.lock().sums.degraded += 1;
    }

    /// Counts a head that was no acceptable HTTP.
    pub fn malformed(&self) {
        self.lock().sums.malformed += 1;
    }

    /// Counts an accepted connection.
    pub fn connected(&self) {
        let mut books = self.lock();
        books.sums.connections_accepted += 1;
        books.sums.connections_open += 1;
    }

    /// Moves an accepted connection to another ledger.
    pub fn was_not_ours(&self) {
        let mut books = self.lock();
        books.sums.connections_accepted -= 1;
        books.sums.connections_open -= 1;
    }

    /// Counts the end of a connection.
    pub fn disconnected(&self) {
        self.lock().sums.connections_open -= 1;
    }

    /// Counts a connection that was refused.
    pub fn connection_refused(&self) {
        self.lock().sums.connections_refused += 1;
    }

    /// Counts connections that were closed to make room.
    pub fn connections_evicted(&self, count: usize) {
        self.lock().sums.connections_evicted += count as u64;
    }

    /// Counts a failure of accept.
    pub fn accept_failed(&self) {
        self.lock().sums.accept_errors += 1;
    }

    /// The current counts.
    #[must_use]
    pub fn read(&self) -> ServerLedger {
        self.lock().sums()
    }

    /// The current counts and the numbers of the requests that were read, as of one moment.
    #[must_use]
    pub fn requests(&self) -> ReadRequests {
        let books = self.lock();
        ReadRequests {
            ledger: books.sums(),
            read: books.numbers.runs(),
            again: books.numbers.again,
            unnumbered: books.numbers.unnumbered,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn sums(&self) -> ServerLedger {
        let refused = self.refused.iter().map(|(reason, &count)| (reason.name().to_owned(), count)).collect();
        ServerLedger { refused, ..self.sums.clone() }
    }
}

/// A request in progress. If it is dropped without an ending, its client was gone.
#[derive(Debug)]
pub struct LedgerEntry {
    ledger: Arc<ServiceLedger>,
    closed: bool,
}

impl LedgerEntry {
    /// Records how the request ended.
    pub fn close(mut self, ending: LedgerEnding) {
        self.closed = true;
        let mut books = self.ledger.lock();
        books.sums.in_flight -= 1;
        match ending {
            LedgerEnding::Served => books.sums.served += 1,
            LedgerEnding::AtFault => books.sums.at_fault += 1,
            LedgerEnding::Refused(reason) => *books.refused.entry(reason).or_default() += 1,
            LedgerEnding::Failed => books.sums.errors += 1,
        }
    }
}

impl Drop for LedgerEntry {
    fn drop(&mut self) {
        if !self.closed {
            let mut books = self.ledger.lock();
            books.sums.in_flight -= 1;
            books.sums.client_gone += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_ends_in_one_place() {
        let ledger = Arc::new(ServiceLedger::default());
        let mut open: Vec<_> = (0..5).map(|number| ledger.open(Some(number))).collect();
        open.pop().unwrap().close(LedgerEnding::Served);
        open.pop().unwrap().close(LedgerEnding::Refused(Reason::Rate));
        open.pop().unwrap().close(LedgerEnding::Failed);
        drop(open.pop());
        let books = ledger.read();
        assert_eq!(
            (books.requests_read, books.served, books.errors, books.client_gone, books.in_flight),
            (5, 1, 1, 1, 1)
        );
        assert_eq!(books.refused, BTreeMap::from([("rate".to_owned(), 1)]));
        assert!(books.balances());
        let requests = ledger.requests();
        assert_eq!((requests.ledger, requests.read), (books, vec![[0, 4]]));
    }
}
