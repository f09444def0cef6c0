//! A waiting room: TokenGen and TokenCheck as one door before a site.
//!
//! A request with a token of its turn passes; one without gets its turn at once if there is room, or is told when to come.
//! The machine holds no tokens: its host has verified what a request shows, signs what is promised, and carries it.
//!
//! # Deviations from the paper
//!
//! - A turn in the current second is taken at once. The paper sends the user to TokenCheck with a wait of 0.
//! - A token that is refused costs the place, and nothing more: its bearer gets a new turn at the end of the queue, like
//!   anybody without a token. The paper drops such requests.
//! - Who comes early keeps the place, and is told what is left of the wait.
//! - Users who were let in may stay for a while ([`RoomParams::stay_s`]): a page is more than one request. Their requests
//!   need no turn, and take room of those who ask for one. As published, each request has a turn of its own (a stay of 0).

mod counts;
mod refusal;

use std::{collections::VecDeque, time::Duration};

use crate::{Timestamp, UnixSeconds};

use super::{
    BadParams, BookingCounts, CapacityState, CheckCounts, CheckParams, CheckRefusal, EpochSample, Estimate, Full,
    NotYet, PromisedTurn, ReplicaCounts, ReplicaReport, ReportRefused, Subunits, TokenCheck, TokenGen, TokenGenAction,
    TokenGenEvent, TokenGenNext, TokenGenParams, queue_share::QueueShare,
};

pub use counts::RoomCounts;
pub use refusal::{TokenFault, TokenRefusal};

/// How a waiting room works.
#[derive(Debug, Clone)]
pub struct RoomParams {
    /// Booking, replicas and capacity.
    pub tokens: TokenGenParams,
    /// The window of a turn, and single use.
    pub check: CheckParams,
    /// Seconds for which a user who was let in needs no turn. 0, as published: each request has a turn of its own.
    pub stay_s: u32,
    /// The part of the queue that one source of requests may have, up to 1. `None`, as published: all of it.
    pub source_share: Option<f64>,
}

/// A request that has come: its type, and its source as the host tells sources apart.
#[derive(Debug, Clone, Copy)]
pub struct Comer {
    /// The number of its type.
    pub kind: usize,
    /// A number for its address or network.
    pub source: u64,
}

/// What a request shows, as far as the host could verify it.
#[derive(Debug, Clone, Copy)]
pub enum ShownToken<'a> {
    /// Nothing.
    Absent,
    /// A token of a turn, with a good tag.
    Turn(PromisedTurn<'a>),
    /// A token of a visit, with a good tag.
    Visit(VisitClaim<'a>),
    /// Something that is no token of this waiting room.
    Unverified(TokenFault),
}

/// What a verified token of a visit says, and who came with it.
#[derive(Debug, Clone, Copy)]
pub struct VisitClaim<'a> {
    /// The last second of the visit.
    pub until: UnixSeconds,
    /// The digest in the token of whom it was given to.
    pub binding: &'a [u8],
    /// The digest of who came.
    pub presented: &'a [u8],
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomAnswer {
    /// It passes.
    Pass {
        /// The user may stay until the end of this second, and gets a token that says so.
        visit: Option<UnixSeconds>,
    },
    /// It is told to come again.
    Wait {
        /// The second to come in. The window of the turn may be wider.
        at: UnixSeconds,
        /// Whole seconds until then.
        wait_s: u32,
        /// True: the token that was shown holds. False: a new one is to be signed.
        keeps_token: bool,
        /// What was wrong with the token that was shown.
        why: Option<TokenRefusal>,
    },
    /// All seconds are promised.
    Full {
        /// How long the queue is.
        full: Full,
        /// What was wrong with the token that was shown.
        why: Option<TokenRefusal>,
    },
}

/// What a waiting room wants done.
#[derive(Debug, PartialEq)]
pub enum RoomAction {
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
pub enum RoomNext {
    /// Do this, and poll again.
    Do(RoomAction),
    /// Nothing until then, but for what happens.
    WakeAt(UnixSeconds),
}

/// Figures of a waiting room at one moment.
#[derive(Debug, Clone)]
pub struct RoomFigures {
    /// Subunits booked for the seconds after this one.
    pub queued: Subunits,
    /// Seconds until the last promised turn.
    pub longest_wait_s: u32,
    /// The wait that a request would have been told at the last one; `None`: the queue was full.
    pub next_wait_s: Option<u32>,
    /// What is known of the capacity.
    pub capacity: CapacityState,
    /// The hardness by request type that turns are given by.
    pub hardness: Vec<Subunits>,
    /// This replica's share of the capacity; `None` without one.
    pub share: Option<Subunits>,
    /// Tokens that are remembered as used.
    pub remembered: usize,
}

/// A waiting room. Its clock is the wall clock in whole seconds, which tokens and replicas agree on.
#[derive(Debug)]
pub struct WaitingRoom {
    tokens: TokenGen<()>,
    check: TokenCheck,
    stay_s: u32,
    share: Option<QueueShare>,
    actions: VecDeque<RoomAction>,
    counts: RoomCounts,
}

impl WaitingRoom {
    /// An empty room. Without a capacity, everybody passes.
    ///
    /// # Errors
    /// A setting is out of range: the message names it, and says what it may be.
    pub fn new(params: &RoomParams) -> Result<Self, BadParams> {
        if let Some(share) = params.source_share.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
            return Err(BadParams::SourceShare(share));
        }
        let horizon_s = params.tokens.booking.horizon_s;
        Ok(Self {
            share: params.source_share.map(|share| QueueShare::new(share, horizon_s)),
            tokens: TokenGen::new(&params.tokens)?,
            check: TokenCheck::new(params.check)?,
            stay_s: params.stay_s,
            actions: VecDeque::new(),
            counts: RoomCounts::default(),
        })
    }

    /// Decides about a request. `steady` is a clock that never goes back. Poll afterwards.
    pub fn present(&mut self, now: UnixSeconds, steady: Timestamp, comer: Comer, token: &ShownToken<'_>) -> RoomAnswer {
        let kind = comer.kind;
        let refused = match token {
            ShownToken::Absent => None,
            ShownToken::Unverified(fault) => Some(TokenRefusal::Unverified(*fault)),
            ShownToken::Visit(visit) => match check_visit(now, visit) {
                Ok(()) => return self.inside(now, kind, visit.until),
                Err(refused) => Some(TokenRefusal::Check(refused)),
            },
            ShownToken::Turn(turn) => match self.check.check(now, steady, turn) {
                Ok(()) => return self.pass(now, kind),
                Err(CheckRefusal::Early { .. }) => return self.too_early(now, turn.at),
                Err(CheckRefusal::Wait) => return self.no_memory(now),
                Err(refused) => Some(TokenRefusal::Check(refused)),
            },
        };
        if let Some(refused) = refused {
            self.counts.refused(refused);
        }
        self.ask(now, comer, refused)
    }

    /// A request that passed has ended. `response`: from its arrival to its answer; `served`: it was answered well.
    pub fn ended(&mut self, now: UnixSeconds, kind: usize, response: Duration, served: bool) {
        self.tokens.tell(now, TokenGenEvent::Ended { kind, response, served });
    }

    /// Takes another replica's report.
    pub fn hear(&mut self, now: UnixSeconds, report: ReplicaReport) {
        self.tokens.tell(now, TokenGenEvent::Heard(report));
    }

    /// Takes a capacity from outside, in subunits a second for all replicas together, and the hardness by type; an empty
    /// list leaves the hardness as it is.
    pub fn give(&mut self, now: UnixSeconds, capacity: Option<Subunits>, hardness: Vec<Subunits>) {
        self.tokens.tell(now, TokenGenEvent::Given { capacity, hardness });
    }

    /// Takes the answer to [`RoomAction::Estimate`].
    pub fn estimated(&mut self, now: UnixSeconds, result: Result<Estimate, NotYet>) {
        self.tokens.tell(now, TokenGenEvent::Estimated(result));
    }

    /// The next thing to do. A host that was woken polls with the time.
    pub fn poll(&mut self, now: UnixSeconds) -> RoomNext {
        if let Some(action) = self.actions.pop_front() {
            return RoomNext::Do(action);
        }
        match self.tokens.poll(now) {
            TokenGenNext::WakeAt(at) => RoomNext::WakeAt(at),
            TokenGenNext::Do(action) => match of_room(action) {
                Ok(action) => RoomNext::Do(action),
                Err(_) => RoomNext::WakeAt(now), // no request is without its answer
            },
        }
    }

    /// Figures of this moment.
    #[must_use]
    pub fn figures(&self, now: UnixSeconds) -> RoomFigures {
        RoomFigures {
            next_wait_s: self.tokens.shown_wait_s(now),
            queued: self.tokens.queued(now),
            longest_wait_s: self.tokens.longest_wait_s(now),
            capacity: self.tokens.capacity(),
            hardness: self.tokens.hardness().to_vec(),
            share: self.tokens.share(),
            remembered: self.check.remembered(),
        }
    }

    /// What became of requests and of the tokens that they showed.
    #[must_use]
    pub fn counts(&self) -> RoomCounts {
        self.counts
    }

    /// What TokenCheck has counted.
    #[must_use]
    pub fn check_counts(&self) -> CheckCounts {
        self.check.counts()
    }

    /// What the booking has counted.
    #[must_use]
    pub fn booking_counts(&self) -> BookingCounts {
        self.tokens.counts()
    }

    /// What became of other replicas' reports.
    #[must_use]
    pub fn replica_counts(&self) -> ReplicaCounts {
        self.tokens.replica_counts()
    }

    /// A turn has come, or there was room at once.
    fn pass(&mut self, now: UnixSeconds, kind: usize) -> RoomAnswer {
        self.counts.passed += 1;
        self.tokens.tell(now, TokenGenEvent::Reached { kind });
        let stay = u64::from(self.stay_s);
        RoomAnswer::Pass { visit: (stay > 0).then(|| UnixSeconds(now.0.saturating_add(stay))) }
    }

    /// A user who was let in before. A visit that is used goes on: its token is renewed once half of it is over.
    fn inside(&mut self, now: UnixSeconds, kind: usize, until: UnixSeconds) -> RoomAnswer {
        self.counts.inside += 1;
        self.tokens.tell(now, TokenGenEvent::Inside { kind });
        self.tokens.tell(now, TokenGenEvent::Reached { kind });
        let stay = u64::from(self.stay_s);
        let is_half_over = 2 * until.0.saturating_sub(now.0) < stay;
        RoomAnswer::Pass { visit: is_half_over.then(|| UnixSeconds(now.0.saturating_add(stay))) }
    }

    fn too_early(&mut self, now: UnixSeconds, at: UnixSeconds) -> RoomAnswer {
        let wait_s = u32::try_from(at.0.saturating_sub(now.0)).unwrap_or(u32::MAX);
        let why = TokenRefusal::Check(CheckRefusal::Early { by_s: wait_s.into() });
        self.counts.refused(why);
        RoomAnswer::Wait { at, wait_s, keeps_token: true, why: Some(why) }
    }

    fn no_memory(&mut self, now: UnixSeconds) -> RoomAnswer {
        let why = TokenRefusal::Check(CheckRefusal::Wait);
        self.counts.refused(why);
        RoomAnswer::Wait { at: UnixSeconds(now.0.saturating_add(1)), wait_s: 1, keeps_token: true, why: Some(why) }
    }

    /// Asks for a turn.
    fn ask(&mut self, now: UnixSeconds, comer: Comer, why: Option<TokenRefusal>) -> RoomAnswer {
        let Comer { kind, source } = comer;
        if let (Some(share), Some(capacity)) = (&mut self.share, self.tokens.share())
            && !share.has_room(now, source, capacity)
        {
            self.counts.over_share += 1;
            return RoomAnswer::Full { full: Full { longest_wait_s: self.tokens.longest_wait_s(now) }, why };
        }
        self.tokens.tell(now, TokenGenEvent::Asked { job: (), kind });
        while let TokenGenNext::Do(action) = self.tokens.poll(now) {
            match of_room(action) {
                Ok(action) => self.actions.push_back(action),
                Err(Ok(booked)) if booked.wait_s == 0 => return self.pass(now, kind),
                Err(Ok(booked)) => {
                    self.counts.promised += 1;
                    if let Some(share) = &mut self.share {
                        let work = self.tokens.hardness().get(kind).copied().unwrap_or(Subunits::whole(1));
                        share.promised(now, source, booked.at, work);
                    }
                    return RoomAnswer::Wait { at: booked.at, wait_s: booked.wait_s, keeps_token: false, why };
                }
                Err(Err(full)) => {
                    self.counts.full += 1;
                    return RoomAnswer::Full { full, why };
                }
            }
        }
        self.pass(now, kind) // TokenGen answers each request at once
    }
}

impl Full {
    /// Seconds after which somebody who found the queue full is asked to come again: spread evenly over its length by a
    /// number that the host draws, so that not all come back together.
    #[must_use]
    pub fn come_back_s(&self, drawn: u64) -> u32 {
        1 + u32::try_from(drawn % u64::from(self.longest_wait_s.max(1))).unwrap_or(0)
    }
}

/// An action of the room, or the answer to a request.
fn of_room(action: TokenGenAction<()>) -> Result<RoomAction, Result<super::Booked, Full>> {
    match action {
        TokenGenAction::Promise((), booked) => Err(Ok(booked)),
        TokenGenAction::TurnAway((), full) => Err(Err(full)),
        TokenGenAction::Report(report) => Ok(RoomAction::Report(report)),
        TokenGenAction::Estimate(samples) => Ok(RoomAction::Estimate(samples)),
        TokenGenAction::Capacity(state) => Ok(RoomAction::Capacity(state)),
        TokenGenAction::Ignored(refused) => Ok(RoomAction::Ignored(refused)),
    }
}

fn check_visit(now: UnixSeconds, visit: &VisitClaim<'_>) -> Result<(), CheckRefusal> {
    if visit.binding != visit.presented {
        return Err(CheckRefusal::WrongBinding);
    }
    let by_s = now.0.saturating_sub(visit.until.0);
    if by_s > 0 { Err(CheckRefusal::Late { by_s }) } else { Ok(()) }
}
