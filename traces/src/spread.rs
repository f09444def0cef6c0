//! How requests are spread over users and sessions: where a log's users are not told apart, or are no users, it shows.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

/// The largest number of users that are told apart.
const USERS: usize = 4 << 20;

/// The least number of requests that a caution is about.
const FEW: u64 = 5;

/// Numbers of users, sessions and requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UserSpread {
    /// Users.
    pub users: u64,
    /// Requests.
    pub requests: u64,
    /// Requests of the user who has most.
    pub busiest: u64,
    /// Sessions.
    pub sessions: u64,
    /// Sessions of a login and nothing else.
    pub login_only: u64,
    /// True if the source has one user by nature: the recording of a browser.
    pub of_one: bool,
}

impl UserSpread {
    /// What a reader of figures by user should know before.
    #[must_use]
    pub fn cautions(&self) -> Vec<String> {
        let &Self { users, requests, busiest, sessions, login_only, of_one } = self;
        let mut cautions = Vec::new();
        if !of_one && requests >= FEW && busiest * 2 > requests {
            let whose = if users == 1 { "the only user has".to_owned() } else { format!("one of {users} users has") };
            cautions.push(format!(
                "{whose} {busiest} of {requests} requests: if that is everybody behind a proxy or a program, figures by user and \
                 session say little"
            ));
        }
        if requests >= FEW && users == requests {
            cautions.push(format!(
                "each of the {users} users has one request: what the log has in place of the user may name the request"
            ));
        }
        if login_only * 2 > sessions {
            cautions.push(format!(
                "{login_only} of {sessions} sessions are a login and nothing else: the log has no pages or commands of theirs"
            ));
        }
        cautions
    }
}

/// Counts requests by user.
#[derive(Debug, Default)]
pub struct UserRequests {
    by_user: HashMap<u64, u64>,
    busiest: u64,
}

impl UserRequests {
    /// Counts a request of a user.
    pub fn add(&mut self, user: &(impl Hash + ?Sized)) {
        let mut hasher = DefaultHasher::new();
        user.hash(&mut hasher);
        let user = hasher.finish();
        if self.by_user.len() < USERS || self.by_user.contains_key(&user) {
            let count = self.by_user.entry(user).or_default();
            *count += 1;
            self.busiest = self.busiest.max(*count);
        }
    }

    /// The number of users, and the requests of the one who has most.
    #[must_use]
    pub fn found(&self) -> (u64, u64) {
        (self.by_user.len() as u64, self.busiest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_for_all_and_one_request_a_user_are_said() {
        let usual = UserSpread { users: 4, requests: 40, busiest: 20, sessions: 8, login_only: 4, of_one: false };
        assert_eq!(usual.cautions(), [""; 0]);
        let said = |spread: UserSpread| spread.cautions().join("\n");
        assert!(said(UserSpread { busiest: 21, ..usual }).starts_with("one of 4 users has 21 of 40 requests"));
        assert!(said(UserSpread { users: 1, busiest: 40, ..usual }).starts_with("the only user has 40 of 40 requests"));
        assert!(said(UserSpread { users: 40, busiest: 1, ..usual }).contains("each of the 40 users has one request"));
        assert!(
            said(UserSpread { login_only: 5, ..usual }).starts_with("5 of 8 sessions are a login and nothing else")
        );
        let few = UserSpread { users: 1, requests: 4, busiest: 4, sessions: 1, login_only: 0, of_one: false };
        assert_eq!(few.cautions(), [""; 0]);
        let browser = UserSpread { requests: 145, busiest: 145, of_one: true, ..few };
        assert_eq!(browser.cautions(), [""; 0]);
    }
}
