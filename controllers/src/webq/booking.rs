//! When a request may come: the booking of capacity in seconds to come (section III-A).
//!
//! # Deviations from the paper
//!
//! - Work that does not fit into its second is counted against the seconds after it. The paper's rule, the earliest k
//!   with `N[k] < C`, lets each second overshoot by up to a request's hardness less one unit, and forgets it: requests
//!   of hardness 70 would be booked two to a second of 100 subunits, a load of 140 % for ever. Here the backlog
//!   `W[k + 1] = max(0, W[k] + N[k] − C)` is what the server still has to do when a second begins, and the earliest k
//!   with `W[k] + N[k] < C` is taken. For requests of hardness 1 and a whole capacity both rules are the same.
//! - The same backlog is the paper's rule for a capacity that has fallen: after T seconds booked with C the backlog is
//!   `(C − C′)·T`, which takes until `C·T/C′`, the second that new requests start with.
//! - The array is bounded; beyond it requests are told that the queue is full, and how long it is.
//! - Without a capacity nothing waits. The released code has a capacity of 100 000 for that state.

use crate::UnixSeconds;

use super::{
    BadParams, Subunits,
    replica_report::{MAX_SECONDS, ReplicaReport, ReportRefused},
    replicas::{Peers, ReplicaCounts, ReplicaParams},
    slots::Slots,
};

/// A clock that goes back by no more seconds than this is waited for; beyond it, the seconds get new numbers.
const WAITED_FOR_S: u64 = 5;

/// The queue of one replica.
#[derive(Debug, Clone)]
pub struct BookingParams {
    /// Seconds that can be booked, 1 to 3600. The released code has 1000.
    pub horizon_s: u32,
    /// The replica, and the others.
    pub replica: ReplicaParams,
    /// The start of this process, which tells its reports from those of an earlier one.
    pub started: UnixSeconds,
}

impl BookingParams {
    /// The only replica, with the 1000 seconds of the released code.
    #[must_use]
    pub fn alone() -> Self {
        Self { horizon_s: 1000, replica: ReplicaParams::alone(), started: UnixSeconds(0) }
    }
}

/// A promised turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booked {
    /// The second in which the request may come.
    pub at: UnixSeconds,
    /// Whole seconds until then.
    pub wait_s: u32,
}

/// All seconds of the horizon are booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue is full: it is {longest_wait_s} s long")]
pub struct Full {
    /// Seconds until the last booked turn.
    pub longest_wait_s: u32,
}

/// What became of requests and clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BookingCounts {
    /// Requests with a promised turn.
    pub booked: u64,
    /// Requests that found the queue full.
    pub full: u64,
    /// Requests that came without a turn of their own, since their users were inside.
    pub inside: u64,
    /// Calls with an earlier second than one before.
    pub clock_went_back: u64,
}

/// Books the capacity of a server, second by second. Hosts call it with the wall clock, which replicas and tokens agree on.
#[derive(Debug)]
pub struct Booking {
    slots: Slots,
    /// Subunits a second; `None`: not known yet.
    capacity: Option<Subunits>,
    /// `W[0]`: work that the server still has to do as the current second begins.
    backlog: Subunits,
    /// The earliest second that may be open; `None`: to be looked for from the current one.
    cursor: Option<Cursor>,
    peers: Peers,
    started: UnixSeconds,
    /// Subunits asked for in this second, and in the one before.
    load: [Subunits; 2],
    /// The last second with a booking.
    last: u64,
    counts: BookingCounts,
}

/// A second, what is left over as it begins, and what this replica may use of it.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    second: u64,
    backlog: Subunits,
    usable: Subunits,
}

impl Booking {
    /// An empty queue without a capacity.
    ///
    /// # Errors
    /// The horizon or the replicas are out of range.
    pub fn new(params: &BookingParams) -> Result<Self, BadParams> {
        let horizon = params.horizon_s as usize;
        if !(1..=MAX_SECONDS).contains(&horizon) {
            return Err(BadParams::Horizon(params.horizon_s));
        }
        Ok(Self {
            slots: Slots::new(horizon),
            capacity: None,
            backlog: Subunits::ZERO,
            cursor: None,
            peers: Peers::new(&params.replica)?,
            started: params.started,
            load: [Subunits::ZERO; 2],
            last: 0,
            counts: BookingCounts::default(),
        })
    }

    /// Books the earliest open second for a request. `hardness` is in subunits.
    ///
    /// # Errors
    /// No second of the horizon is open.
    pub fn book(&mut self, now: UnixSeconds, hardness: Subunits) -> Result<Booked, Full> {
        self.advance(now);
        self.load[0] += hardness;
        let Some(second) = self.earliest() else {
            self.counts.full += 1;
            return Err(Full { longest_wait_s: self.longest_wait_s(now) });
        };
        self.slots.add(second, hardness);
        self.last = self.last.max(second);
        self.counts.booked += 1;
        Ok(Booked { at: UnixSeconds(second), wait_s: seconds(second.saturating_sub(now.0)) })
    }

    /// Counts a request that comes in this second without having asked: of a user who is inside. What does not fit into
    /// the second is work for the seconds after it, as any other.
    pub fn charge(&mut self, now: UnixSeconds, hardness: Subunits) {
        self.advance(now);
        self.load[0] += hardness;
        let second = self.slots.first();
        self.slots.add(second, hardness);
        self.last = self.last.max(second);
        self.counts.inside += 1;
        let booked = self.backlog + self.slots.get(second) + self.peers.booked(second);
        if self.capacity.is_some_and(|capacity| booked > capacity) {
            self.cursor = None; // later seconds have less room than when it was found
        }
    }

    /// The wait that the next request will get; `None` if the queue is full.
    pub fn next_wait_s(&mut self, now: UnixSeconds) -> Option<u32> {
        self.advance(now);
        self.earliest().map(|second| seconds(second.saturating_sub(now.0)))
    }

    /// The wait that a request would get, as things were when the booking was last told something. `None`: the queue was full.
    #[must_use]
    pub fn shown_wait_s(&self, now: UnixSeconds) -> Option<u32> {
        let at = self.capacity.map_or(self.slots.first(), |capacity| self.open_from(capacity).second);
        (at < self.slots.end()).then(|| seconds(at.saturating_sub(now.0)))
    }

    /// Seconds until the last booked turn; 0 if nobody waits.
    #[must_use]
    pub fn longest_wait_s(&self, now: UnixSeconds) -> u32 {
        seconds(self.last.saturating_sub(now.0))
    }

    /// Subunits that are booked by this replica for the seconds after the current one: the length of the queue.
    #[must_use]
    pub fn queued(&self, now: UnixSeconds) -> Subunits {
        (now.0.saturating_add(1)..self.slots.end()).map(|second| self.slots.get(second)).sum()
    }

    /// Sets the capacity of the server, subunits a second, for all replicas together; `None`: nothing waits. Promised
    /// turns stay.
    pub fn set_capacity(&mut self, now: UnixSeconds, capacity: Option<Subunits>) {
        self.advance(now);
        self.capacity = capacity;
        self.refresh();
    }

    /// The capacity of the server.
    #[must_use]
    pub fn capacity(&self) -> Option<Subunits> {
        self.capacity
    }

    /// This replica's share of the capacity.
    #[must_use]
    pub fn share(&self) -> Option<Subunits> {
        self.capacity.map(|capacity| if self.peers.are_none() { capacity } else { self.peers.share() })
    }

    /// `N[k]`: subunits booked by this replica, from the current second on, without the empty ones at the end.
    #[must_use]
    pub fn booked(&self) -> Vec<Subunits> {
        self.slots.booked()
    }

    /// The report for the others: to be sent once a second, as soon as the second begins.
    pub fn report(&mut self, now: UnixSeconds) -> ReplicaReport {
        self.advance(now);
        let second = UnixSeconds(self.slots.first());
        let report = self.peers.tell((self.started, second), self.load[1], self.slots.booked());
        self.refresh();
        report
    }

    /// Takes the report of another replica.
    ///
    /// # Errors
    /// See [`ReportRefused`]; each is counted.
    pub fn hear(&mut self, now: UnixSeconds, report: ReplicaReport) -> Result<(), ReportRefused> {
        self.advance(now);
        self.peers.hear(now, report)?;
        self.refresh();
        Ok(())
    }

    /// What became of requests.
    #[must_use]
    pub fn counts(&self) -> BookingCounts {
        self.counts
    }

    /// What became of reports.
    #[must_use]
    pub fn replica_counts(&self) -> ReplicaCounts {
        self.peers.counts()
    }

    /// Moves on to the current second.
    ///
    /// A clock that goes back by a few seconds is waited for: nothing moves until it has caught up, so that a clock that
    /// swings frees no slot early. After a greater step the current second gets its new number, and promised turns
    /// are as far away as they were, since users count their seconds by themselves.
    fn advance(&mut self, now: UnixSeconds) {
        let first = self.slots.first();
        if now.0 <= first {
            self.counts.clock_went_back += u64::from(now.0 < first);
            if first - now.0 > WAITED_FOR_S {
                self.last = now.0.saturating_add(self.last.saturating_sub(first));
                self.slots.relabel(now.0);
                self.refresh();
            }
            return;
        }
        self.backlog = self.backlog_at(now.0);
        self.slots.advance(now.0);
        let in_last_second = if now.0 == first + 1 { self.load[0] } else { Subunits::ZERO };
        self.load = [Subunits::ZERO, in_last_second];
        self.refresh();
    }

    /// What the server still has to do when a later second begins.
    fn backlog_at(&self, later: u64) -> Subunits {
        let Some(capacity) = self.capacity else { return Subunits::ZERO };
        let (first, known) = (self.slots.first(), later.min(self.slots.end()));
        let backlog = (first..known).fold(self.backlog, |backlog, second| self.left_over(backlog, second, capacity));
        backlog.less(capacity.times(later - known))
    }

    /// `W[k + 1] = max(0, W[k] + N[k] − C)`, where `N[k]` is of all replicas.
    fn left_over(&self, backlog: Subunits, second: u64, capacity: Subunits) -> Subunits {
        (backlog + self.slots.get(second) + self.peers.booked(second)).less(capacity)
    }

    /// Recomputes what depends on the second, the capacity and the reports.
    fn refresh(&mut self) {
        if let Some(capacity) = self.capacity {
            self.peers.share_out(UnixSeconds(self.slots.first()), capacity);
        }
        self.cursor = None;
    }

    /// The earliest open second. Slots before the cursor stay closed until the next refresh: work is only added.
    fn earliest(&mut self) -> Option<u64> {
        let Some(capacity) = self.capacity else { return Some(self.slots.first()) };
        let at = self.open_from(capacity);
        self.cursor = Some(at);
        (at.second < self.slots.end()).then_some(at.second)
    }

    /// The earliest open second, or the one after the last.
    fn open_from(&self, capacity: Subunits) -> Cursor {
        let mut at = self.cursor.unwrap_or_else(|| self.cursor_at(self.slots.first(), self.backlog, capacity));
        while self.slots.get(at.second) >= at.usable {
            if at.second >= self.slots.end() {
                break;
            }
            let backlog = self.left_over(at.backlog, at.second, capacity);
            at = self.cursor_at(at.second + 1, backlog, capacity);
        }
        at
    }

    fn cursor_at(&self, second: u64, backlog: Subunits, capacity: Subunits) -> Cursor {
        Cursor { second, backlog, usable: self.peers.usable(second, capacity.less(backlog)) }
    }
}

fn seconds(wait: u64) -> u32 {
    u32::try_from(wait).unwrap_or(u32::MAX)
}
