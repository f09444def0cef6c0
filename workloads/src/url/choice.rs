//! The requests that users of one service choose among.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use controllers::{Class, Kind};
use measure::Shard;

use crate::{
    crowd_error::CrowdError,
    headers::header_lines,
    persona::{Call, Draws, Method, Purpose},
    plan::{Marks, UrlRequest, UrlUsers},
    text::Text,
};

/// Most requests to choose among: each has its header lines by class in memory.
pub const MOST_REQUESTS: usize = 256;

/// A request, ready to be sent.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) kind: Kind,
    pub(super) method: Method,
    path: Text,
    body: Option<Text>,
    /// Header lines by class.
    headers: Vec<Text>,
    /// The sum of the weights up to this request and with it.
    upto: f64,
}

impl Prepared {
    /// What is sent, by a user of this class: request number `number`.
    pub(super) fn call(&self, class: Class, number: u64, draws: &Draws) -> Call {
        let headers = &self.headers[usize::from(class.0)];
        let call = Call::get(class, self.path.fill(number, 0, draws), headers.fill(number, 1, draws));
        let body = self.body.as_ref().map(|body| body.fill(number, 2, draws));
        Call { kind: self.kind, method: self.method, body, ..call }
    }

    fn new(request: &UrlRequest, users: &UrlUsers, marks: &Marks, kind: Kind, upto: f64) -> Result<Self, CrowdError> {
        let Some(method) = Method::of(&request.method) else {
            let known: Vec<_> = Method::ALL.iter().map(|method| method.name()).collect();
            let problem = format!("users know {}", known.join(", "));
            return Err(CrowdError::unsendable(&format!("the method `{}`", request.method), &problem));
        };
        let path = request.path.as_str();
        if !path.starts_with('/') || path.bytes().any(|b| b <= b' ' || b == 0x7F) {
            return Err(CrowdError::unsendable(
                &format!("the path {path:?}"),
                "it must begin with `/` and hold no spaces or control characters (write a space as %20)",
            ));
        }
        let lines = header_lines(&users.headers.iter().chain(&request.headers).collect::<Vec<_>>())
            .map_err(|(what, problem)| CrowdError::unsendable(&what, problem))?;
        Ok(Self {
            kind,
            method,
            path: Text::of(path),
            body: request.body.as_deref().map(Text::of),
            headers: marks.lines().iter().map(|marks| Text::of(&(lines.clone() + marks))).collect(),
            upto,
        })
    }
}

/// Requests with their weights.
#[derive(Debug)]
pub(super) struct Choice {
    requests: Vec<Prepared>,
    /// The names of the request types, in the order of their kinds.
    pub(super) kinds: Vec<String>,
    /// Requests so far, for texts that number them.
    begun: AtomicU64,
    shard: Option<Shard>,
}

impl Choice {
    /// Those of `users.requests`; the one of `users.path` if there are none.
    pub(super) fn new(users: &UrlUsers, marks: &Marks, shard: Option<Shard>) -> Result<Self, CrowdError> {
        let only = [UrlRequest {
            name: "request".to_owned(),
            weight: 1.0,
            method: users.method.clone(),
            path: users.path.clone(),
            headers: Vec::new(),
            body: users.body.clone(),
        }];
        let all = if users.requests.is_empty() { &only[..] } else { &users.requests[..] };
        if all.len() > MOST_REQUESTS {
            let problem = format!("there are {}, and at most {MOST_REQUESTS} are kept: leave rare ones out", all.len());
            return Err(CrowdError::unsendable("the list of requests", &problem));
        }
        let (mut requests, mut kinds, mut upto) = (Vec::new(), Vec::new(), 0.0);
        for request in all {
            if !(request.weight.is_finite() && request.weight > 0.0) {
                let problem = format!("its weight is {}, and must be over 0", request.weight);
                return Err(CrowdError::unsendable(&format!("the request {:?}", request.name), &problem));
            }
            let known = kinds.iter().position(|kind| *kind == request.name).unwrap_or_else(|| {
                kinds.push(request.name.clone());
                kinds.len() - 1
            });
            upto += request.weight;
            let kind = Kind(u16::try_from(known).unwrap_or_default());
            requests.push(Prepared::new(request, users, marks, kind, upto)?);
        }
        Ok(Self { requests, kinds, begun: AtomicU64::new(0), shard })
    }

    pub(super) fn first(&self) -> &Prepared {
        &self.requests[0]
    }

    /// The number of a new request: one that no other part of the plan gives.
    pub(super) fn number(&self) -> u64 {
        let own = self.begun.fetch_add(1, Relaxed);
        self.shard.map_or(own, |shard| shard.whole(own).unwrap_or(own))
    }

    /// The request that these draws choose by the weights.
    pub(super) fn drawn(&self, draws: &Draws) -> &Prepared {
        if self.requests.len() == 1 {
            return self.first();
        }
        let wanted = draws.uniform(Purpose::Request) * self.requests.last().map_or(0.0, |last| last.upto);
        self.requests.iter().find(|request| wanted < request.upto).unwrap_or_else(|| self.first())
    }
}
