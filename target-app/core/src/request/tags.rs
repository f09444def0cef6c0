//! The tags in a request's head: a missing or malformed header means the default.

use std::{net::SocketAddr, time::Duration};

use controllers::{Criticality, Kind, Tags, Timestamp};
use http::{HeaderName, request::Parts};

use crate::{
    class::{Classification, RequestFacts},
    own_headers::OwnHeaders,
};

/// The number of the attempt; a first attempt is 0 and may omit it.
static ATTEMPT: HeaderName = HeaderName::from_static("x-attempt");
/// The time that the sender still waits, milliseconds.
static TIMEOUT: HeaderName = HeaderName::from_static("x-timeout-ms");
/// One of the names of [`Criticality`].
pub static CRITICALITY: HeaderName = HeaderName::from_static("x-criticality");
/// The number of the user.
static USER: HeaderName = HeaderName::from_static("x-user");
/// The number of the paying customer.
static CUSTOMER: HeaderName = HeaderName::from_static("x-customer");

/// The tags of a request of this type on arrival.
pub(super) fn tags(classification: &Classification, facts: &RequestFacts<'_>, kind: Kind, entered: Timestamp) -> Tags {
    let own = facts.own;
    let tags = Tags {
        kind,
        deadline: facts.left.map(|left| entered + left),
        attempt: facts.attempt,
        user: own.number(&USER).unwrap_or_else(|| facts.user()),
        customer: own.number(&CUSTOMER).unwrap_or_default(),
        ..Tags::default()
    };
    classification.ranked(tags, own.text(&CRITICALITY).and_then(Criticality::named), facts)
}

impl<'a> RequestFacts<'a> {
    /// The facts that the head of a request says. `session`: of the service, if the request belongs to one.
    pub fn of_head(head: &'a Parts, peer: SocketAddr, session: Option<u64>) -> Self {
        Self::said(head, OwnHeaders::of(&head.headers), peer, session)
    }

    /// The facts of a request whose sender's own headers do not count.
    pub fn of_stranger(head: &'a Parts, peer: SocketAddr) -> Self {
        Self::said(head, OwnHeaders::none(), peer, None)
    }

    fn said(head: &'a Parts, own: OwnHeaders<'a>, peer: SocketAddr, session: Option<u64>) -> Self {
        let attempt = own.number(&ATTEMPT).unwrap_or_default();
        Self { head, own, peer, session, attempt, left: own.number(&TIMEOUT).map(Duration::from_millis) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(headers: &[(&str, &str)]) -> Tags {
        let mut request = http::Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let head = request.body(()).unwrap().into_parts().0;
        let facts = RequestFacts::of_head(&head, "127.0.0.1:1".parse().unwrap(), Some(0));
        super::tags(&Classification::default(), &facts, Kind(0), Timestamp::ZERO)
    }

    #[test]
    fn headers_say_criticality_customer_and_attempt() {
        let said = tags(&[("X-Criticality", " SHEDDABLE_PLUS"), ("X-Customer", "4000000000"), ("X-Attempt", "2")]);
        assert_eq!((said.criticality, said.customer, said.attempt), (Criticality::SheddablePlus, 4_000_000_000, 2));
    }

    #[test]
    fn a_user_is_who_the_request_says_else_its_session_else_its_address() {
        let user = |header: Option<&str>, session, peer: &str| {
            let mut request = http::Request::builder();
            if let Some(number) = header {
                request = request.header("X-User", number);
            }
            let head = request.body(()).unwrap().into_parts().0;
            let facts = RequestFacts::of_head(&head, peer.parse().unwrap(), session);
            super::tags(&Classification::default(), &facts, Kind(0), Timestamp::ZERO).user
        };
        assert_eq!(user(Some("18446744073709551615"), Some(7), "127.0.0.1:1"), u64::MAX);
        assert_eq!(user(Some("-1"), Some(7), "127.0.0.1:1"), 7, "malformed");
        assert_eq!(user(None, Some(7), "127.0.0.1:1"), 7);
        let one = user(None, None, "127.0.0.1:1");
        assert_eq!(user(None, None, "127.0.0.1:2"), one, "a port is no user");
        assert_eq!(user(None, None, "[::ffff:127.0.0.1]:2"), one, "the same address");
        assert_ne!(user(None, None, "127.0.0.2:1"), one);
        assert_ne!(user(None, None, "[::1]:1"), user(None, None, "[1::1]:1"));
    }

    #[test]
    fn missing_and_malformed_headers_mean_the_defaults() {
        assert_eq!(tags(&[]), Tags::default());
        let wrong = [("X-Criticality", "sheddable"), ("X-Customer", "-1"), ("X-Attempt", "256")];
        assert_eq!(tags(&wrong), Tags::default());
    }
}
