//! One request, from its headers to its end.

use std::sync::Arc;

use controllers::{JobId, Outcome, RetryHint, site::TurnedAway};

use crate::{
    abi::{Filter, HeaderKind, HeadersStatus, Scheduler},
    host::{Decided, Entry, Host},
    tags::tags,
};

/// A request.
#[derive(Debug)]
pub struct AdmissionStream {
    host: Arc<Host>,
    id: JobId,
    place: Place,
    /// The status of its answer; 0: there is none.
    status: u16,
    /// Envoy has answered in the service's place.
    is_local: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The policy does not know it (any more).
    Unknown,
    Held,
    Inside,
}

impl AdmissionStream {
    pub fn new(host: Arc<Host>) -> Self {
        let id = host.new_id();
        Self { host, id, place: Place::Unknown, status: 0, is_local: false }
    }

    pub fn request_headers(&mut self, filter: Filter) -> HeadersStatus {
        let config = &self.host.config;
        let exempt = |path: &str| {
            let path = path.split('?').next().unwrap_or(path);
            config.exempt.iter().any(|exempt| exempt == path)
        };
        if filter.header(HeaderKind::Request, ":path", exempt) == Some(true) {
            return HeadersStatus::Continue;
        }
        let tags = tags(filter, &config.trust, self.host.now());
        match self.host.enter(self.id, tags, || Scheduler::of(filter)) {
            Entry::Decided(Decided::In) => {
                self.place = Place::Inside;
                HeadersStatus::Continue
            }
            Entry::Decided(Decided::Refused(turned)) => {
                refuse(filter, turned);
                HeadersStatus::StopIteration
            }
            Entry::Held => {
                self.place = Place::Held;
                HeadersStatus::StopAllIterationAndWatermark
            }
        }
    }

    /// Its worker was called back.
    pub fn scheduled(&mut self, filter: Filter) {
        if self.place != Place::Held {
            return;
        }
        match self.host.decided(self.id) {
            None => {}
            Some(Decided::In) => {
                self.place = Place::Inside;
                filter.go_on();
            }
            Some(Decided::Refused(turned)) => {
                self.place = Place::Unknown;
                refuse(filter, turned);
            }
        }
    }

    pub fn response_headers(&mut self, filter: Filter) {
        let status = filter.header(HeaderKind::Response, ":status", |text| text.parse().ok());
        self.status = status.flatten().unwrap_or_default();
    }

    pub fn local_reply(&mut self) {
        self.is_local = true;
    }

    /// Nothing follows of it.
    pub fn ended(&mut self) {
        if std::mem::replace(&mut self.place, Place::Unknown) == Place::Unknown {
            return;
        }
        let outcome = match self.status {
            0 => Outcome::Abandoned,
            504 => Outcome::TimedOut,
            // Envoy's own are about the way to the service.
            500.. if self.is_local => Outcome::Failed,
            429 | 503 => Outcome::Overloaded { retry: true },
            500.. => Outcome::Failed,
            _ => Outcome::Served,
        };
        self.host.ended(self.id, outcome);
    }
}

/// A stream that is destroyed without its end being told.
impl Drop for AdmissionStream {
    fn drop(&mut self) {
        self.ended();
    }
}

fn refuse(filter: Filter, turned: TurnedAway) {
    let mut headers = vec![("x-refused", turned.refusal.reason.name())];
    let after;
    match turned.refusal.retry {
        RetryHint::Never => headers.push(("x-retry", "never")),
        RetryHint::After(wait) => {
            after = wait.as_secs_f64().ceil().max(1.0).to_string();
            headers.push(("retry-after", &after));
        }
        RetryHint::Unsaid => {}
    }
    filter.answer(503, &headers, "overloaded\n");
}
