//! The state that the tasks of one run share.

use std::{cell::RefCell, rc::Rc, time::Duration};

use health::{DescriptorMeter, clock::RunClock};
use tokio::{
    sync::{Notify, watch},
    task::JoinError,
};
use workloads::{
    host::{UserPool, UserTask},
    plan::LoadPlan,
};

use super::{
    connect::{Connector, Opened},
    desk::{Client, Desk},
    lanes::Lanes,
    lost::Lost,
};
use crate::{
    http1::{Budget, Inbox, Limits},
    options::{RunError, RunOptions},
    resource_limits::MEMORY_FOR_ANSWERS,
};

/// The clock, network, users and buffers, on one thread.
#[derive(Debug)]
pub(super) struct TaskHost {
    pub(super) clock: RunClock,
    pub(super) network: Network,
    pub(super) pool: RefCell<UserPool<Client>>,
    /// `None`: users do not share connections, or only such as carry one request at a time.
    pub(super) lanes: Option<Rc<Lanes>>,
    /// Buffers that no task has.
    pub(super) desks: RefCell<Vec<Desk>>,
    /// Notified when a user went to sleep, which may be due before the pacer wakes.
    pub(super) changed: Notify,
    pub(super) cut: watch::Receiver<bool>,
    pub(super) descriptors: DescriptorMeter,
}

/// The destination of a run's requests, and their limits.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) connector: Connector,
    /// Scheme, host and port.
    pub(super) target: http::Uri,
    /// The `Host` header of HTTP/1.1.
    pub(super) host: String,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    /// The size limits of an answer.
    pub(super) limits: Limits,
    /// The memory of all answers together.
    pub(super) memory: Budget,
}

impl TaskHost {
    /// A new connection, and the time that it took.
    pub(super) async fn connect(&self) -> Result<(Opened, Duration), Lost> {
        let began = self.clock.now();
        let opened = self.network.connector.connect().await;
        self.descriptors.look();
        Ok((opened?, self.clock.now().since(began)))
    }

    /// Counts a connection for the user's request, if it has caused one.
    pub(super) fn connected(&self, user: &UserTask<Client>, took: Option<Duration>) {
        if let Some(took) = took {
            self.pool.borrow_mut().books.connected(user, took);
        }
    }

    /// Notes that the user's request is written now.
    pub(super) fn sends(&self, user: &mut UserTask<Client>) {
        self.pool.borrow_mut().books.sends(user, self.clock.now());
    }

    pub(super) fn desk(&self) -> Desk {
        let new = || {
            let inbox = Inbox::new(self.network.limits).sharing(self.network.memory.clone());
            Desk { out: Vec::with_capacity(1024), inbox }
        };
        self.desks.borrow_mut().pop().unwrap_or_else(new)
    }

    pub(super) fn count_panic(&self, ended: &Result<(), JoinError>) {
        if ended.is_err() {
            self.pool.borrow_mut().lost();
        }
    }
}

impl Network {
    pub(super) fn new(plan: &LoadPlan, options: &RunOptions) -> Result<Self, RunError> {
        let target = plan
            .target
            .url
            .parse()
            .map_err(|error: http::uri::InvalidUri| RunError::Client(format!("{}: {error}", plan.target.url)))?;
        Ok(Self {
            connector: Connector::new(plan, options, &target)?,
            target,
            host: plan.target.host.clone(),
            timeout: plan.timeout,
            connect_timeout: plan.connect_timeout,
            limits: Limits { kept: plan.users.bytes_read(), ..Limits::default() },
            memory: Budget::of(MEMORY_FOR_ANSWERS),
        })
    }
}
