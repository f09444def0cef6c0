//! The machine of one web-mail user.

use std::{sync::Arc, time::Duration};

use controllers::{Class, Timestamp};

use super::{
    MailCrowd,
    ask::{Ask, Choice, ask, offers},
    course::{ScriptPosition, ScriptStep},
    judge::{Judgement, judge},
    known_mailbox::KnownMailbox,
    model::State,
    transitions::PageMatch,
};
use crate::{
    behaviour::{AttemptFailure, FirstLook, Reaction, RequestAttempts, cookies},
    page::{PageKind, ScannedPage},
    persona::{Answer, Call, Draws, Ending, Method, Move, Pause, Persona, Reply, Stay, Turn},
    plan::PreviousPage,
    replay::Script,
};

/// A web-mail user. It takes what it needs of a page when the page arrives, and keeps a few shared texts and no page.
#[derive(Debug)]
pub struct MailUser {
    shared: MailCrowd,
    attempts: RequestAttempts,
    step: WalkStep,
    /// The move after the pause.
    next: Next,
    /// The page before a delete or refile, and whether that page shows the mail that is then gone.
    pub(super) before: Option<Before>,
    /// The path of the list last seen.
    list: Option<Arc<str>>,
    /// The next recorded step; `None`: the next state is drawn.
    script: Option<Box<ScriptPosition>>,
    /// The intended start of the request to be sent, if that is not the moment it is due.
    wanted_at: Option<Timestamp>,
    profile: Profile,
}

/// The step of its walk that the user is at, with the request under way.
#[derive(Debug)]
struct WalkStep {
    /// Pages served so far: the key of the step's draws.
    number: u32,
    /// The state of the request under way.
    asked: State,
    /// The page from which it was requested; `None`: it began the session.
    came_from: Option<State>,
    /// The requested mail may be gone, and the user knows.
    may_be_gone: bool,
}

/// What stays the same of a user for the whole run.
#[derive(Debug)]
struct Profile {
    slot: u32,
    class: Class,
    stay: Stay,
}

#[derive(Debug, Clone)]
pub(super) struct Before {
    pub(super) state: State,
    path: Arc<str>,
}

#[derive(Debug)]
enum Next {
    Login,
    Send(Ask),
    Resume,
}

impl Next {
    fn list(path: Arc<str>) -> Self {
        Self::Send(Ask { state: State::ListMessages, path, body: None })
    }

    /// The next state; `None`: the request under way goes on.
    fn state(&self) -> Option<State> {
        match self {
            Self::Login => Some(State::Login),
            Self::Send(ask) => Some(ask.state),
            Self::Resume => None,
        }
    }
}

impl MailUser {
    /// A user that has not arrived yet.
    #[must_use]
    pub fn new(shared: MailCrowd, slot: u32, class: Class, stay: Stay) -> Self {
        let call = Call::get(class, shared.0.login_path.clone(), shared.0.nothing.clone());
        let call = Call { kind: State::Login.kind(), method: Method::Post, ..call };
        Self {
            shared,
            attempts: RequestAttempts::new(call),
            step: WalkStep { number: 0, asked: State::Login, came_from: None, may_be_gone: false },
            next: Next::Login,
            before: None,
            list: None,
            script: None,
            wanted_at: None,
            profile: Profile { slot, class, stay },
        }
    }

    /// Makes the user follow this script.
    #[must_use]
    pub fn with_script(self, script: Script) -> Self {
        let steps = self.shared.0.steps.clone();
        Self { script: Some(Box::new(ScriptPosition::new(script, steps))), ..self }
    }

    /// Makes the next move.
    fn go_on(&mut self, now: Timestamp, draws: &Draws) -> Move {
        match std::mem::replace(&mut self.next, Next::Resume) {
            Next::Login => self.login(now, draws),
            Next::Send(ask) => self.send(ask, now, draws),
            Next::Resume => self.attempts.resume(),
        }
    }

    /// Makes the next move after a pause.
    fn pause(&mut self, pause: Duration, why: Pause, next: Next, now: Timestamp, draws: &Draws) -> Move {
        self.next = next;
        if pause.is_zero() { self.go_on(now, draws) } else { Move::Think(pause, why) }
    }

    /// Begins a session: without cookies, and without memory of the last one.
    fn login(&mut self, now: Timestamp, draws: &Draws) -> Move {
        self.before = None;
        self.list = None;
        self.step.may_be_gone = false;
        let shared = self.shared.0.clone();
        let headers = match self.marks() {
            "" => shared.nothing.clone(),
            marks => cookies::headers(marks, "").into(),
        };
        self.attempts.set_headers(headers);
        let account = self.profile.slot as usize % shared.logins.len();
        let body = Some(shared.logins[account].clone());
        self.send(Ask { state: State::Login, path: shared.login_path.clone(), body }, now, draws)
    }

    /// The header lines of its class.
    fn marks(&self) -> &str {
        &self.shared.0.marks[usize::from(self.profile.class.0)]
    }

    fn send(&mut self, ask: Ask, now: Timestamp, draws: &Draws) -> Move {
        let users = &self.shared.0.users;
        self.step.came_from = Some(self.step.asked).filter(|_| ask.state != State::Login);
        self.step.asked = ask.state;
        let call = Call {
            kind: ask.state.kind(),
            class: self.profile.class,
            method: if ask.body.is_some() { Method::Post } else { Method::Get },
            path: ask.path,
            body: ask.body,
            connection: users.connections.connection(ask.state == State::Login, draws),
            ..self.attempts.call().clone()
        };
        let wanted_at = self.wanted_at.take().unwrap_or(now);
        self.attempts.begin(call, wanted_at, &users.behaviour, draws)
    }

    fn answered(&mut self, answer: &Answer<'_>, now: Timestamp, draws: &mut Draws) -> Turn {
        if let Some(changed) = cookies::updated(cookies::cookies(&self.attempts.call().headers), answer) {
            self.attempts.set_headers(cookies::headers(self.marks(), &changed).into());
        }
        match self.attempts.answered(answer, &self.shared.0.home, &self.shared.0.users.behaviour) {
            FirstLook::Hop(wait) => {
                let then = self.pause(wait, Pause::Waiting, Next::Resume, now, draws);
                return Turn { ending: Ending::Continued, then };
            }
            FirstLook::Failure(ending, failure) => return self.after_failure(ending, failure, now, draws),
            FirstLook::Page => {}
        }
        let page = ScannedPage::read(answer.body);
        match judge(self.step.asked, &self.attempts.call().path, self.step.may_be_gone, answer, &page) {
            Judgement::Served => Turn { ending: Ending::Served, then: self.served(&page, now, draws) },
            Judgement::SignedOut => Turn { ending: Ending::Failed, then: self.sign_in_again(now, draws) },
            Judgement::Wrong => self.after_failure(Ending::Failed, AttemptFailure::Failed, now, draws),
        }
    }

    /// Chooses the next move after the requested page has arrived.
    fn served(&mut self, page: &ScannedPage<'_>, now: Timestamp, draws: &mut Draws) -> Move {
        if self.profile.stay == Stay::OneRequest {
            return Move::Leave;
        }
        self.step.number += 1;
        draws.at_step(u64::from(self.step.number));
        if self.step.asked == State::ListMessages {
            self.list = Some(self.attempts.call().path.clone());
        }
        if let Some(script) = &mut self.script {
            script.see(self.step.asked, &self.attempts.call().path, page);
            return self.follow(page, now, draws);
        }
        let next = self.choose(page, now, draws);
        let think = self.shared.0.walk.think(self.step.asked, next.state(), draws);
        if self.profile.stay == Stay::OneSession && matches!(next, Next::Login) {
            return Move::Leave;
        }
        self.pause(think, Pause::Thinking, next, now, draws)
    }

    /// Follows the script.
    fn follow(&mut self, page: &ScannedPage<'_>, now: Timestamp, draws: &Draws) -> Move {
        let Some(mut script) = self.script.take() else { return Move::Leave };
        let ahead = self.ahead(&mut script, page, now);
        self.script = Some(script);
        match ahead {
            Some((next, due)) => {
                self.step.may_be_gone = self.has_changed() && next.state() == Some(State::ShowMessage);
                self.at(due, next, now, draws)
            }
            None => Move::Leave,
        }
    }

    /// The next step of the script that can be requested, or a page on the way to it; and when it is due.
    fn ahead(&self, script: &mut ScriptPosition, page: &ScannedPage<'_>, now: Timestamp) -> Option<(Next, Timestamp)> {
        while let Some(ahead) = script.ahead(now) {
            let next = self.recorded(&ahead, &script.mailbox, page);
            if next.is_none()
                && script.may_detour()
                && let Some(detour) = self.towards(&ahead, &script.mailbox, page)
            {
                return Some((detour, ahead.due));
            }
            if let Some(next) = next {
                script.take();
                return Some((next, ahead.due));
            }
            script.pass_over();
        }
        None
    }

    /// The request of a step of the script, if this page offers it.
    fn recorded(&self, ahead: &ScriptStep, mailbox: &KnownMailbox, page: &ScannedPage<'_>) -> Option<Next> {
        let choice = Choice::Given(ahead.object.message);
        match (ahead.state, ahead.object.folder) {
            (State::Login, _) => Some(Next::Login),
            (State::ListMessages, Some(folder)) => mailbox.list(folder).cloned().map(Next::list),
            (State::ListMessages, None) => {
                let here = ask(page, ahead.state, choice).map(Next::Send);
                here.or_else(|| self.list.clone().map(Next::list))
            }
            // Back to the page before, as web-mail users do, even if its message may be gone: see `choose`.
            (State::ShowMessage, _) if self.has_changed() && mailbox.shown(ahead.object).is_some() => {
                let path = mailbox.shown(ahead.object)?.clone();
                Some(Next::Send(Ask { state: State::ShowMessage, path, body: None }))
            }
            // Rows of another folder are other messages.
            (State::ShowMessage | State::Delete | State::Refile | State::Search, Some(folder))
                if !mailbox.is_in(folder) =>
            {
                None
            }
            (state, _) => ask(page, state, choice).map(Next::Send),
        }
    }

    /// True if the current page says that mail was deleted or refiled.
    fn has_changed(&self) -> bool {
        matches!(self.step.asked, State::Delete | State::Refile)
    }

    /// A page where the step may be found: the list of its folder, or the folders as long as they are not known.
    fn towards(&self, ahead: &ScriptStep, mailbox: &KnownMailbox, page: &ScannedPage<'_>) -> Option<Next> {
        let folders =
            || page.folders().map(|path| Next::Send(Ask { state: State::ListFolders, path: path.into(), body: None }));
        let is_there = self.step.asked == State::ListMessages;
        match ahead.object.folder {
            // The step's own list does not offer it, so no other page will.
            Some(folder) if is_there && mailbox.is_in(folder) => None,
            Some(folder) => match mailbox.list(folder) {
                Some(list) => Some(Next::list(list.clone())),
                None => Some(folders().unwrap_or_else(|| self.list_instead(page))),
            },
            None if is_there => None,
            None => {
                let folders = folders().filter(|_| page.list().is_none() && self.list.is_none());
                Some(folders.unwrap_or_else(|| self.list_instead(page)))
            }
        }
    }

    /// Makes the move when it is due, or at once if that time has passed: its request counts from then all the same.
    fn at(&mut self, due: Timestamp, next: Next, now: Timestamp, draws: &Draws) -> Move {
        self.wanted_at = Some(due);
        self.next = next;
        if due <= now { self.go_on(now, draws) } else { Move::Until(due, Pause::Thinking) }
    }

    fn choose(&mut self, page: &ScannedPage<'_>, now: Timestamp, draws: &Draws) -> Next {
        let is_gone = std::mem::take(&mut self.step.may_be_gone) && page.kind() == PageKind::Error;
        let from = self.step.asked;
        let Some(to) = self.shared.0.walk.draw(self.step.came_from, from, draws) else {
            return self.back();
        };
        let shared = &self.shared.0;
        let after = shared.walk.matters(self.step.came_from, from);
        let whole = shared.walk.row(after, from).all(|state| offers(page, state));
        let met = if whole { PageMatch::OnWholePage } else { PageMatch::Elsewhere };
        if to == State::Login {
            shared.counts.count(now, after, from, to, met);
            return Next::Login;
        }
        if let Some(ask) = ask(page, to, Choice::Drawn(draws)) {
            shared.counts.count(now, after, from, to, met);
            if matches!(to, State::Delete | State::Refile) {
                self.before = Some(Before { state: from, path: self.attempts.call().path.clone() });
            }
            return Next::Send(ask);
        }
        shared.counts.count(now, after, from, to, if is_gone { PageMatch::Gone } else { PageMatch::NotOffered });
        self.list_instead(page)
    }

    /// Back to the page before a delete or refile.
    fn back(&mut self) -> Next {
        let Some(before) = self.before.take() else {
            return Next::Login;
        };
        let Before { state, path } = match (self.shared.0.users.previous_page, &self.list) {
            (PreviousPage::List, Some(list)) if before.state == State::ShowMessage => {
                Before { state: State::ListMessages, path: list.clone() }
            }
            _ => before,
        };
        self.step.may_be_gone = state == State::ShowMessage;
        Next::Send(Ask { state, path, body: None })
    }

    /// The move where the page does not offer the drawn state: to its list, else to the list last seen; a new session
    /// if there is neither.
    fn list_instead(&self, page: &ScannedPage<'_>) -> Next {
        let list = page.list().map(Arc::from).or_else(|| self.list.clone());
        list.map_or(Next::Login, Next::list)
    }

    fn sign_in_again(&mut self, now: Timestamp, draws: &Draws) -> Move {
        if self.profile.stay == Stay::OneRequest {
            return Move::Leave;
        }
        let think = match self.script {
            // The model has no such transition, so the page's own pause applies.
            None => self.shared.0.walk.think(self.step.asked, None, draws),
            Some(_) => Duration::ZERO,
        };
        self.pause(think, Pause::Thinking, Next::Login, now, draws)
    }

    fn after_failure(&mut self, ending: Ending, failure: AttemptFailure, now: Timestamp, draws: &Draws) -> Turn {
        let then = match self.attempts.after_failure(failure, self.profile.stay, &self.shared.0.users.behaviour, draws)
        {
            Reaction::Again(wait) => self.pause(wait, Pause::BackingOff, Next::Resume, now, draws),
            Reaction::NewSession(_) if self.profile.stay == Stay::OneRequest => Move::Leave,
            Reaction::NewSession(wait) => self.pause(wait, Pause::BackingOff, Next::Login, now, draws),
            Reaction::Leave => Move::Leave,
        };
        Turn { ending, then }
    }
}

impl Persona for MailUser {
    fn next(&mut self, last: Reply<'_>, now: Timestamp, draws: &mut Draws) -> Turn {
        draws.at_step(u64::from(self.step.number));
        let failure = match last {
            Reply::Answer(answer) => return self.answered(&answer, now, draws),
            Reply::Start | Reply::Woke => {
                if let (Reply::Start, Some(script)) = (last, &mut self.script) {
                    script.begin(now);
                }
                return Turn { ending: Ending::Unasked, then: self.go_on(now, draws) };
            }
            Reply::RefusedLocally(hint) => AttemptFailure::Rejected(hint),
            Reply::GaveUp => AttemptFailure::GaveUp,
            Reply::Connected | Reply::ConnectFailed | Reply::TimedOut | Reply::Broken => AttemptFailure::Failed,
        };
        self.after_failure(Ending::Unasked, failure, now, draws)
    }

    fn begins(&mut self) {
        if let Some(script) = &mut self.script {
            script.asked();
        }
    }
}
