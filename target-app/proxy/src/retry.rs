//! Retries: a policy of the sender's side is asked before each attempt, and rules say which ends of an attempt another one may follow.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use controllers::{Note, Tags, catalogue::PolicySpec, seed_for};
use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use live_service::{
    calls::asking::{self, CallSite},
    clock::ServiceClock,
    stage::SharedSite as _,
};
use service_core::{
    calls::{AttemptEnd, Call, CallContext, CallMachine, CallReply, CallStep},
    policies::listed,
};
use spec::{
    proxy::{ProxySpec, RetryCause, RetrySpec},
    services::CallSpec,
};
use workloads::{
    headers::NOTE,
    plan::{ClientPolicy, ClientScope},
};

use super::{backend::Trouble, error::ProxyError};

/// The retries of a proxy: the policy, and the rules.
#[derive(Debug)]
pub(super) struct Retries {
    site: Arc<CallSite>,
    spec: RetrySpec,
}

/// All attempts of one request. Dropped while one is under way, that one ends as abandoned.
#[derive(Debug)]
pub(super) struct Attempts<'a> {
    retries: &'a Arc<Retries>,
    counts: &'a RetryCounts,
    call: Call,
    /// The number of the client's own attempt.
    of_client: u8,
    /// True while an attempt after the first is under way.
    is_retry: bool,
}

/// The end of an attempt, as the rules see it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attempted<'a> {
    Answered(StatusCode, &'a HeaderMap),
    Unanswered(Trouble),
}

/// Attempts after the first by their ends, since the proxy started.
#[derive(Debug, Default)]
pub(super) struct RetryCounts([AtomicU64; RETRY_ENDS.len()]);

/// The number of the attempt, as the client's own attempts have it.
const ATTEMPT: &str = "x-attempt";
/// How retries end: answered; refused or failed once more; refused by the policy, so that none went out; the client has left.
const RETRY_ENDS: [&str; 5] = ["answered", "refused", "failed", "denied", "client_gone"];
const DENIED: usize = 3;
const CLIENT_GONE: usize = 4;

impl RetryCounts {
    /// The counts by name.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        RETRY_ENDS.into_iter().zip(self.0.iter().map(|count| count.load(Ordering::Relaxed)))
    }

    fn add(&self, end: usize) {
        self.0[end].fetch_add(1, Ordering::Relaxed);
    }
}

impl Retries {
    /// The retries that the settings ask for. Needs a runtime.
    ///
    /// # Errors
    /// A policy without a place on the sender's side, or rules that make no sense.
    pub(super) fn new(proxy: &ProxySpec, clock: ServiceClock) -> Result<Option<Arc<Self>>, ProxyError> {
        let Some(spec) = &proxy.retries else { return Ok(None) };
        if !(2..=10).contains(&spec.attempts) {
            let message = format!("{} attempts; 2 to 10, the first among them", spec.attempts);
            return Err(ProxyError::setting("retries.attempts", message));
        }
        let PolicySpec { name: policy, settings, .. } = spec.policy.clone();
        let client = Some(ClientPolicy { policy, settings, scope: ClientScope::All });
        let timeout = proxy.timeouts.response;
        let call = CallSpec { attempts: spec.attempts, timeout, client, ..CallSpec::to("backends") };
        let machine = CallMachine::new(&call, &proxy.class, proxy.told_objective(), seed_for(proxy.seed, "retries"));
        let machine = machine.map_err(|problems| ProxyError::setting("retries.policy", listed(&problems)))?;
        Ok(Some(Arc::new(Self { site: CallSite::new(machine, clock), spec: spec.clone() })))
    }

    /// True if settings ask for the retries that these already are: their policy keeps what it has learnt.
    pub(super) fn are_kept(before: &ProxySpec, now: &ProxySpec) -> bool {
        (&before.retries, before.timeouts.response) == (&now.retries, now.timeouts.response)
    }

    /// Begins with a request that has these tags.
    pub(super) fn begin<'a>(self: &'a Arc<Self>, tags: Tags, counts: &'a RetryCounts) -> Attempts<'a> {
        let context = CallContext { tags, key: None, note: None };
        let call = self.site.shared().peek(|machine| machine.begin(&context, 0, 0, self.site.shared().clock.now()));
        Attempts { retries: self, counts, call, of_client: tags.attempt, is_retry: false }
    }

    /// True if another attempt may follow such an end; `unsent`: nothing of the request has reached a backend.
    pub(super) fn may_repeat(&self, method: &Method, end: Attempted<'_>, unsent: bool) -> bool {
        let cause = match end {
            // The time is over for further attempts too.
            Attempted::Unanswered(Trouble::Withheld | Trouble::TooLate) => return false,
            Attempted::Unanswered(Trouble::Unreachable | Trouble::Full) => RetryCause::Connect,
            Attempted::Unanswered(Trouble::Broken) => RetryCause::Broken,
            Attempted::Answered(_, headers) if advises_against(headers) => return false,
            Attempted::Answered(status, _) => RetryCause::Status(status.as_u16()),
        };
        self.spec.on.contains(&cause) && (unsent || self.spec.non_idempotent || method.is_idempotent())
    }
}

/// True if the answer says that no further attempt is wanted, or not yet.
fn advises_against(headers: &HeaderMap) -> bool {
    headers.get("x-retry").is_some_and(|advice| advice == "never")
        || headers.get(header::RETRY_AFTER).is_some_and(|wait| wait != "0")
}

impl Attempts<'_> {
    /// Asks the policy about the attempt that is next, and waits while it holds it. False: it is not to go out.
    pub(super) async fn may_go(&mut self) -> bool {
        let goes = asking::begin(&self.retries.site, &mut self.call).await == CallStep::Send;
        self.is_retry = goes && self.call.tags.attempt > 0;
        if !goes && self.call.tags.attempt > 0 {
            self.counts.add(DENIED);
        }
        goes
    }

    /// Puts on a request what tells it from the first attempt, and the note of the policy.
    pub(super) fn mark(&self, headers: &mut HeaderMap) {
        let mut line = |name, number: u64| drop(headers.insert(HeaderName::from_static(name), number.into()));
        if self.call.tags.attempt > 0 {
            line(ATTEMPT, self.of_client.saturating_add(self.call.tags.attempt).into());
        }
        if let Some(Note(number)) = self.call.note() {
            line(NOTE, number);
        }
    }

    /// The time that is left for all attempts together.
    pub(super) fn left(&self) -> Duration {
        self.call.deadline.since(self.retries.site.shared().clock.now())
    }

    /// Ends the attempt that is under way. True if `repeats`, and there may be one more: then it is the next.
    pub(super) fn ended(&mut self, end: Attempted<'_>, repeats: bool) -> bool {
        let reply = reply(end);
        self.retries.site.with(|machine, now| machine.attempt_ended(&mut self.call, reply, now));
        if std::mem::take(&mut self.is_retry) {
            self.counts.add(match reply.reply {
                AttemptEnd::Answered => 0,
                AttemptEnd::Refused { .. } => 1,
                AttemptEnd::Failed | AttemptEnd::TimedOut | AttemptEnd::Unavailable => 2,
            });
        }
        let more = repeats && self.call.tags.attempt + 1 < self.retries.spec.attempts && !self.left().is_zero();
        if more {
            self.call.again(false);
        }
        more
    }
}

impl Drop for Attempts<'_> {
    fn drop(&mut self) {
        self.retries.site.with(|machine, now| machine.abandon(&mut self.call, now));
        if self.is_retry {
            self.counts.add(CLIENT_GONE);
        }
    }
}

/// The end of an attempt, as the policy is told it.
fn reply(end: Attempted<'_>) -> CallReply {
    match end {
        Attempted::Answered(status, headers) => {
            CallReply::of(status.as_u16(), headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
        }
        Attempted::Unanswered(Trouble::Full) => AttemptEnd::Refused { retry: true }.into(),
        Attempted::Unanswered(Trouble::TooLate) => AttemptEnd::TimedOut.into(),
        Attempted::Unanswered(_) => AttemptEnd::Unavailable.into(),
    }
}
