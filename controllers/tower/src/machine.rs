//! The machine that a layer hosts: a gate at a server, the gate of senders at a client. Both are those of the lab.

use controllers::{
    Entry, JobId, Note, Offer, Outcome, PeerReport, Seen, Timestamp, UnixSeconds,
    catalogue::Factory,
    site::{Action, Asked, Clients, Decided, Entered, Gate, InstalledPolicy, Member, Pass, Permit, Probe},
};

use crate::{Refused, RequestTags};

/// The machine, with `J` for each request that it holds.
#[derive(Debug)]
pub(crate) enum Machine<J> {
    Server(Box<Gate<J>>),
    Client(Box<Clients<J>>, Member),
}

/// The proof that the machine admitted a request: it is handed back once, with the request's end.
#[derive(Debug)]
pub(crate) enum AdmissionGrant {
    Permit(Permit),
    Pass(Pass),
}

impl AdmissionGrant {
    /// The note that a client's policy puts on the request; a server's puts it on the response.
    pub(crate) fn note(&self) -> Option<Note> {
        match self {
            Self::Permit(_) => None,
            Self::Pass(pass) => pass.note(),
        }
    }

    pub(crate) fn is_at_client(&self) -> bool {
        matches!(self, Self::Pass(_))
    }
}

/// The end of a request.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) grant: AdmissionGrant,
    pub(crate) outcome: Outcome,
    /// The note of its response.
    pub(crate) told: Option<Note>,
}

/// A policy that is to replace another one.
#[derive(Debug)]
pub(crate) enum Successor {
    Server(InstalledPolicy),
    Client(&'static Entry, Factory),
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It may go; `None`: nobody wants to know how it ends.
    Go(Option<AdmissionGrant>),
    Refused(Refused),
    Held(JobId),
}

/// The next step.
#[derive(Debug)]
pub(crate) enum Step<J> {
    Decided(J, Result<AdmissionGrant, Refused>),
    /// A report for other sites.
    Tell(PeerReport),
    Wait(Option<Timestamp>),
}

impl<J> Machine<J> {
    pub(crate) fn set_wall(&mut self, wall: UnixSeconds) {
        match self {
            Self::Server(gate) => gate.set_wall(wall),
            Self::Client(clients, _) => clients.set_wall(wall),
        }
    }

    /// Asks about a request; `number` is its identity at a gate. `job` is made if it is held.
    pub(crate) fn ask(&mut self, now: Timestamp, number: u64, request: RequestTags, job: impl FnOnce() -> J) -> Answer {
        let RequestTags { mut tags, time_left, note } = request;
        if let Some(left) = time_left {
            tags.deadline = Some(now + left);
        }
        match self {
            Self::Server(gate) => {
                let id = JobId(number);
                match gate.offer(now, Offer { id, tags, entered: now, note }, job) {
                    Entered::In(None) => Answer::Go(None),
                    Entered::In(Some(mut permit)) => {
                        gate.started(now, &mut permit);
                        Answer::Go(Some(AdmissionGrant::Permit(permit)))
                    }
                    Entered::Refused(away) => Answer::Refused(Refused::at_server(away)),
                    Entered::Held => Answer::Held(id),
                }
            }
            Self::Client(clients, member) => match clients.ask(*member, tags, now, note, now, |_| job()) {
                Asked::Go(pass) => Answer::Go(Some(AdmissionGrant::Pass(pass))),
                Asked::Refused(retry) => Answer::Refused(Refused::at_client(retry)),
                Asked::ComeBack(wait) => Answer::Refused(Refused::at_client(controllers::RetryHint::After(wait))),
                Asked::Held(id) => Answer::Held(id),
            },
        }
    }

    /// Work on a request that was held begins.
    pub(crate) fn started(&mut self, now: Timestamp, grant: &mut AdmissionGrant) {
        if let (Self::Server(gate), AdmissionGrant::Permit(permit)) = (self, grant) {
            gate.started(now, permit);
        }
    }

    /// A request has ended. Returns the policy's note for its response, at a server.
    pub(crate) fn ended(&mut self, now: Timestamp, Ended { grant, outcome, told }: Ended) -> Option<Note> {
        match (self, grant) {
            (Self::Server(gate), AdmissionGrant::Permit(permit)) => gate.ended(now, permit, outcome, None, told),
            (Self::Client(clients, _), AdmissionGrant::Pass(pass)) => {
                clients.ended(pass, outcome, told, now);
                None
            }
            // A machine gets back what it gave.
            (Self::Server(_), AdmissionGrant::Pass(_)) | (Self::Client(..), AdmissionGrant::Permit(_)) => None,
        }
    }

    /// Another policy takes over. It is one of the machine's side: [`crate::Admission::replace`] has looked.
    pub(crate) fn replace(&mut self, now: Timestamp, by: Successor) {
        match (self, by) {
            (Self::Server(gate), Successor::Server(installed)) => gate.replace(now, installed),
            (Self::Client(clients, _), Successor::Client(entry, factory)) => clients.replace(now, entry, factory),
            (Self::Server(_), Successor::Client(..)) | (Self::Client(..), Successor::Server(_)) => {}
        }
    }

    /// A held request is not wanted any more. `None`: it was decided about.
    pub(crate) fn leave(&mut self, now: Timestamp, id: JobId) -> Option<J> {
        match self {
            Self::Server(gate) => gate.leave(now, id),
            Self::Client(clients, member) => clients.left(*member, id, now),
        }
    }

    pub(crate) fn observe(&mut self, now: Timestamp, seen: &Seen) {
        if let Self::Server(gate) = self {
            gate.observe(now, seen);
        }
    }

    /// The next step. Call after each other call until it is [`Step::Wait`].
    pub(crate) fn poll(&mut self, now: Timestamp, probe: &dyn Probe) -> Step<J> {
        match self {
            Self::Server(gate) => loop {
                return match gate.poll(now, probe) {
                    Action::Admit(job, permit) => Step::Decided(job, Ok(AdmissionGrant::Permit(permit))),
                    Action::Refuse(job, away) => Step::Decided(job, Err(Refused::at_server(away))),
                    Action::WakeAt(at) => Step::Wait(Some(at)),
                    Action::Idle => Step::Wait(None),
                    Action::Tell(report) => Step::Tell(report),
                    // A gate has no workers and no site upstream.
                    Action::Start(_) | Action::Hire(_) | Action::Dismiss(_) | Action::Shed(..) => continue,
                };
            },
            Self::Client(clients, _) => match clients.poll(now) {
                Some(Decided::Go(job, pass)) => Step::Decided(job, Ok(AdmissionGrant::Pass(pass))),
                Some(Decided::Refused(job, retry)) => Step::Decided(job, Err(Refused::at_client(retry))),
                None => Step::Wait(clients.next_wake()),
            },
        }
    }
}
