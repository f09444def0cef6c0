//! The class and the criticality of requests, from what their heads say.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use controllers::{
    Class, ClassRule, Criticality, Tags,
    catalogue::Problem,
    classify::{Classifier, Facts},
    random::mix,
};
use http::request::Parts;
use spec::{StageSpec, TargetSpec};

use crate::own_headers::OwnHeaders;

/// The rules for the class and the criticality of requests.
#[derive(Debug, Clone, Default)]
pub struct Classification {
    classes: Classifier,
    by_class: BTreeMap<Class, Criticality>,
    /// The dispatch stage: the first point at which criticality may be overridden.
    dispatch: StageSpec,
}

impl Classification {
    /// The rules of a target.
    ///
    /// # Errors
    /// The problems of its rule for classes.
    pub fn of(spec: &TargetSpec) -> Result<Self, Vec<Problem>> {
        let dispatch = spec.stage("dispatch").clone();
        Ok(Self { dispatch, ..Self::by(&spec.class, spec.criticality.clone())? })
    }

    /// The rules of a proxy, which overrides no criticality.
    ///
    /// # Errors
    /// The problems of its rule for classes.
    pub fn by(class: &ClassRule, by_class: BTreeMap<Class, Criticality>) -> Result<Self, Vec<Problem>> {
        Ok(Self { classes: class.read()?, by_class, dispatch: StageSpec::default() })
    }

    /// The class of a request.
    pub fn class(&self, facts: &RequestFacts<'_>) -> Class {
        self.classes.class(facts)
    }

    /// Tags with the class of a request, and with its criticality at dispatch; `said`: its own criticality.
    pub fn ranked(&self, tags: Tags, said: Option<Criticality>, facts: &RequestFacts<'_>) -> Tags {
        let class = self.class(facts);
        let criticality = said.or_else(|| self.by_class.get(&class).copied()).unwrap_or_default();
        self.dispatch.carried(Tags { class, criticality, ..tags })
    }
}

/// A request's head, and its sender's address.
#[derive(Debug, Clone, Copy)]
pub struct RequestFacts<'a> {
    pub head: &'a Parts,
    pub own: OwnHeaders<'a>,
    pub peer: SocketAddr,
    /// The session of the service, if the request belongs to one.
    pub session: Option<u64>,
    /// The number of the attempt, 0 for the first.
    pub attempt: u8,
    /// The time that the sender still waits, where it says so.
    pub left: Option<Duration>,
}

impl RequestFacts<'_> {
    /// The user, where the request itself does not name one: its session, or else its sender's address.
    pub fn user(&self) -> u64 {
        self.session.unwrap_or_else(|| match self.peer.ip().to_canonical() {
            IpAddr::V4(address) => mix(address.to_bits().into()),
            IpAddr::V6(address) => mix(mix((address.to_bits() >> 64) as u64) ^ address.to_bits() as u64),
        })
    }
}

impl Facts for RequestFacts<'_> {
    fn path(&self) -> &str {
        self.head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    fn address(&self) -> Option<IpAddr> {
        Some(self.peer.ip().to_canonical())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn criticality(
        headers: &[(&str, &str)],
        said: Option<Criticality>,
        overridden: Option<Criticality>,
    ) -> Criticality {
        let classification = Classification {
            classes: ClassRule::Header("User-Class".to_owned()).read().unwrap(),
            by_class: [(Class(1), Criticality::CriticalPlus), (Class(2), Criticality::Sheddable)].into(),
            dispatch: StageSpec { criticality: overridden, ..StageSpec::default() },
        };
        let request = http::Request::builder();
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let head = request.body(()).unwrap().into_parts().0;
        let facts = RequestFacts::of_head(&head, "127.0.0.1:1".parse().unwrap(), None);
        classification.ranked(Tags::default(), said, &facts).criticality
    }

    #[test]
    fn a_class_has_a_criticality_for_those_that_name_none() {
        let of = |class: &str, said| criticality(&[("User-Class", class)], said, None);
        assert_eq!(of("1", None), Criticality::CriticalPlus);
        assert_eq!(of("2", None), Criticality::Sheddable);
        assert_eq!(of("0", None), Criticality::Critical, "class 0 has none of its own");
        assert_eq!(of("2", Some(Criticality::Critical)), Criticality::Critical, "a request's own word counts first");
    }

    #[test]
    fn dispatch_may_override_what_was_said() {
        let over = Some(Criticality::SheddablePlus);
        assert_eq!(criticality(&[("User-Class", "1")], Some(Criticality::Critical), over), Criticality::SheddablePlus);
    }
}
