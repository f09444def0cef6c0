//! TokenGen whole: booking, replicas and estimate, joined.
//!
//! The host tells it what happened and polls it until it says when to be woken, as the sites of
//! this crate. It computes no token: a promised turn is a value, which the host signs.
//!
//! # Deviations from the paper
//!
//! - The paper stops shaping in every training period. Here it does so in the first one alone, when there is no capacity;
//!   while a changed server is measured the old capacity stays, and it rises by [`TokenGenParams::probe`] whenever the load
//!   did not reach the server's capacity. The paper's behaviour is [`TokenGenParams::shape_in_training`] `= false`.
//! - An estimate takes some thousand fits: the host is asked for it by [`TokenGenAction::Estimate`], and may compute it
//!   elsewhere while turns are promised.

mod training;

use std::{collections::VecDeque, time::Duration};

use crate::UnixSeconds;

use super::{
    BadParams, Booked, Booking, BookingCounts, BookingParams, EpochSample, Epochs, Estimate, Full, NotYet,
    ReplicaCounts, ReplicaReport, ReportRefused, Subunits,
};

use training::{Training, TrainingNews};

/// How TokenGen works.
#[derive(Debug, Clone)]
pub struct TokenGenParams {
    /// The queue and the replica.
    pub booking: BookingParams,
    /// Hardness by request type until it is estimated, at least one type. The paper: 1 for each.
    pub hardness: Vec<Subunits>,
    /// True: this replica estimates capacity and hardness. False: both come from outside.
    pub estimates: bool,
    /// Length of an epoch, seconds. The paper: 10.
    pub epoch_s: u32,
    /// Epochs of a training period. The paper: 84.
    pub training_epochs: usize,
    /// False, as published: nothing waits in any training period.
    pub shape_in_training: bool,
    /// The factor of the capacity after a training period under load limits that did not reach the peak. The released code
    /// has 1.15.
    pub probe: f64,
}

impl TokenGenParams {
    /// One request type, the only replica, and a capacity from outside.
    #[must_use]
    pub fn alone() -> Self {
        Self {
            booking: BookingParams::alone(),
            hardness: vec![Subunits::whole(1)],
            estimates: false,
            epoch_s: 10,
            training_epochs: 84,
            shape_in_training: true,
            probe: 1.15,
        }
    }
}

/// What is known of the capacity, subunits a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityState {
    /// Nothing: no request waits.
    Unknown,
    /// It was set from outside.
    Given(Subunits),
    /// It was estimated.
    Estimated(Subunits),
    /// The server has changed since the estimate, and is measured again.
    Outdated(Subunits),
}

impl CapacityState {
    /// The capacity, as far as it is known.
    #[must_use]
    pub const fn known(self) -> Option<Subunits> {
        match self {
            Self::Unknown => None,
            Self::Given(capacity) | Self::Estimated(capacity) | Self::Outdated(capacity) => Some(capacity),
        }
    }

    /// The name of the state, for logs and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Given(_) => "given",
            Self::Estimated(_) => "estimated",
            Self::Outdated(_) => "outdated",
        }
    }
}

/// What TokenGen is told. `J` is the host's value of a request.
#[derive(Debug)]
pub enum TokenGenEvent<J> {
    /// A request asks for its turn.
    Asked {
        /// The request, which comes back with the answer.
        job: J,
        /// Its type; one that is not known counts as the last.
        kind: usize,
    },
    /// A request has come of a user who is inside: it needs no turn, and takes room of those who ask for one.
    Inside {
        /// Its type.
        kind: usize,
    },
    /// A request has come to the server: TokenCheck let it in.
    Reached {
        /// Its type.
        kind: usize,
    },
    /// A request has ended at the server.
    Ended {
        /// Its type.
        kind: usize,
        /// Time from its arrival to the answer.
        response: Duration,
        /// True if it was answered well.
        served: bool,
    },
    /// Another replica's report has arrived.
    Heard(ReplicaReport),
    /// A capacity, and the hardness by type, from outside. `None`: unknown; an empty list leaves the hardness as it is.
    Given {
        /// Subunits a second for all replicas together.
        capacity: Option<Subunits>,
        /// Hardness by type.
        hardness: Vec<Subunits>,
    },
    /// The answer to [`TokenGenAction::Estimate`].
    Estimated(Result<Estimate, NotYet>),
}

/// What TokenGen wants done.
#[derive(Debug, PartialEq)]
pub enum TokenGenAction<J> {
    /// Promise this turn: sign it, and send the user to wait.
    Promise(J, Booked),
    /// The queue is full.
    TurnAway(J, Full),
    /// Send this to all peers.
    Report(ReplicaReport),
    /// Compute an estimate from these epochs, and tell it.
    Estimate(Vec<EpochSample>),
    /// The capacity has changed.
    Capacity(CapacityState),
    /// A peer's report was ignored.
    Ignored(ReportRefused),
}

/// The answer to a poll.
#[derive(Debug, PartialEq)]
pub enum TokenGenNext<J> {
    /// Do this, and poll again.
    Do(TokenGenAction<J>),
    /// Nothing until then, but for what happens.
    WakeAt(UnixSeconds),
}

/// TokenGen. Its clock is the wall clock in whole seconds.
#[derive(Debug)]
pub struct TokenGen<J> {
    booking: Booking,
    hardness: Vec<Subunits>,
    state: CapacityState,
    training: Option<Training>,
    epochs: Epochs,
    shape_in_training: bool,
    probe: f64,
    has_peers: bool,
    /// The last second that it was told of.
    second: Option<UnixSeconds>,
    actions: VecDeque<TokenGenAction<J>>,
}

impl<J> TokenGen<J> {
    /// Without a capacity and without a past.
    ///
    /// # Errors
    /// A setting is out of range: the message names it, and says what it may be.
    pub fn new(params: &TokenGenParams) -> Result<Self, BadParams> {
        let types = params.hardness.len();
        if types == 0 {
            return Err(BadParams::NoTypes);
        }
        if params.epoch_s == 0 || params.training_epochs == 0 {
            return Err(BadParams::NoEpochs);
        }
        if !(1.0..f64::INFINITY).contains(&params.probe) {
            return Err(BadParams::Probe(params.probe));
        }
        Ok(Self {
            booking: Booking::new(&params.booking)?,
            hardness: params.hardness.clone(),
            state: CapacityState::Unknown,
            training: params.estimates.then(|| Training::new(params.training_epochs)),
            epochs: Epochs::new(params.epoch_s, types),
            shape_in_training: params.shape_in_training,
            probe: params.probe,
            has_peers: !params.booking.replica.peers.is_empty(),
            second: None,
            actions: VecDeque::new(),
        })
    }

    /// Takes one fact. Poll afterwards.
    pub fn tell(&mut self, now: UnixSeconds, event: TokenGenEvent<J>) {
        self.turn_of_second(now);
        match event {
            TokenGenEvent::Asked { job, kind } => {
                let hardness = self.hardness_of(kind);
                self.actions.push_back(match self.booking.book(now, hardness) {
                    Ok(booked) => TokenGenAction::Promise(job, booked),
                    Err(full) => TokenGenAction::TurnAway(job, full),
                });
            }
            TokenGenEvent::Inside { kind } => self.booking.charge(now, self.hardness_of(kind)),
            TokenGenEvent::Reached { kind } => self.epochs.arrived(kind),
            TokenGenEvent::Ended { kind, response, served } => {
                if served {
                    self.epochs.served(kind, response);
                }
            }
            TokenGenEvent::Heard(report) => {
                if let Err(refused) = self.booking.hear(now, report) {
                    self.actions.push_back(TokenGenAction::Ignored(refused));
                }
            }
            TokenGenEvent::Given { capacity, hardness } => {
                self.set_hardness(&hardness);
                self.set(now, capacity.map_or(CapacityState::Unknown, CapacityState::Given));
            }
            TokenGenEvent::Estimated(result) => self.estimated(now, result),
        }
    }

    /// The next thing to do. A host that was woken polls with the time.
    pub fn poll(&mut self, now: UnixSeconds) -> TokenGenNext<J> {
        self.turn_of_second(now);
        match self.actions.pop_front() {
            Some(action) => TokenGenNext::Do(action),
            None => TokenGenNext::WakeAt(UnixSeconds(now.0.saturating_add(1))),
        }
    }

    /// What is known of the capacity.
    #[must_use]
    pub fn capacity(&self) -> CapacityState {
        self.state
    }

    /// This replica's share of the capacity, subunits a second; `None` without a capacity.
    #[must_use]
    pub fn share(&self) -> Option<Subunits> {
        self.booking.share()
    }

    /// Hardness by request type.
    #[must_use]
    pub fn hardness(&self) -> &[Subunits] {
        &self.hardness
    }

    /// Seconds until the last promised turn.
    #[must_use]
    pub fn longest_wait_s(&self, now: UnixSeconds) -> u32 {
        self.booking.longest_wait_s(now)
    }

    /// The wait that a request would get, as things were when it was last told something; `None`: the queue was full.
    #[must_use]
    pub fn shown_wait_s(&self, now: UnixSeconds) -> Option<u32> {
        self.booking.shown_wait_s(now)
    }

    /// Subunits that are booked for the seconds after the current one: the length of the queue.
    #[must_use]
    pub fn queued(&self, now: UnixSeconds) -> Subunits {
        self.booking.queued(now)
    }

    /// What became of requests.
    #[must_use]
    pub fn counts(&self) -> BookingCounts {
        self.booking.counts()
    }

    /// What became of reports.
    #[must_use]
    pub fn replica_counts(&self) -> ReplicaCounts {
        self.booking.replica_counts()
    }

    /// What happens once a second: the report to the peers, and the end of an epoch.
    fn turn_of_second(&mut self, now: UnixSeconds) {
        if self.second == Some(now) {
            return;
        }
        self.second = Some(now);
        if self.has_peers {
            self.actions.push_back(TokenGenAction::Report(self.booking.report(now)));
        }
        let Some(sample) = self.epochs.ended(now) else { return };
        match self.training.as_mut().and_then(|training| training.see(sample)) {
            Some(TrainingNews::Complete(samples)) => self.actions.push_back(TokenGenAction::Estimate(samples)),
            Some(TrainingNews::Changed) => self.server_changed(now),
            None => {}
        }
    }

    fn server_changed(&mut self, now: UnixSeconds) {
        match self.state {
            CapacityState::Estimated(capacity) if self.shape_in_training => {
                self.set(now, CapacityState::Outdated(capacity));
            }
            _ => self.set(now, CapacityState::Unknown),
        }
    }

    fn estimated(&mut self, now: UnixSeconds, result: Result<Estimate, NotYet>) {
        let Some(training) = &mut self.training else { return };
        match result {
            Ok(estimate) => {
                let capacity = Subunits::of(estimate.capacity);
                let hardness = estimate.hardness_in_subunits();
                training.succeeded(estimate);
                self.set_hardness(&hardness);
                self.set(now, CapacityState::Estimated(capacity));
            }
            Err(not_yet) => {
                training.failed();
                if let (NotYet::NoPeak, CapacityState::Outdated(capacity)) = (not_yet, self.state) {
                    self.set(now, CapacityState::Outdated(Subunits::of(capacity.as_f64() * self.probe)));
                }
            }
        }
    }

    fn hardness_of(&self, kind: usize) -> Subunits {
        self.hardness[kind.min(self.hardness.len() - 1)]
    }

    /// A list that is empty or of another length than the types is not for this service: it changes nothing.
    fn set_hardness(&mut self, hardness: &[Subunits]) {
        if hardness.len() == self.hardness.len() {
            self.hardness = hardness.to_vec();
        }
    }

    fn set(&mut self, now: UnixSeconds, state: CapacityState) {
        if state == self.state {
            return;
        }
        self.state = state;
        self.booking.set_capacity(now, state.known());
        self.actions.push_back(TokenGenAction::Capacity(state));
    }
}
