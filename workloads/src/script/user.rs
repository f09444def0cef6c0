//! The machine of one user of a test plan.

use std::{sync::Arc, time::Duration};

use controllers::{Class, Random as _, Timestamp};

use super::{
    ScriptCrowd,
    extract::{Found, Searched},
    program::{Instruction, Prepared},
    text::Values,
    token::{TokenHabit, forged, query_value, with_query_value},
};
use crate::{
    behaviour::{AttemptFailure, FirstLook, Reaction, RequestAttempts, cookies},
    expected::Objection,
    persona::{Answer, Call, Draws, Ending, Move, Pause, Persona, Purpose, Reply, Stay, Turn},
    plan::TokenPlace,
};

/// A user of a test plan. It keeps the values that it has extracted and its cookies, and no page.
#[derive(Debug)]
pub struct ScriptUser {
    shared: ScriptCrowd,
    attempts: RequestAttempts,
    profile: Profile,
    /// The place in the program after the step under way.
    next: usize,
    /// The step under way.
    asked: usize,
    /// Steps begun so far: the key of draws.
    step: u32,
    /// Values by their number.
    values: Box<[Option<Arc<str>>]>,
    /// As a `Cookie` header holds them.
    cookies: String,
    token: TokenHabit,
    after_pause: AfterPause,
    objection: Option<Objection>,
}

/// What stays the same of a user for the whole run.
#[derive(Debug, Clone, Copy)]
struct Profile {
    slot: u32,
    class: Class,
    stay: Stay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterPause {
    NewSession,
    NextStep,
    Resume,
}

impl ScriptUser {
    /// A user that has not arrived yet.
    #[must_use]
    pub fn new(shared: ScriptCrowd, slot: u32, class: Class, stay: Stay) -> Self {
        let lines = shared.shared.marks[usize::from(class.0)].clone();
        Self {
            attempts: RequestAttempts::new(Call::get(class, "/".into(), lines)),
            profile: Profile { slot, class, stay },
            next: 0,
            asked: 0,
            step: 0,
            values: vec![None; shared.shared.program.values].into(),
            cookies: String::new(),
            token: TokenHabit::default(),
            after_pause: AfterPause::NewSession,
            objection: None,
            shared,
        }
    }

    /// Begins a session: without cookies and values, as another person.
    fn begin(&mut self, now: Timestamp, draws: &mut Draws) -> Move {
        self.next = 0;
        self.values.fill(None);
        self.cookies.clear();
        draws.at_step(u64::from(self.step) + 1);
        self.token = TokenHabit::drawn(&self.shared.shared.users.conduct, draws);
        self.go_on(now, draws)
    }

    /// Walks to the next step, and requests it.
    fn go_on(&mut self, now: Timestamp, draws: &mut Draws) -> Move {
        let shared = self.shared.shared.clone();
        let began = self.next == 0;
        draws.at_step(u64::from(self.step) + 1);
        loop {
            match shared.program.code.get(self.next) {
                Some(Instruction::Ask(step)) => {
                    self.next += 1;
                    return self.request(*step, began, now, draws);
                }
                Some(Instruction::Choose(branches)) => {
                    let whole = branches.last().map_or(0.0, |(upto, _)| *upto);
                    // Several choices in a row are at different places.
                    let nth = u32::try_from(self.next).unwrap_or(u32::MAX);
                    let drawn = draws.nth(Purpose::Transition, nth).uniform() * whole;
                    let chosen = branches.iter().find(|(upto, _)| drawn < *upto).or(branches.last());
                    self.next = chosen.map_or(self.next + 1, |(_, place)| *place);
                }
                Some(Instruction::Jump(place)) => self.next = *place,
                None if self.profile.stay == Stay::Forever => return self.begin(now, draws),
                None => return Move::Leave,
            }
        }
    }

    /// True if a step may follow in this session; whether one does is drawn after the pause.
    fn has_more(&self) -> bool {
        let code = &self.shared.shared.program.code;
        let mut at = self.next;
        while let Some(Instruction::Jump(place)) = code.get(at) {
            at = *place;
        }
        at < code.len()
    }

    fn request(&mut self, step: usize, new_session: bool, now: Timestamp, draws: &mut Draws) -> Move {
        let shared = self.shared.shared.clone();
        let prepared = &shared.program.steps[step];
        (self.asked, self.step) = (step, self.step.saturating_add(1));
        let path = prepared.url.fill_path(&self.known());
        let call = Call {
            kind: prepared.kind,
            class: self.profile.class,
            method: prepared.method,
            path: self.path_with_token(path, draws),
            headers: self.lines(prepared, draws),
            body: prepared.body.as_ref().map(|body| body.fill(&self.known())),
            connection: shared.users.connections.connection(new_session, draws),
            ..self.attempts.call().clone()
        };
        self.attempts.begin(call, now, &shared.users.behaviour, draws)
    }

    fn known(&self) -> Values<'_> {
        let (accounts, number) = (&self.shared.shared.users.accounts, self.profile.slot);
        let account = accounts.get(number as usize % accounts.len().max(1));
        Values { extracted: &self.values, account, number }
    }

    /// The header lines of a step: cookies, marks of the class, and its own.
    fn lines(&self, step: &Prepared, draws: &Draws) -> Arc<str> {
        let marks = &self.shared.shared.marks[usize::from(self.profile.class.0)];
        if self.cookies.is_empty() && step.lines.is_empty() {
            return marks.clone();
        }
        let mut lines = match self.shown_cookie(draws) {
            Some(cookies) => cookies::headers(marks, &cookies),
            None => cookies::headers(marks, &self.cookies),
        };
        lines.push_str(&step.lines.fill(&self.known()));
        lines.into()
    }

    /// The cookies with another token than the user's own, if it shows one.
    fn shown_cookie(&self, draws: &Draws) -> Option<String> {
        let Some(TokenPlace::Cookie(name)) = &self.shared.shared.users.conduct.token else { return None };
        let shown = self.shown_token(cookies::value(&self.cookies, name)?, draws)?;
        Some(cookies::with_value(&self.cookies, name, &shown))
    }

    /// The path with the token that the user shows.
    fn path_with_token(&self, path: Arc<str>, draws: &Draws) -> Arc<str> {
        let Some(TokenPlace::Query(name)) = &self.shared.shared.users.conduct.token else { return path };
        let Some(own) = query_value(&path, name) else { return path };
        let shown = self.shown_token(own, draws).and_then(|shown| with_query_value(&path, name, &shown));
        shown.map_or(path, Arc::from)
    }

    /// The token that the user shows in place of its own.
    fn shown_token(&self, own: &str, draws: &Draws) -> Option<Arc<str>> {
        let board = &self.shared.shared.board;
        match self.token {
            TokenHabit::Own => {
                board.note(self.profile.slot, own);
                None
            }
            TokenHabit::OfGroup => board.other(self.profile.slot),
            TokenHabit::Forged => Some(forged(own, draws.of(Purpose::Token)).into()),
        }
    }

    fn answered(&mut self, answer: &Answer<'_>, now: Timestamp, draws: &mut Draws) -> Turn {
        let shared = self.shared.shared.clone();
        let step = &shared.program.steps[self.asked];
        if let Some(cookies) = cookies::updated(&self.cookies, answer) {
            self.cookies = cookies;
            self.attempts.set_headers(self.lines(step, draws));
        }
        self.objection = None;
        let look = match step.expected.takes(answer.status) {
            true => FirstLook::Page,
            false => self.attempts.answered_in_queue(answer, &shared.home, &shared.users.behaviour),
        };
        match look {
            FirstLook::Hop(wait) => self.sent_on(wait, now, draws),
            FirstLook::Failure(ending, failure) => self.after_failure(ending, failure, now, draws),
            FirstLook::Page => match self.judge(step, answer) {
                Ending::Served => Turn { ending: Ending::Served, then: self.served(step, now, draws) },
                ending => self.after_failure(ending, AttemptFailure::Failed, now, draws),
            },
        }
    }

    /// Checks an answer, and takes its values.
    fn judge(&mut self, step: &Prepared, answer: &Answer<'_>) -> Ending {
        let shared = self.shared.shared.clone();
        let unseen = self.shared.in_virtual_time && answer.body.is_empty();
        self.objection = step.expected.objection(answer, 0, unseen);
        if self.objection.is_some() || !step.expected.allows(answer.status, matches!(answer.status, 200..=399)) {
            return Ending::Failed;
        }
        let page = Searched {
            answer,
            path: &self.attempts.call().path,
            cookies: &self.cookies,
            home: &shared.home,
            in_virtual_time: self.shared.in_virtual_time,
        };
        let mut found = Vec::with_capacity(step.extract.len());
        for extractor in &step.extract {
            match extractor.find(page) {
                Found::Value(value) => found.push((extractor.value, value)),
                Found::Nothing => return Ending::Failed,
                Found::Elsewhere => return Ending::Elsewhere,
            }
        }
        for (number, value) in found {
            self.values[number] = Some(value);
        }
        Ending::Served
    }

    /// Goes where an answer sends the user, after this wait: as told, early, or never.
    fn sent_on(&mut self, wait: Duration, now: Timestamp, draws: &mut Draws) -> Turn {
        let path = self.attempts.call().path.clone();
        self.attempts.set_path(self.path_with_token(path, draws));
        if wait.is_zero() {
            return Turn { ending: Ending::Continued, then: self.attempts.resume() };
        }
        let conduct = &self.shared.shared.users.conduct;
        let mut random = draws.nth(Purpose::Return, self.attempts.call().hop.into());
        let drawn = random.uniform();
        if drawn < conduct.no_show {
            let then = match Reaction::of_leaver(self.profile.stay) {
                Reaction::NewSession(pause) => self.pause(pause, Pause::BackingOff, AfterPause::NewSession, now, draws),
                Reaction::Again(_) | Reaction::Leave => Move::Leave,
            };
            return Turn { ending: Ending::Abandoned, then };
        }
        let wait = if drawn < conduct.no_show + conduct.early { wait.mul_f64(random.uniform()) } else { wait };
        Turn { ending: Ending::Continued, then: self.pause(wait, Pause::Waiting, AfterPause::Resume, now, draws) }
    }

    fn served(&mut self, step: &Prepared, now: Timestamp, draws: &mut Draws) -> Move {
        let then = match (self.has_more(), self.profile.stay) {
            (_, Stay::OneRequest) | (false, Stay::OneSession) => return Move::Leave,
            (true, _) => AfterPause::NextStep,
            (false, Stay::Forever) => AfterPause::NewSession,
        };
        let think = draws.pause(&step.think, Purpose::Think);
        self.pause(think, Pause::Thinking, then, now, draws)
    }

    /// Makes the next move after a pause.
    fn pause(&mut self, pause: Duration, why: Pause, then: AfterPause, now: Timestamp, draws: &mut Draws) -> Move {
        self.after_pause = then;
        if pause.is_zero() { self.woke(now, draws) } else { Move::Think(pause, why) }
    }

    fn woke(&mut self, now: Timestamp, draws: &mut Draws) -> Move {
        match self.after_pause {
            AfterPause::NewSession => self.begin(now, draws),
            AfterPause::NextStep => self.go_on(now, draws),
            AfterPause::Resume => self.attempts.resume(),
        }
    }

    fn after_failure(&mut self, ending: Ending, failure: AttemptFailure, now: Timestamp, draws: &mut Draws) -> Turn {
        let behaviour = &self.shared.shared.users.behaviour;
        let then = match self.attempts.after_failure(failure, self.profile.stay, behaviour, draws) {
            Reaction::Again(wait) => self.pause(wait, Pause::BackingOff, AfterPause::Resume, now, draws),
            Reaction::NewSession(_) if self.profile.stay == Stay::OneRequest => Move::Leave,
            Reaction::NewSession(wait) => self.pause(wait, Pause::BackingOff, AfterPause::NewSession, now, draws),
            Reaction::Leave => Move::Leave,
        };
        Turn { ending, then }
    }
}

impl Persona for ScriptUser {
    fn objection(&self) -> Option<&str> {
        self.shared.shared.program.steps[self.asked].expected.said(self.objection?)
    }

    fn next(&mut self, last: Reply<'_>, now: Timestamp, draws: &mut Draws) -> Turn {
        draws.at_step(u64::from(self.step));
        let failure = match last {
            Reply::Answer(answer) => return self.answered(&answer, now, draws),
            Reply::Start | Reply::Woke => return Turn { ending: Ending::Unasked, then: self.woke(now, draws) },
            Reply::RefusedLocally(hint) => AttemptFailure::Rejected(hint),
            Reply::GaveUp => AttemptFailure::GaveUp,
            Reply::Connected | Reply::ConnectFailed | Reply::TimedOut | Reply::Broken => AttemptFailure::Failed,
        };
        self.after_failure(Ending::Unasked, failure, now, draws)
    }
}
