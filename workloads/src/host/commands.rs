//! An operator's commands to the users of a run: values that any thread gives and the pool of users carries out.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use controllers::Class;
use measure::Shard;
use serde::{Deserialize, Serialize};

use crate::plan::{ClientScope, ClientSpec};

/// One command. User machines do not know of commands: more users arrive, or the host asks users later or waits for
/// answers less long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UserCommand {
    /// This many additional users arrive, 0.1 ms apart, and leave after their stay. They are the same kind as the
    /// plan's users; if there are too few accounts, they share them.
    Spike {
        /// The number of users, 1 to [`UserCommand::MOST_USERS`].
        users: u32,
        /// Their stay, over 0, to [`UserCommand::LONGEST`].
        stay: Duration,
        /// Their class.
        class: Class,
    },
    /// For requests that begin from now on, users wait only for this share of the planned time-out and of their
    /// patience: [`UserCommand::LEAST_SHARE`] to 1, the planned times.
    Patience(f64),
    /// No request begins: users that think continue after the pause, and single requests that were to arrive are
    /// dropped. Requests under way end as always, and the plan's time goes on.
    Pause,
    /// Ends the pause.
    Resume,
    /// The users' own policy is this from now on; its scope counts only if they had none. Requests under way end as before, held ones
    /// are offered to the new policy.
    Client(ClientSpec),
}

/// A command that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UserCommandError {
    /// A value out of its range.
    #[error("{what} must be {range}")]
    Range {
        /// The value.
        what: &'static str,
        /// What it may be.
        range: &'static str,
    },
    /// A policy that users cannot have.
    #[error("{0}")]
    Client(String),
}

impl UserCommand {
    /// The largest number of users of one spike.
    pub const MOST_USERS: u32 = 10_000;
    /// The longest stay of a spike.
    pub const LONGEST: Duration = Duration::from_secs(3600);
    /// The smallest share of a time-out.
    pub const LEAST_SHARE: f64 = 0.01;

    /// The command to one of several processes that each have a part of the users; `None`: it has none of the added ones.
    ///
    /// # Errors
    /// One policy would decide for users of several processes.
    pub fn for_part(self, shard: Shard) -> Result<Option<Self>, UserCommandError> {
        match self {
            Self::Client(client) if client.scope != ClientScope::User => {
                Err(UserCommandError::Client("no policy decides for users of several generators".to_owned()))
            }
            Self::Spike { users, stay, class } => {
                let users = u32::try_from(shard.portion(users.into())).unwrap_or(users);
                Ok((users > 0).then_some(Self::Spike { users, stay, class }))
            }
            other => Ok(Some(other)),
        }
    }

    /// Checks that the command's values are in range.
    ///
    /// # Errors
    /// See [`UserCommandError`].
    pub fn check(&self) -> Result<(), UserCommandError> {
        let wrong = |what, range| Err(UserCommandError::Range { what, range });
        match self {
            Self::Spike { users, .. } if *users == 0 || *users > Self::MOST_USERS => wrong("users", "1 to 10000"),
            Self::Spike { stay, .. } if stay.is_zero() || *stay > Self::LONGEST => wrong("the stay", "over 0, to 1 h"),
            Self::Patience(share) if !(Self::LEAST_SHARE..=1.0).contains(share) => wrong("the share", "0.01 to 1"),
            Self::Client(client) => client.resolve().map(drop).map_err(|problems| {
                let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
                UserCommandError::Client(problems.join("; "))
            }),
            Self::Spike { .. } | Self::Patience(_) | Self::Pause | Self::Resume => Ok(()),
        }
    }
}

/// The queue of commands to a run. Cloning gives another handle on the same queue.
#[derive(Debug, Clone, Default)]
pub struct UserCommands(Arc<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// True if there are commands, so that hosts, which check a few hundred times a second, need not take the lock.
    any: AtomicBool,
    commands: Mutex<VecDeque<UserCommand>>,
}

impl UserCommands {
    /// Queues a command, which a run that reads this queue carries out within a few milliseconds.
    ///
    /// # Errors
    /// See [`UserCommandError`]; the command is dropped.
    pub fn give(&self, command: UserCommand) -> Result<(), UserCommandError> {
        command.check()?;
        self.0.commands.lock().unwrap_or_else(PoisonError::into_inner).push_back(command);
        self.0.any.store(true, Ordering::Release);
        Ok(())
    }

    /// Removes the commands given since the last call.
    pub fn take(&self) -> VecDeque<UserCommand> {
        if !self.0.any.swap(false, Ordering::Acquire) {
            return VecDeque::new();
        }
        std::mem::take(&mut *self.0.commands.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_out_of_range_are_refused_and_say_what_would_do() {
        let commands = UserCommands::default();
        let spike = |users, seconds| UserCommand::Spike { users, stay: Duration::from_secs(seconds), class: Class(0) };
        for (command, hint) in [
            (spike(0, 1), "1 to 10000"),
            (spike(10_001, 1), "1 to 10000"),
            (spike(1, 0), "over 0"),
            (spike(1, 3601), "1 h"),
            (UserCommand::Patience(0.0), "0.01 to 1"),
            (UserCommand::Patience(1.5), "0.01 to 1"),
            (UserCommand::Patience(f64::NAN), "0.01 to 1"),
        ] {
            let error = commands.give(command.clone()).expect_err("out of range").to_string();
            assert!(error.contains(hint), "{command:?}: {error}");
        }
        assert!(commands.take().is_empty(), "nothing of that is obeyed");
    }

    #[test]
    fn orders_are_taken_once_and_in_order() {
        let commands = UserCommands::default();
        let other = commands.clone();
        for command in [UserCommand::Pause, UserCommand::Resume] {
            other.give(command).expect("sound");
        }
        assert_eq!(commands.take(), [UserCommand::Pause, UserCommand::Resume]);
        assert!(other.take().is_empty());
    }

    #[test]
    fn a_spike_is_shared_and_one_policy_for_all_is_not() {
        let spike = |users| UserCommand::Spike { users, stay: Duration::from_secs(1), class: Class(0) };
        let parts = |command: &UserCommand| {
            let shards = (1..=3).map(|number| Shard::new(number, 3).expect("a part"));
            shards.map(|shard| command.clone().for_part(shard)).collect::<Result<Vec<_>, _>>()
        };
        assert_eq!(parts(&spike(2)), Ok(vec![Some(spike(1)), Some(spike(1)), None]));
        assert_eq!(parts(&UserCommand::Pause), Ok(vec![Some(UserCommand::Pause); 3]));
        let client = |scope| {
            let objective = controllers::Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
            let (settings, renewed_in) = (controllers::Settings::new(), Vec::new());
            UserCommand::Client(ClientSpec { policy: "none".to_owned(), settings, scope, objective, renewed_in })
        };
        assert!(parts(&client(ClientScope::All)).is_err());
        assert!(parts(&client(ClientScope::User)).is_ok());
    }
}
