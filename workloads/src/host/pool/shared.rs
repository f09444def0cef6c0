//! Connections that users take turns on, and users that wait for one.

use std::time::Duration;

use controllers::Timestamp;

use super::{
    UserPool,
    user::{NeverSent, UserTask},
};
use crate::{
    crowd::User,
    host::{ExchangeEnd, RequestDeadline},
    plan::{ConnectionHabit, LoadPlan},
};

/// The connections that the users of a pool share. A user has one from the start of its request to the end.
#[derive(Debug)]
pub(super) struct SharedConnections<C> {
    /// Those that no user has; the last one was used most recently.
    idle: Vec<C>,
    /// The largest number of requests on them at once; `None`: no limit.
    most: Option<u32>,
    /// When a user gave one back.
    freed: Timestamp,
    timeout: Duration,
    /// Requests that waited for one.
    waited: u64,
}

/// A user that is due, and waits for the host.
#[derive(Debug)]
pub(super) struct DueUser<C> {
    pub(super) user: Box<UserTask<C>>,
    /// Since when it waits for one of the connections that users share; `None`: it does not have to.
    pub(super) waits_since: Option<Timestamp>,
}

impl<C> SharedConnections<C> {
    /// `None`: users of this plan do not share connections.
    pub(super) fn of(plan: &LoadPlan) -> Option<Self> {
        let ConnectionHabit::Shared { most } = plan.connections() else { return None };
        Some(Self { idle: Vec::new(), most, freed: Timestamp::ZERO, timeout: plan.timeout, waited: 0 })
    }
}

impl<C> UserPool<C> {
    /// The number of further users that may have a connection.
    pub(super) fn room(&self) -> usize {
        let most = self.connections.as_ref().and_then(|shared| shared.most);
        most.map_or(usize::MAX, |most| most.saturating_sub(self.active.now) as usize)
    }

    /// A user that is due waits for the host, and first for a connection where all are in use.
    pub(super) fn queue(&mut self, user: Box<UserTask<C>>, now: Timestamp) {
        let waits_since = (self.room() <= self.ready.len() && user.shares()).then_some(now);
        self.ready.push_back(DueUser { user, waits_since });
    }

    /// Gives a user whose request may be sent a connection, if one is idle. The time for which all were in use is part of the
    /// response time, and is not the generator's lateness. A user for whom that took too long sends nothing.
    /// `waits_since`: since when it has waited for one.
    pub(super) fn equip(
        &mut self,
        mut user: Box<UserTask<C>>,
        waits_since: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Box<UserTask<C>>> {
        let Some(shared) = &mut self.connections else { return Some(user) };
        if !user.shares() {
            return Some(user);
        }
        if let Some(since) = waits_since {
            shared.waited += 1;
            self.books.asked(&mut user, since);
            self.books.let_go(&mut user, shared.freed);
            let deadline =
                user.call().map(|call| RequestDeadline::of(shared.timeout, call, user.at, user.patience_factor()));
            if let Some(end) = deadline.and_then(|deadline| deadline.passed(now)) {
                let why = if end == ExchangeEnd::GaveUp { NeverSent::GaveUp } else { NeverSent::TimedOut };
                user = self.never_sent(user, why, now)?;
            }
        }
        if user.connection.is_none() {
            user.connection = self.connections.as_mut().and_then(|shared| shared.idle.pop());
        }
        Some(user)
    }

    /// Takes the connection back from a user that has no request under way.
    pub(super) fn take_back(&mut self, user: &mut UserTask<C>) {
        if let Some(shared) = self.connections.as_mut().filter(|_| user.shares()) {
            shared.idle.extend(user.connection.take());
        }
    }

    /// Notes that a user's request has ended.
    pub(super) fn frees(&mut self, now: Timestamp) {
        self.connections.iter_mut().for_each(|shared| shared.freed = now);
    }

    /// Sets the number of requests that the connections carry at once, where it is not their own number.
    pub fn set_places(&mut self, places: Option<u32>) {
        self.connections.iter_mut().for_each(|shared| shared.most = places);
    }

    /// No limit holds any more: the run is over. Returns the number of requests that waited for a connection.
    pub(super) fn lift_limit(&mut self) -> u64 {
        let Some(shared) = &mut self.connections else { return 0 };
        shared.most = None;
        shared.waited
    }
}

impl<C> UserTask<C> {
    /// True unless the user is a background client, which has a connection of its own.
    pub fn shares(&self) -> bool {
        !matches!(self.persona, User::Background(_))
    }
}
