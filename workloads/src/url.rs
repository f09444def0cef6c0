//! Users that request one URL again and again.

mod choice;
mod template;

use std::{sync::Arc, time::Duration};

use controllers::{Class, Kind, Timestamp};
use measure::{Replayed, Shard};

use crate::{
    behaviour::{AttemptFailure, FirstLook, Home, Reaction, RequestAttempts},
    crowd_error::CrowdError,
    expected::{CheckProblem, Expected, Objection},
    persona::{Answer, Call, Draws, Ending, Move, Pause, Persona, Purpose, Reply, Stay, Turn},
    plan::{Marks, UrlUsers},
    replay::{Course, ReplayStep, Script, Steps},
};
use choice::Choice;
pub use choice::MOST_REQUESTS;
pub use template::PLACES;
use template::{StepUser, Template};

/// The state that all users of one URL share.
#[derive(Debug, Clone)]
pub struct UrlCrowd(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    users: UrlUsers,
    home: Home,
    choice: Choice,
    expected: Expected,
    /// The path template for recorded steps.
    template: Template,
    steps: Steps,
    /// An empty text.
    nothing: Arc<str>,
}

impl UrlCrowd {
    /// Users of this URL, on the service at `home`. `shard`: the part of the plan that they are.
    ///
    /// # Errors
    /// If users do not know a method, or a path, a header line or a weight is none.
    pub fn new(users: &UrlUsers, marks: &Marks, home: Home, shard: Option<Shard>) -> Result<Self, CrowdError> {
        if let Some(problem) = users.think.problem() {
            return Err(CrowdError::unsendable("the think time", &problem));
        }
        let (expected, problems) = Expected::of(&users.check);
        if let Some(CheckProblem { problem, remedy, .. }) = problems.into_iter().next() {
            return Err(CrowdError::unsendable("a request with this check", &format!("{problem}; {remedy}")));
        }
        Ok(Self(Arc::new(Shared {
            expected,
            choice: Choice::new(users, marks, shard)?,
            template: Template::of(&users.path),
            users: users.clone(),
            home,
            steps: Steps::default(),
            nothing: "".into(),
        })))
    }

    /// Names of the request types, in the order of their kinds.
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        self.0.choice.kinds.iter().map(String::as_str).collect()
    }

    /// The type of the first request of a user with these draws.
    pub(crate) fn first_kind(&self, mut draws: Draws) -> Kind {
        draws.at_step(1);
        self.0.choice.drawn(&draws).kind
    }

    /// Counts of recorded steps so far.
    #[must_use]
    pub fn replayed(&self) -> Replayed {
        self.0.steps.seen()
    }
}

/// A user of one URL. Each new request is a session of its own.
#[derive(Debug)]
pub struct UrlUser {
    shared: UrlCrowd,
    attempts: RequestAttempts,
    class: Class,
    stay: Stay,
    step: u64,
    /// The number of the current request in the run.
    number: u64,
    /// The move after the pause.
    after_pause: AfterPause,
    objection: Option<Objection>,
    recorded: Option<Box<Recorded>>,
}

/// The recorded requests of a user.
#[derive(Debug)]
struct Recorded {
    course: Course,
    user: StepUser,
    /// The current step, and since when its request is wanted.
    now: Option<(ReplayStep, Timestamp)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterPause {
    NextRequest,
    Resume,
}

impl UrlUser {
    /// A user that has not arrived yet.
    #[must_use]
    pub fn new(shared: UrlCrowd, class: Class, stay: Stay) -> Self {
        // Replaced by the first request.
        let call = Call::get(class, Arc::clone(&shared.0.nothing), Arc::clone(&shared.0.nothing));
        Self {
            shared,
            attempts: RequestAttempts::new(call),
            class,
            stay,
            step: 0,
            number: 0,
            after_pause: AfterPause::NextRequest,
            objection: None,
            recorded: None,
        }
    }

    /// Makes this user number `user` of a recording, with this script. Placeholders in the path are filled in for each
    /// step.
    #[must_use]
    pub fn with_script(self, script: Script, user: u32) -> Self {
        let user = StepUser { number: user, name: script.name.clone() };
        let course = Course::new(script, self.shared.0.steps.clone());
        Self { recorded: Some(Box::new(Recorded { course, user, now: None })), ..self }
    }

    /// Schedules the next step of the script, not before `floor`.
    fn follow(&mut self, floor: Timestamp, why: Pause, now: Timestamp, draws: &mut Draws) -> Move {
        let Some(recorded) = &mut self.recorded else { return Move::Leave };
        let Some(step) = recorded.course.ahead() else { return Move::Leave };
        let wanted_at = recorded.course.due(&step, now);
        recorded.course.take();
        recorded.now = Some((step, wanted_at));
        let due = wanted_at.max(floor);
        if due <= now {
            return self.request(now, draws);
        }
        self.after_pause = AfterPause::NextRequest;
        Move::Until(due, why)
    }

    fn request(&mut self, now: Timestamp, draws: &mut Draws) -> Move {
        self.step += 1;
        draws.at_step(self.step);
        let shared = &self.shared.0;
        let step = self.recorded.as_ref().and_then(|recorded| Some((&recorded.user, recorded.now.as_ref()?)));
        let choice = &shared.choice;
        let chosen = if step.is_none() { choice.drawn(draws) } else { choice.first() };
        self.number = choice.number();
        let mut call = chosen.call(self.class, self.number, draws);
        call.connection = shared.users.connections.connection(true, draws);
        let mut wanted_at = now;
        if let Some((user, (step, recorded))) = step {
            (call.kind, call.path, wanted_at) = (step.kind, shared.template.fill(user, step), *recorded);
        }
        self.attempts.begin(call, wanted_at, &shared.users.behaviour, draws)
    }

    /// Ends a request, whatever its result; the next one comes after this pause.
    fn over(&mut self, pause: Duration, why: Pause, now: Timestamp, draws: &mut Draws) -> Move {
        if self.recorded.is_some() {
            // The script sets the pauses after answers.
            let floor = if why == Pause::BackingOff { now + pause } else { now };
            return self.follow(floor, why, now, draws);
        }
        if self.stay != Stay::Forever {
            return Move::Leave;
        }
        if pause.is_zero() {
            return self.request(now, draws);
        }
        self.after_pause = AfterPause::NextRequest;
        Move::Think(pause, why)
    }

    fn resume(&mut self, pause: Duration, why: Pause) -> Move {
        if pause.is_zero() {
            return self.attempts.resume();
        }
        self.after_pause = AfterPause::Resume;
        Move::Think(pause, why)
    }

    fn answered(&mut self, answer: &Answer<'_>, now: Timestamp, draws: &mut Draws) -> Turn {
        let expected = &self.shared.0.expected;
        self.objection = None;
        let look = match expected.takes(answer.status) {
            true => FirstLook::Page,
            false => self.attempts.answered(answer, &self.shared.0.home, &self.shared.0.users.behaviour),
        };
        match look {
            FirstLook::Hop(wait) => Turn { ending: Ending::Continued, then: self.resume(wait, Pause::Waiting) },
            FirstLook::Failure(ending, failure) => self.after_failure(ending, failure, now, draws),
            FirstLook::Page => {
                self.objection = expected.objection(answer, self.number, false);
                let usual = matches!(answer.status, 200..=299 | 304);
                if self.objection.is_some() || !expected.allows(answer.status, usual) {
                    return self.after_failure(Ending::Failed, AttemptFailure::Failed, now, draws);
                }
                let think = draws.pause(&self.shared.0.users.think, Purpose::Think);
                Turn { ending: Ending::Served, then: self.over(think, Pause::Thinking, now, draws) }
            }
        }
    }

    fn after_failure(&mut self, ending: Ending, failure: AttemptFailure, now: Timestamp, draws: &mut Draws) -> Turn {
        let then = match self.attempts.after_failure(failure, self.stay, &self.shared.0.users.behaviour, draws) {
            Reaction::Again(wait) => self.resume(wait, Pause::BackingOff),
            Reaction::NewSession(wait) => self.over(wait, Pause::BackingOff, now, draws),
            Reaction::Leave => Move::Leave,
        };
        Turn { ending, then }
    }
}

impl Persona for UrlUser {
    fn next(&mut self, last: Reply<'_>, now: Timestamp, draws: &mut Draws) -> Turn {
        draws.at_step(self.step);
        let then = match last {
            Reply::Start => match &mut self.recorded {
                None => self.request(now, draws),
                Some(recorded) => {
                    recorded.course.begin(now);
                    self.follow(now, Pause::Thinking, now, draws)
                }
            },
            Reply::Woke if self.after_pause == AfterPause::Resume => self.attempts.resume(),
            Reply::Woke => self.request(now, draws),
            Reply::Answer(answer) => return self.answered(&answer, now, draws),
            Reply::RefusedLocally(hint) => {
                return self.after_failure(Ending::Unasked, AttemptFailure::Rejected(hint), now, draws);
            }
            Reply::GaveUp => return self.after_failure(Ending::Unasked, AttemptFailure::GaveUp, now, draws),
            Reply::Connected | Reply::ConnectFailed | Reply::TimedOut | Reply::Broken => {
                return self.after_failure(Ending::Unasked, AttemptFailure::Failed, now, draws);
            }
        };
        Turn { ending: Ending::Unasked, then }
    }

    fn objection(&self) -> Option<&str> {
        self.shared.0.expected.said(self.objection?)
    }

    fn begins(&mut self) {
        if let Some(recorded) = &mut self.recorded {
            recorded.course.asked();
        }
    }

    fn keeps_times(&self) -> bool {
        self.recorded.is_some()
    }
}

#[cfg(test)]
mod tests;
