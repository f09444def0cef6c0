//! The recorder that a host drives.

use std::{collections::VecDeque, time::Duration};

use controllers::Timestamp;

use super::{
    BackgroundLedger, CheckResult, Distribution, Fate, Health, Intent, LastSecond, Ledger, RecorderPlan, Report,
    SecondTimes, TimeFamily, UserStates, Window,
    distribution::Percentile,
    groups::{Ended, Groups},
    in_flight::InFlight,
    raw::Raw,
    reports::Reports,
    undelayed::{EndedRequest, RawUndelayed, UndelayedMeter},
};

/// One planned request, from its intended start until it has ended. Not `Clone`: a request ends when its ticket is
/// returned, so it cannot end twice; a dropped ticket shows as in flight.
#[derive(Debug)]
#[must_use = "a ticket that is not handed back leaves its request open"]
pub struct Ticket {
    cell: u32,
    user: u64,
    intended: Timestamp,
    /// The time from which the host could send it.
    free: Timestamp,
    wanted_at: Timestamp,
    /// The time at which a client-side policy was first asked about it.
    asked: Moment,
    begun: Moment,
    /// True for the first request of its user.
    arrival: bool,
    retry: bool,
    sent: Moment,
    /// The time from which its answer counts, if it was read while it came.
    readable: Moment,
}

/// A time that may not have come yet, no larger than one that has: a hundred thousand tickets wait.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moment(Timestamp);

impl Moment {
    const NOT_YET: Self = Self(Timestamp::MAX);

    fn get(self) -> Option<Timestamp> {
        (self != Self::NOT_YET).then_some(self.0)
    }
}

impl Ticket {
    /// The intended start: the planned arrival, or the intended end of the pause before.
    #[must_use]
    pub fn intended(&self) -> Timestamp {
        self.intended
    }

    /// The time at which it was written, if it was.
    #[must_use]
    pub fn sent(&self) -> Option<Timestamp> {
        self.sent.get()
    }
}

/// Counts all requests and records their times, in memory bounded by phases, types and classes.
#[derive(Debug)]
pub struct Recorder {
    raw: Raw,
    /// The objective of each class, in their order.
    objectives: Vec<Duration>,
    window: Window,
    groups: Groups,
    window_response: Distribution,
    reports: Reports,
    window_lag: Distribution,
    /// Times of rejections in this second; `None`: no times by second are wanted.
    window_reject: Option<Distribution>,
    closed_windows: VecDeque<Window>,
    /// `None`: nobody tells when the generator looks for answers.
    undelayed: Option<UndelayedMeter>,
    in_flight: InFlight,
    arrivals_end: ArrivalsEnd,
}

/// The end of arrivals.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ArrivalsEnd {
    /// With the plan.
    AsPlanned,
    /// The run ended by itself before its plan did.
    Early,
    /// They were stopped here.
    Stopped(Timestamp),
}

impl Recorder {
    /// A recorder for this plan, whose requests are of these types (`Kind(0)` is the first).
    #[must_use]
    pub fn new(plan: RecorderPlan, kinds: &[&str]) -> Self {
        let most = plan.timeout * 2;
        let (objective, own) = (plan.objective, plan.class_objectives.clone());
        let raw = Raw::new(plan, kinds, most);
        Self {
            objectives: raw.classes.iter().map(|class| own.get(class).copied().unwrap_or(objective)).collect(),
            groups: Groups::new(raw.kinds.len(), raw.classes.len()),
            reports: Reports::new(most, raw.kinds.len(), raw.classes.len()),
            raw,
            window: Window::default(),
            window_response: Distribution::new(most),
            window_lag: Distribution::new(most),
            window_reject: None,
            closed_windows: VecDeque::new(),
            undelayed: None,
            in_flight: InFlight::new(),
            arrivals_end: ArrivalsEnd::AsPlanned,
        }
    }

    /// Gives windows their times ([`Window::times`]) from now on.
    #[must_use]
    pub fn keeping_times(mut self) -> Self {
        self.window_reject = Some(Distribution::new(self.raw.most));
        self
    }

    /// Records response times without the generator's own part as well. Its host tells each time that it
    /// [looks](Self::looked) for answers.
    #[must_use]
    pub fn watching_the_generator(mut self) -> Self {
        self.undelayed = Some(UndelayedMeter::default());
        let most = self.raw.most;
        self.raw.phases.iter_mut().for_each(|phase| phase.undelayed = Some(RawUndelayed::new(most)));
        self
    }

    /// The generator looks for answers at `now`. It had stood still for so long before: answers may have waited for that
    /// time.
    pub fn looked(&mut self, now: Timestamp, stood_still: Duration) {
        let Some(meter) = &mut self.undelayed else { return };
        let (pause, ended) = meter.looked(now, stood_still);
        pause.into_iter().for_each(|pause| self.raw.stood_still(pause));
        ended.for_each(|(request, took)| self.raw.undelayed(request.intended, took, request.is_known));
    }

    /// Enters a planned request at its intended start, before anything else happens to it. Only for the first hop: a
    /// later one uses the ticket of its request ([`Recorder::hop`]).
    pub fn plan(&mut self, user: u64, intent: Intent, intended: Timestamp) -> Ticket {
        let user = self.raw.shard.map_or(user, |shard| shard.local(user));
        let cell = self.raw.cell_index(intended, intent.kind, intent.class);
        let ledger = &mut self.raw.cell(cell).ledger;
        ledger.planned += 1;
        ledger.retries += u64::from(intent.attempt > 0);
        self.groups.planned(cell);
        if intent.attempt > 0 {
            self.window.retries += 1;
        } else {
            self.window.offered += 1;
        }
        let arrival = self.raw.users_seen(intended, user);
        if intent.attempt == 0 {
            self.raw.wants(intended, user);
            if self.raw.replays {
                self.raw.time(cell, TimeFamily::Behind).record(intended.since(intent.wanted_at));
            }
        }
        let (free, wanted_at) = (intended, intent.wanted_at);
        Ticket {
            cell,
            user,
            intended,
            free,
            wanted_at,
            asked: Moment::NOT_YET,
            begun: Moment::NOT_YET,
            arrival,
            retry: intent.attempt > 0,
            sent: Moment::NOT_YET,
            readable: Moment::NOT_YET,
        }
    }

    /// Begins a background activity, with a health check or without; returns the phase in whose ledger it is.
    pub fn begin_background(&mut self, intended: Timestamp, check: bool) -> usize {
        let (phase, _) = self.raw.phase_and_part(intended);
        self.raw.beside(phase).into_iter().for_each(|books| books.begin(check));
        phase
    }

    /// Counts a connection for background activity.
    pub fn connected_background(&mut self, phase: usize) {
        self.raw.beside(phase).into_iter().for_each(BackgroundLedger::connected);
    }

    /// Ends a background activity with this fate; `check`: the result of its health check, if it had one.
    pub fn end_background(&mut self, phase: usize, fate: Fate, check: Option<CheckResult>) {
        self.raw.beside(phase).into_iter().for_each(|books| books.end(fate, check));
    }

    /// Notes that a client-side policy is asked about the request: from here on its lateness is not the generator's.
    pub fn asked(&mut self, ticket: &mut Ticket, now: Timestamp) {
        ticket.asked = Moment(ticket.asked.get().unwrap_or(now));
    }

    /// Notes that a client-side policy has held the request until now. That time is part of its response time, and not
    /// of the generator's lateness.
    pub fn let_go(&mut self, ticket: &mut Ticket, now: Timestamp) {
        ticket.free = ticket.free.max(now);
    }

    /// Begins the request (connects, or writes): the time since it was due is the generator's lateness.
    pub fn begin(&mut self, ticket: &mut Ticket, now: Timestamp) {
        if ticket.begun.get().is_some() {
            return;
        }
        let lag = now.since(ticket.free);
        ticket.begun = Moment(now);
        self.raw.time(ticket.cell, TimeFamily::SendLag).record(lag);
        self.window_lag.record(lag);
        if ticket.arrival {
            // The time that a client-side policy took does not count as the generator's.
            self.raw.arrived(ticket.intended, lag);
        }
    }

    /// Records that a connection was established for the request, in this time.
    pub fn connected(&mut self, ticket: &Ticket, took: Duration) {
        self.raw.time(ticket.cell, TimeFamily::Connect).record(took);
    }

    /// Notes that the request is written to the service. The time in flight and the service time begin with the first
    /// write.
    pub fn sent(&mut self, ticket: &mut Ticket, now: Timestamp) {
        self.begin(ticket, now);
        if ticket.sent.get().is_some() {
            return;
        }
        ticket.sent = Moment(now);
        self.raw.cell(ticket.cell).ledger.sent += 1;
        self.window.sent += 1;
        self.in_flight.begins(now);
    }

    /// Notes that the answer which ends the request next was read while it came: it counts from this time.
    pub fn streamed(&mut self, ticket: &mut Ticket, readable: Timestamp) {
        ticket.readable = Moment(readable);
    }

    /// Counts an answer with this status to the request, or to a hop of it; `bytes`: the length of its body.
    pub fn answered(&mut self, ticket: &Ticket, status: u16, bytes: u64) {
        self.raw.replies(ticket.cell).into_iter().for_each(|replies| replies.answered(status, bytes));
        self.window.body_bytes += bytes;
    }

    /// Counts the error of a request without an answer, or without the one that was expected.
    pub fn went_wrong(&mut self, ticket: &Ticket, error: &str) {
        self.raw.replies(ticket.cell).into_iter().for_each(|replies| replies.went_wrong(error));
    }

    /// Counts a redirect or refresh of the request that is written to the service.
    pub fn hop(&mut self, ticket: &Ticket) {
        self.raw.cell(ticket.cell).ledger.hops += 1;
    }

    /// Counts that the kept connection of the request was found closed, and that it goes out on a new one.
    pub fn resent(&mut self, ticket: &Ticket) {
        self.raw.cell(ticket.cell).ledger.resent += 1;
    }

    /// Ends the request with this fate, now. A request that was never written cannot have been abandoned, timed out or
    /// in flight at the service: it counts as without a connection if it was begun, and as unsent if not.
    pub fn end(&mut self, mut ticket: Ticket, fate: Fate, now: Timestamp) {
        if fate.implies_sent() && ticket.sent.get().is_none() {
            // An answer to a request that was never reported as sent: a bug of the host.
            debug_assert!(false, "{fate:?} before it was sent");
            self.sent(&mut ticket, now);
        }
        match ticket.sent.get() {
            Some(sent) => self.end_sent(&ticket, fate, sent, now),
            None => self.end_unsent(&ticket, fate, now),
        }
    }

    fn end_sent(&mut self, ticket: &Ticket, fate: Fate, sent: Timestamp, now: Timestamp) {
        let answered = ticket.readable.get().unwrap_or(now);
        let mut response = answered.since(ticket.intended);
        // Cells of a type stand side by side, in the order of classes.
        let late = answered.since(ticket.wanted_at) > self.objectives[ticket.cell as usize % self.objectives.len()];
        // A request still open at the end of the run stays in flight, and its time in flight ends here as its sojourn does.
        self.in_flight.ends(now, matches!(fate, Fate::InFlight | Fate::Unsent));
        self.raw.sojourn += now.since(sent);
        let ledger = &mut self.raw.cell(ticket.cell).ledger;
        match fate {
            Fate::Served => {
                let (total, window) = if late {
                    (&mut ledger.served_late, &mut self.window.late)
                } else {
                    (&mut ledger.served, &mut self.window.served)
                };
                *total += 1;
                *window += 1;
                self.groups.ended(ticket.cell, Ended::Served { late, response });
                if !late {
                    self.raw.gets(ticket.intended, ticket.user);
                }
                let first_cell =
                    if ticket.retry { self.raw.cell_at(ticket.wanted_at, ticket.cell) } else { ticket.cell };
                self.raw.answered(ticket.cell, response, (first_cell, answered.since(ticket.wanted_at)));
                self.raw.time(ticket.cell, TimeFamily::Service).record(now.since(sent));
                self.window_response.record(response);
                self.reports.answered(ticket.cell, response);
                self.without_delay(ticket, now, response, true);
                return;
            }
            Fate::Rejected => {
                ledger.rejected += 1;
                self.window.rejected += 1;
                self.groups.ended(ticket.cell, Ended::Rejected);
                self.raw.time(ticket.cell, TimeFamily::Reject).record(response);
                if let Some(rejects) = &mut self.window_reject {
                    rejects.record(response);
                }
                return;
            }
            Fate::TimedOut => {
                ledger.timed_out += 1;
                self.window.timed_out += 1;
                self.groups.ended(ticket.cell, Ended::Lost);
            }
            Fate::Abandoned => {
                ledger.abandoned += 1;
                self.window.abandoned += 1;
                self.groups.ended(ticket.cell, Ended::Lost);
            }
            // Left open: the end of the run counts requests that were sent and have not ended.
            Fate::InFlight | Fate::Unsent => {}
            // A later hop found no connection, or the client refused it: the request as a whole has failed.
            Fate::Failed
            | Fate::Broken
            | Fate::Elsewhere
            | Fate::ConnectTimedOut
            | Fate::ConnectFailed
            | Fate::RefusedLocally => {
                ledger.failed += 1;
                ledger.elsewhere += u64::from(fate == Fate::Elsewhere);
                self.window.failed += 1;
                self.groups.ended(ticket.cell, Ended::Lost);
                if matches!(fate, Fate::Failed | Fate::Elsewhere | Fate::RefusedLocally) {
                    return;
                }
                response = self.never(response);
            }
        }
        self.raw.time(ticket.cell, TimeFamily::Response).record_censored(response);
        self.raw
            .time(ticket.cell, TimeFamily::Service)
            .record_censored(response.saturating_sub(sent.since(ticket.intended)));
        self.window_response.record_censored(response);
        self.reports.given_up(ticket.cell, response);
        self.without_delay(ticket, now, response, false);
    }

    fn end_unsent(&mut self, ticket: &Ticket, fate: Fate, now: Timestamp) {
        let ledger = &mut self.raw.cell(ticket.cell).ledger;
        if fate == Fate::RefusedLocally {
            ledger.refused_locally += 1;
            if let (true, Some(asked)) = (ticket.arrival && ticket.begun.get().is_none(), ticket.asked.get()) {
                // The user arrived as planned, and its client-side policy refused the request.
                self.raw.arrived(ticket.intended, asked.since(ticket.intended));
            }
            self.window.refused_locally += 1;
            self.groups.ended(ticket.cell, Ended::Rejected);
            return;
        }
        if ticket.begun.get().is_none() || matches!(fate, Fate::Unsent | Fate::InFlight) {
            // The end of the run counts requests that were planned and never sent.
            return;
        }
        ledger.connect_failed += 1;
        self.window.connect_failed += 1;
        self.groups.ended(ticket.cell, Ended::Lost);
        let timed_out = matches!(fate, Fate::ConnectTimedOut | Fate::TimedOut | Fate::Abandoned);
        let mut waited = now.since(ticket.intended);
        if timed_out {
            ledger.connect_timed_out += 1;
            self.window.connect_timed_out += 1;
            self.raw.connect_timed_out(ticket.intended, ticket.user);
            self.raw.time(ticket.cell, TimeFamily::Connect).record_censored(waited);
        } else {
            waited = self.never(waited);
        }
        // A user without a connection has waited for an answer all the same.
        self.raw.time(ticket.cell, TimeFamily::Response).record_censored(waited);
        self.window_response.record_censored(waited);
        self.reports.given_up(ticket.cell, waited);
        self.without_delay(ticket, now, waited, false);
    }

    /// Notes a response time for [`looked`](Self::looked).
    fn without_delay(&mut self, ticket: &Ticket, now: Timestamp, took: Duration, is_known: bool) {
        if let (Some(meter), Some(begun)) = (&mut self.undelayed, ticket.begun.get()) {
            // What is lost will never be answered, whatever the generator did.
            let is_lost = took > now.since(ticket.intended);
            let (begun, lag) = if is_lost { (now, Duration::ZERO) } else { (begun, begun.since(ticket.free)) };
            meter.ended(EndedRequest { intended: ticket.intended, begun, lag, ended: now, took, is_known });
        }
    }

    /// The time after which a request that was lost before its time-out would have been answered at the earliest: it never
    /// will be, and nobody waits for longer than the time-out.
    fn never(&self, waited: Duration) -> Duration {
        waited.max(self.raw.patience())
    }

    /// The number of requests that were written and have not ended.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.in_flight.now
    }

    /// The current ledger of the whole run.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.raw.total().closed()
    }

    /// The next second that has ended by `now`; to be called until it returns `None`, at least once a second. `users`:
    /// the current activities of users.
    pub fn next_window(&mut self, now: Timestamp, users: UserStates) -> Option<Window> {
        let second = now.as_nanos() / 1_000_000_000;
        if self.window.second < second {
            self.close_window(users);
        }
        self.closed_windows.pop_front()
    }

    fn close_window(&mut self, users: UserStates) {
        let next = self.window.second + 1;
        let mut closed = std::mem::replace(&mut self.window, Window { second: next, ..Window::default() });
        closed.phase = self.raw.phase_at(Timestamp::from_secs(closed.second)).unwrap_or(self.raw.phase_count());
        closed.in_flight = self.in_flight.now;
        (closed.by_type, closed.by_class) = self.groups.close(&self.raw.kinds, &self.raw.classes);
        closed.users = users;
        let times = self.window_response.percentiles();
        closed.p50_ms = times.p50;
        closed.p90_ms = times.p90;
        closed.p99_ms = times.p99;
        closed.p50_at_least_ms = times.p50_at_least;
        closed.p90_at_least_ms = times.p90_at_least;
        closed.p99_at_least_ms = times.p99_at_least;
        closed.reported = self.reports.close(closed.second, &self.raw.kinds, &self.raw.classes).map(Box::new);
        closed.send_lag_p99_ms = match self.window_lag.percentile(99.0) {
            Percentile::At(value) | Percentile::AtLeast(value) => Some(value),
            Percentile::Unknown => self.window_lag.max_ms(),
        };
        if let Some(rejects) = &mut self.window_reject {
            let [response, response_censored] = self.window_response.buckets();
            let [reject, _] = rejects.buckets();
            closed.times = Some(Box::new(SecondTimes { response, response_censored, reject }));
            closed.replies = Some(Box::new(self.raw.all_replies()));
            rejects.clear();
        }
        self.window_response.clear();
        self.window_lag.clear();
        self.closed_windows.push_back(closed);
    }

    /// Ends arrivals here, whatever the plan says.
    pub fn stop(&mut self, now: Timestamp) {
        if !matches!(self.arrivals_end, ArrivalsEnd::Stopped(_)) {
            self.arrivals_end = ArrivalsEnd::Stopped(now);
        }
    }

    /// The run ends by itself before its plan does: its last phase lasts until [`finish`](Self::finish).
    pub fn ends_early(&mut self) {
        if self.arrivals_end == ArrivalsEnd::AsPlanned {
            self.arrivals_end = ArrivalsEnd::Early;
        }
    }

    /// Ends the run. Requests whose tickets were not returned count as in flight if they were sent, else as unsent; a
    /// ticket returned as [`Fate::InFlight`] also records the time that its request waited.
    #[must_use]
    pub fn finish(mut self, now: Timestamp, health: Health) -> Report {
        let area = self.in_flight.area(now);
        self.looked(now, Duration::ZERO);
        match self.arrivals_end {
            ArrivalsEnd::AsPlanned => {}
            ArrivalsEnd::Early => self.raw.shorten(now),
            ArrivalsEnd::Stopped(at) => self.raw.cut(at),
        }
        let mut last = LastSecond::default();
        for window in self.closed_windows.iter().chain([&self.window]) {
            last.planned += window.offered + window.retries;
            last.sent += window.sent;
        }
        self.raw.last_second = Some(last);
        Report::new(self.raw, now, health, self.in_flight.now, area)
    }
}
