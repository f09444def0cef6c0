//! Calls as a machine: it decides which call begins next, asks the task's own policy, and decides what follows an
//! attempt. It reads no clock and sends nothing: a host passes the time, sends attempts, waits, and reports the
//! results.

use std::{collections::VecDeque, time::Duration};

use controllers::{ClassRule, JobId, Note, Objective, Outcome, Tags, Timestamp, UnixSeconds, catalogue::Problem};
use spec::{
    services::CallSpec,
    wire::{CallCounts, MadeCalls},
};
use workloads::{
    client::{Asked, Clients, Decided, Member, Pass, clients},
    plan::ClientSpec,
};

use super::{
    AttemptEnd, CallReply, CallsEnded, CallsResult, Pool, carried, is_made, key_of_attempt, key_of_call,
    retry::RetryDecision,
};

/// The values of a request that its calls carry on.
#[derive(Debug, Clone, Copy)]
pub struct CallContext {
    /// The request's tags, from its stage on.
    pub tags: Tags,
    /// The key of the request's draws, if it has one.
    pub key: Option<u64>,
    /// The note of the request.
    pub note: Option<Note>,
}

/// The calls on behalf of one request: one after the other, or all at once.
#[derive(Debug)]
pub struct RequestCalls {
    fan_out: bool,
    /// Calls that have not begun: the index of the called service, and the call's number among those to it.
    left: VecDeque<(usize, u32)>,
    under_way: u32,
    result: CallsResult,
}

/// The calls to a service on behalf of each request: so many, each made with this probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visits {
    times: u32,
    probability: f64,
}

impl Visits {
    pub fn of(call: &CallSpec) -> Self {
        Self { times: call.times, probability: call.probability }
    }

    /// The numbers of the calls that a request with this key makes to the called service at index `place`.
    pub fn of_request(self, key: u64, place: usize) -> impl Iterator<Item = u32> {
        (0..self.times).filter(move |number| is_made(key, place, *number, self.probability))
    }
}

impl RequestCalls {
    /// The calls on behalf of a request with this key. `visits`: of each called service.
    pub fn new(visits: impl IntoIterator<Item = Visits>, key: u64, fan_out: bool) -> Self {
        let each = visits.into_iter().enumerate();
        let left = each.flat_map(|(place, of)| of.of_request(key, place).map(move |number| (place, number))).collect();
        Self { fan_out, left, under_way: 0, result: CallsResult::NONE }
    }

    /// The call to begin now, if there is one.
    pub fn begin_next(&mut self) -> Option<(usize, u32)> {
        if self.under_way > 0 && !self.fan_out {
            return None;
        }
        let next = self.left.pop_front()?;
        self.under_way += 1;
        Some(next)
    }

    /// Takes the note of a reply: the last one counts.
    pub fn replied(&mut self, note: Option<Note>) {
        self.result.note = note.or(self.result.note);
    }

    /// Takes the end of a call. After a call without an answer no more begin.
    pub fn call_ended(&mut self, ended: CallsEnded) {
        self.under_way -= 1;
        if ended != CallsEnded::Answered {
            self.result.ended = ended;
            self.left.clear();
        }
    }

    /// The result of all calls, once all have ended.
    pub fn result(&self) -> Option<CallsResult> {
        (self.under_way == 0 && self.left.is_empty()).then_some(self.result)
    }
}

/// One call, with all its attempts.
#[derive(Debug)]
pub struct Call {
    pub tags: Tags,
    /// The key of the call's draws.
    key: Option<u64>,
    /// See [`CallSpec::redraw`].
    redraw: bool,
    /// The note of the request.
    brought: Option<Note>,
    pub entered: Timestamp,
    pub deadline: Timestamp,
    pass: Option<Pass>,
    held: Option<JobId>,
    /// True from the begin of an attempt to its end.
    is_open: bool,
}

impl Call {
    /// The key of the draws for the attempt under way.
    pub fn attempt_key(&self) -> Option<u64> {
        self.key.map(|call| key_of_attempt(call, if self.redraw { self.tags.attempt } else { 0 }))
    }

    /// The note that the caller's own policy puts on the attempt under way.
    pub fn note(&self) -> Option<Note> {
        self.pass.as_ref().and_then(Pass::note)
    }

    /// Counts one attempt more. `told_not_to`: the reply to the one before advised against it.
    pub fn again(&mut self, told_not_to: bool) {
        self.tags.attempt = self.tags.attempt.saturating_add(1);
        self.tags.told_not_to_retry = told_not_to;
    }
}

/// The host's next step with a call.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub enum CallStep {
    /// Begin the next attempt: [`CallMachine::attempt`].
    Attempt,
    /// Send the attempt, and report the result: [`CallMachine::replied`], or [`CallMachine::timed_out`] at the call's
    /// deadline.
    Send,
    /// Ask the policy again after this wait: [`CallMachine::ask`].
    AskAgain(Duration),
    /// Wait until the policy has decided: [`CallMachine::decided`].
    Wait,
    /// Nothing: the call has ended.
    Over(CallsEnded),
}

/// A task's side of the calls to one service. `H`: the host's handle of a call that the task's own policy holds.
#[derive(Debug)]
pub struct CallMachine<H> {
    pub spec: CallSpec,
    /// The rule for the class of requests.
    class: ClassRule,
    policy: Option<(Clients<H>, Member)>,
    /// The root of the policy's randomness.
    seed: u64,
    counts: CallCounts,
}

impl<H> CallMachine<H> {
    /// `seed`: the root of the policy's randomness.
    pub fn new(spec: &CallSpec, class: &ClassRule, objective: Objective, seed: u64) -> Result<Self, Vec<Problem>> {
        let client = spec.client.as_ref().and_then(|client| client.spec(objective, Vec::new()));
        let policy = client.map(|client| with_member(&client, seed)).transpose()?;
        Ok(Self { spec: spec.clone(), class: class.clone(), policy, seed, counts: CallCounts::default() })
    }

    /// Puts another policy in place of the one that there is; calls that it let go keep their passes.
    pub fn set_policy(&mut self, client: &ClientSpec, now: Timestamp) -> Result<(), Vec<Problem>> {
        match &mut self.policy {
            Some((clients, _)) => {
                let (entry, factory) = client.resolve()?;
                clients.replace(now, entry, factory);
            }
            None => self.policy = Some(with_member(client, self.seed)?),
        }
        Ok(())
    }

    /// Begins a call on behalf of a request: call number `number` to the called service at index `place`.
    pub fn begin(&self, context: &CallContext, place: usize, number: u32, now: Timestamp) -> Call {
        let by_timeout = now + self.spec.timeout;
        let deadline = context.tags.deadline.map_or(by_timeout, |deadline| deadline.min(by_timeout));
        Call {
            tags: Tags { attempt: 0, told_not_to_retry: false, deadline: Some(deadline), ..context.tags },
            key: context.key.map(|request| key_of_call(request, place, number)),
            redraw: self.spec.redraw,
            brought: context.note,
            entered: now,
            deadline,
            pass: None,
            held: None,
            is_open: false,
        }
    }

    /// Sets the wall clock that the policy sees. Hosts call this before the methods that take a time.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.policy.iter_mut().for_each(|(clients, _)| clients.set_wall(wall));
    }

    /// Begins an attempt: counts it, and asks the policy. `handle` makes the host's handle of the call if the policy
    /// holds it.
    pub fn attempt(&mut self, call: &mut Call, now: Timestamp, handle: impl FnOnce() -> H) -> CallStep {
        call.is_open = true;
        self.counts.begins(call.tags.attempt);
        self.ask(call, now, handle)
    }

    /// Asks the policy, if there is one.
    pub fn ask(&mut self, call: &mut Call, now: Timestamp, handle: impl FnOnce() -> H) -> CallStep {
        let Some((clients, member)) = &mut self.policy else { return CallStep::Send };
        match clients.ask(*member, call.tags, call.entered, call.brought, now, |_| handle()) {
            Asked::Go(pass) => self.resume(call, Some(pass)),
            Asked::Refused(_) => self.resume(call, None),
            Asked::ComeBack(wait) => CallStep::AskAgain(wait),
            Asked::Held(job) => {
                call.held = Some(job);
                CallStep::Wait
            }
        }
    }

    /// The next held call that the policy has decided about, with a pass if it may be sent. The host must poll it after
    /// every other method except those that take `&self`.
    pub fn decided(&mut self, now: Timestamp) -> Option<(H, Option<Pass>)> {
        let (clients, _) = self.policy.as_mut()?;
        clients.poll(now).map(|decided| match decided {
            Decided::Go(handle, pass) => (handle, Some(pass)),
            Decided::Refused(handle, _) => (handle, None),
        })
    }

    /// Continues a call after the policy's decision; without a pass the call is refused.
    pub fn resume(&mut self, call: &mut Call, pass: Option<Pass>) -> CallStep {
        call.held = None;
        call.pass = pass;
        if call.pass.is_some() {
            return CallStep::Send;
        }
        call.is_open = false;
        self.counts.refused_at_home();
        CallStep::Over(CallsEnded::given_up(&self.spec))
    }

    /// The header lines of the attempt under way.
    pub fn headers(&self, call: &Call, now: Timestamp) -> String {
        let note = call.note().or(call.brought);
        carried(&call.tags, call.deadline.since(now), &self.class, note)
    }

    /// Ends the current attempt with this reply, and decides what follows it.
    pub fn replied(&mut self, call: &mut Call, told: CallReply, now: Timestamp) -> CallStep {
        self.attempt_ended(call, told, now);
        match RetryDecision::after(told.reply, call.tags.attempt, &self.spec) {
            RetryDecision::Again { told_not_to } => {
                call.again(told_not_to);
                CallStep::Attempt
            }
            RetryDecision::Over(ended) => CallStep::Over(ended),
        }
    }

    /// Ends the current attempt with this reply, where the host decides what follows it.
    pub fn attempt_ended(&mut self, call: &mut Call, told: CallReply, now: Timestamp) {
        let CallReply { reply, note, .. } = told;
        call.is_open = false;
        reply.count_in(&mut self.counts);
        self.tell_end(call.pass.take(), reply.outcome(), note, now);
    }

    /// Ends a call that nobody wants any more, if an attempt of it is under way or held.
    pub fn abandon(&mut self, call: &mut Call, now: Timestamp) {
        self.leave(call, now);
        if std::mem::take(&mut call.is_open) {
            AttemptEnd::Failed.count_in(&mut self.counts);
            self.tell_end(call.pass.take(), Outcome::Abandoned, None, now);
        }
    }

    /// Ends the call at its deadline.
    pub fn timed_out(&mut self, call: &mut Call, now: Timestamp) -> CallStep {
        self.leave(call, now);
        self.replied(call, AttemptEnd::TimedOut.into(), now)
    }

    /// Tells the policy that a call does not wait for its decision any more.
    fn leave(&mut self, call: &mut Call, now: Timestamp) {
        if let (Some(job), Some((clients, member))) = (call.held.take(), &mut self.policy) {
            drop(clients.left(*member, job, now));
        }
    }

    /// Returns the unused pass of a held call.
    pub fn unused(&mut self, pass: Option<Pass>, now: Timestamp) {
        self.tell_end(pass, Outcome::Abandoned, None, now);
    }

    /// The time at which the policy is due.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.policy.as_ref().and_then(|(clients, _)| clients.next_wake())
    }

    /// Replaces the policy by a new one of the same kind.
    pub fn renew(&mut self, now: Timestamp) {
        self.policy.iter_mut().for_each(|(clients, _)| clients.renew(now));
    }

    /// Counts of the calls so far, which use this pool.
    pub fn made<C, W>(&self, pool: &Pool<C, W>) -> MadeCalls {
        let client = self.policy.as_ref().map(|(clients, _)| clients.gauges()).unwrap_or_default();
        let Pool { written, refused: turned_back, .. } = *pool;
        MadeCalls {
            to: self.spec.to.clone(),
            counts: self.counts,
            written,
            turned_back,
            client: client.policy,
            contradictions: client.contradictions,
        }
    }

    fn tell_end(&mut self, pass: Option<Pass>, outcome: Outcome, note: Option<Note>, now: Timestamp) {
        if let (Some(pass), Some((clients, _))) = (pass, &mut self.policy) {
            clients.ended(pass, outcome, note, now);
        }
    }
}

/// A policy with the only sender that asks it.
fn with_member<H>(client: &ClientSpec, seed: u64) -> Result<(Clients<H>, Member), Vec<Problem>> {
    let mut clients = clients(client, seed)?;
    let member = clients.join(0);
    Ok((clients, member))
}

#[cfg(test)]
mod tests {
    use controllers::{Kind, RetryHint};
    use workloads::plan::{ClientPolicy, ClientScope};

    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1);

    fn machine(client: Option<ClientPolicy>) -> CallMachine<u32> {
        let spec = CallSpec { attempts: 2, timeout: Duration::from_secs(5), client, ..CallSpec::to("back") };
        let objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
        CallMachine::new(&spec, &ClassRule::None, objective, 1).unwrap()
    }

    /// Refuses more than one call in flight.
    fn one_at_a_time() -> Option<ClientPolicy> {
        let settings = [("max".to_owned(), 1_u32.into())].into();
        Some(ClientPolicy { policy: "concurrency".to_owned(), settings, scope: ClientScope::All })
    }

    fn begin(machine: &CallMachine<u32>) -> Call {
        let tags = Tags { kind: Kind(3), attempt: 7, ..Tags::default() };
        machine.begin(&CallContext { tags, key: Some(42), note: None }, 0, 0, NOW)
    }

    fn refused(retry: bool) -> CallReply {
        AttemptEnd::Refused { retry }.into()
    }

    fn visits(times: u32, probability: f64) -> Visits {
        Visits { times, probability }
    }

    #[test]
    fn calls_are_made_with_their_probability_and_the_same_for_the_same_key() {
        let made = |key| visits(2, 0.3).of_request(key, 0).count();
        let all: usize = (0..10_000).map(made).sum();
        // 20 000 draws of 0.3: four standard errors are 259.
        assert!(all.abs_diff(6000) < 260, "{all}");
        assert_eq!((0..100).map(made).collect::<Vec<_>>(), (0..100).map(made).collect::<Vec<_>>());
        assert_eq!(visits(3, 0.0).of_request(1, 0).count() + visits(3, 1.0).of_request(1, 0).count(), 3);
        let nothing = RequestCalls::new([visits(3, 0.0)], 1, false);
        assert_eq!(nothing.result(), Some(CallsResult::NONE), "a request without calls has its result at once");
    }

    #[test]
    fn calls_begin_one_after_the_other_or_all_at_once_and_none_after_a_failure() {
        let mut calls = RequestCalls::new([visits(2, 1.0), visits(1, 1.0)], 7, false);
        assert_eq!((calls.begin_next(), calls.begin_next()), (Some((0, 0)), None));
        calls.call_ended(CallsEnded::Answered);
        assert_eq!((calls.begin_next(), calls.result()), (Some((0, 1)), None));
        calls.replied(Some(Note(5)));
        calls.call_ended(CallsEnded::Failed);
        assert_eq!(
            (calls.begin_next(), calls.result()),
            (None, Some(CallsResult { ended: CallsEnded::Failed, note: Some(Note(5)) }))
        );
        let mut calls = RequestCalls::new([visits(2, 1.0), visits(1, 1.0)], 7, true);
        assert_eq!([(); 4].map(|()| calls.begin_next()), [Some((0, 0)), Some((0, 1)), Some((1, 0)), None]);
    }

    #[test]
    fn a_refused_attempt_is_followed_by_another_one_of_the_same_cost_unless_each_draws_anew() {
        let mut machine = machine(None);
        let [same, anew] = [false, true].map(|redraw| {
            machine.spec.redraw = redraw;
            let mut call = begin(&machine);
            let first = call.attempt_key();
            call.again(false);
            call.attempt_key() == first
        });
        assert!(same && !anew);
        let mut call = begin(&machine);
        assert_eq!((call.tags.kind, call.tags.attempt, call.deadline), (Kind(3), 0, Timestamp::from_secs(6)));
        assert_eq!(machine.attempt(&mut call, NOW, || unreachable!("nobody holds it")), CallStep::Send);
        assert_eq!(machine.replied(&mut call, refused(true), NOW), CallStep::Attempt);
        assert_eq!(machine.attempt(&mut call, NOW, || 1), CallStep::Send);
        let over = CallStep::Over(CallsEnded::Refused(RetryHint::Unsaid));
        assert_eq!(machine.replied(&mut call, refused(true), NOW), over);
        assert!(machine.counts.balances() && machine.counts.retries == 1, "{:?}", machine.counts);
    }

    #[test]
    fn a_call_that_nobody_wants_any_more_gives_its_pass_back() {
        let mut machine = machine(one_at_a_time());
        let mut gone = begin(&machine);
        assert_eq!(machine.attempt(&mut gone, NOW, || 1), CallStep::Send);
        machine.abandon(&mut gone, NOW);
        machine.abandon(&mut gone, NOW); // a second time changes nothing
        let mut next = begin(&machine);
        assert_eq!(machine.attempt(&mut next, NOW, || 2), CallStep::Send, "none is in flight any more");
        machine.attempt_ended(&mut next, AttemptEnd::Answered.into(), NOW);
        machine.abandon(&mut next, NOW); // it has ended
        let counts = machine.counts;
        assert!(counts.balances() && (counts.answered, counts.failed, counts.open) == (1, 1, 0), "{counts:?}");
    }

    #[test]
    fn a_pass_of_the_policy_ends_with_the_attempt_however_that_ends() {
        let mut machine = machine(one_at_a_time());
        let (mut first, mut second) = (begin(&machine), begin(&machine));
        assert_eq!(machine.attempt(&mut first, NOW, || 1), CallStep::Send);
        let given_up = CallStep::Over(CallsEnded::Refused(RetryHint::Unsaid));
        assert_eq!(machine.attempt(&mut second, NOW, || 2), given_up, "one is in flight");
        let deadline = first.deadline;
        assert_eq!(machine.timed_out(&mut first, deadline), CallStep::Over(CallsEnded::Failed));
        let mut third = begin(&machine);
        assert_eq!(machine.attempt(&mut third, NOW, || 3), CallStep::Send, "none is in flight any more");
        let answered = CallStep::Over(CallsEnded::Answered);
        assert_eq!(machine.replied(&mut third, AttemptEnd::Answered.into(), NOW), answered);
        assert!(machine.decided(NOW).is_none());
        let counts = machine.counts;
        assert!(
            counts.balances() && (counts.answered, counts.failed, counts.refused_locally) == (1, 1, 1),
            "{counts:?}"
        );
    }
}
