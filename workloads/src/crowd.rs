//! Makes the users of a plan, by number.

use controllers::{Kind, Timestamp};
use measure::{Offered, Replayed, TransitionCount};

pub use crate::crowd_error::CrowdError;

use crate::{
    background::BackgroundClient,
    behaviour::Home,
    mail::{MailCrowd, MailUser, REQUEST_TYPES},
    persona::{Draws, Persona, Reply, Turn},
    plan::{LoadPlan, Users},
    schedule::Arrival,
    script::{ScriptCrowd, ScriptUser},
    url::{UrlCrowd, UrlUser},
};

/// Makes the users of a plan, and holds what they share: model, accounts, behaviour.
#[derive(Debug, Clone)]
pub struct Crowd {
    seed: u64,
    /// True if requests are recorded ones: then users of one URL have request types too.
    replays: bool,
    shared: Shared,
}

#[derive(Debug, Clone)]
enum Shared {
    Mail(MailCrowd),
    Url(UrlCrowd),
    Script(ScriptCrowd),
}

/// One user. An enum, so that a host can keep users in a vector without a box for each.
#[derive(Debug)]
pub enum User {
    /// A user of the mail service.
    Mail(MailUser),
    /// A user of one URL.
    Url(UrlUser),
    /// A user of a test plan.
    Script(ScriptUser),
    /// A background client, which sends no requests of users.
    Background(BackgroundClient),
}

impl Crowd {
    /// The crowd of this plan.
    ///
    /// # Errors
    /// If the plan describes users that cannot be made: see [`CrowdError`].
    pub fn new(plan: &LoadPlan) -> Result<Self, CrowdError> {
        plan.check()?;
        let home = Home::of(&plan.target).ok_or_else(|| CrowdError::Unsendable {
            what: format!("a request to {:?}", plan.target.url),
            problem: "write it as http://127.0.0.1:8080".into(),
        })?;
        let shared = match &plan.users {
            Users::Mail(users) => Shared::Mail(MailCrowd::new(users, &plan.marks, home)?),
            Users::Url(users) => Shared::Url(UrlCrowd::new(users, &plan.marks, home, plan.shard)?),
            Users::Script(users) => Shared::Script(ScriptCrowd::new(users, &plan.marks, home)?),
        };
        Ok(Self { seed: plan.seed, replays: plan.replays(), shared })
    }

    /// The same crowd, for a service in virtual time.
    #[must_use]
    pub(crate) fn in_virtual_time(self) -> Self {
        let shared = match self.shared {
            Shared::Script(shared) => Shared::Script(shared.in_virtual_time()),
            shared => shared,
        };
        Self { shared, ..self }
    }

    /// A user that arrives by the [`Schedule`](crate::Schedule). It signs in with account `slot` modulo the number of
    /// accounts.
    #[must_use]
    pub fn user(&self, arrival: &Arrival) -> User {
        let Arrival { slot, class, stay, .. } = *arrival;
        match &self.shared {
            Shared::Mail(shared) => {
                let user = MailUser::new(shared.clone(), slot, class, stay);
                User::Mail(match &arrival.script {
                    Some(script) => user.with_script(script.clone()),
                    None => user,
                })
            }
            Shared::Url(shared) => {
                let user = UrlUser::new(shared.clone(), class, stay);
                User::Url(match &arrival.script {
                    Some(script) => user.with_script(script.clone(), slot),
                    None => user,
                })
            }
            Shared::Script(shared) => User::Script(ScriptUser::new(shared.clone(), slot, class, stay)),
        }
    }

    /// The type of the first request of a user that arrives by the schedule, where it is known without that user.
    #[must_use]
    pub(crate) fn first_kind(&self, arrival: &Arrival) -> Option<Kind> {
        match &self.shared {
            Shared::Url(shared) if arrival.script.is_none() && arrival.role.is_none() => {
                Some(shared.first_kind(self.draws(arrival.key)))
            }
            _ => None,
        }
    }

    /// The draws of the user with this key ([`Arrival::key`](crate::schedule::Arrival::key)).
    #[must_use]
    pub fn draws(&self, key: u64) -> Draws {
        Draws::new(self.seed, key)
    }

    /// Names of the request types, in the order of their [`controllers::Kind`].
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        match &self.shared {
            Shared::Mail(_) => REQUEST_TYPES.to_vec(),
            Shared::Url(_) if self.replays => REQUEST_TYPES.to_vec(),
            Shared::Url(shared) => shared.kinds(),
            Shared::Script(shared) => shared.kinds(),
        }
    }

    /// Counts of the transitions that Markov users have made so far; empty for other users.
    #[must_use]
    pub fn transitions(&self) -> Vec<TransitionCount> {
        match &self.shared {
            Shared::Mail(shared) => shared.transitions(),
            Shared::Url(_) | Shared::Script(_) => Vec::new(),
        }
    }

    /// How often pages offered the state that a Markov user drew, by minutes of the run; empty for other users.
    #[must_use]
    pub fn offered(&self) -> Vec<Offered> {
        match &self.shared {
            Shared::Mail(shared) => shared.offered(),
            Shared::Url(_) | Shared::Script(_) => Vec::new(),
        }
    }

    /// Counts of recorded steps so far; `None`: nothing is replayed.
    #[must_use]
    pub fn replayed(&self) -> Option<Replayed> {
        match &self.shared {
            Shared::Mail(shared) => self.replays.then(|| shared.replayed()),
            Shared::Url(shared) => self.replays.then(|| shared.replayed()),
            Shared::Script(_) => None,
        }
    }
}

impl Persona for User {
    fn next(&mut self, last: Reply<'_>, now: Timestamp, draws: &mut Draws) -> Turn {
        match self {
            Self::Mail(user) => user.next(last, now, draws),
            Self::Url(user) => user.next(last, now, draws),
            Self::Script(user) => user.next(last, now, draws),
            Self::Background(client) => client.next(last, now, draws),
        }
    }

    fn begins(&mut self) {
        match self {
            Self::Mail(user) => user.begins(),
            Self::Url(user) => user.begins(),
            Self::Script(user) => user.begins(),
            Self::Background(client) => client.begins(),
        }
    }

    fn objection(&self) -> Option<&str> {
        match self {
            Self::Mail(user) => user.objection(),
            Self::Url(user) => user.objection(),
            Self::Script(user) => user.objection(),
            Self::Background(client) => client.objection(),
        }
    }

    fn keeps_times(&self) -> bool {
        match self {
            Self::Mail(user) => user.keeps_times(),
            Self::Url(user) => user.keeps_times(),
            Self::Script(user) => user.keeps_times(),
            Self::Background(client) => client.keeps_times(),
        }
    }
}
