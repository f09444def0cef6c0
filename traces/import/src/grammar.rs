//! Maps commands to actions, by the meaning of commands and never by time alone: traces may be compressed in time.
//!
//! | commands | action |
//! |---|---|
//! | LOGIN, AUTHENTICATE, a login line | login |
//! | LIST, LSUB, STATUS …, each question once | list folders |
//! | SELECT, then FETCH of headers, SORT, THREAD; a FETCH of headers without SELECT is the next page | list messages |
//! | FETCH of one message's body or of its parts, marking it as seen | show message |
//! | STORE +Deleted, EXPUNGE; COPY or MOVE to the trash with its STORE and EXPUNGE | delete |
//! | any other COPY or MOVE, with its STORE and EXPUNGE | refile |
//! | SEARCH with something to look for, then FETCH of headers | search; the headers of one message, and then its body, may be a show |
//! | CREATE, DELETE | create folder, delete folder |
//! | NOOP, IDLE, CAPABILITY …, flags alone, APPEND | none: dropped |
//!
//! A SELECT alone is a list; directly before a FETCH of a body, a SEARCH, a STORE or a COPY it belongs to these, as
//! with backends that connect anew for each page. "Directly" is one of two places where time counts: within a window
//! that the account states. The other is a search, one message's headers, and its body: the headers belong to the
//! nearer of the two, as a search may find nothing.
//!
//! A repeated question begins a new page. This module handles one session; [`super::sessions`] handles all of them.

use super::{
    entry::{Command, Cost, Meaning, Set},
    page::{ActionProgress, HeaderRequest, OpenPage},
};

/// The effect of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    /// It began an action.
    Began,
    /// It joined the open action, or the one before.
    Merged,
    /// No page shows it.
    Dropped,
    /// It is not known.
    Unknown,
    /// It ends the session.
    Ended,
}

/// The open action of a session, and its state.
#[derive(Debug, Default)]
pub struct Grammar {
    page: Option<OpenPage>,
    /// The time of the last login.
    login: Option<i64>,
    /// The selected folder, as far as commands tell.
    folder: String,
}

/// In sources whose times are whole seconds, a command that follows directly may have the next second.
const WHOLE_SECOND: i64 = 1_000_000;

impl Grammar {
    /// Takes a command; returns the action that it completes, if any. `window`: the longest pause, in microseconds,
    /// after which a command still follows a SELECT directly.
    pub fn take(&mut self, at: i64, window: i64, command: Command) -> (Did, Option<OpenPage>) {
        let Command { meaning, folder, coarse, cost, .. } = command;
        let window = if coarse { window.max(WHOLE_SECOND) } else { window };
        if !folder.is_empty() {
            self.folder = folder;
        }
        let search = self.settle(Some((at, &meaning)));
        if let Some(page) = &mut self.page
            && page.glimpse(at, &meaning, &cost)
        {
            return (Did::Merged, None);
        }
        if self.page.as_mut().is_some_and(|page| {
            let directly = at - page.done.unwrap_or(page.at) <= window;
            joins(page, &meaning, directly)
        }) {
            if let Some(page) = &mut self.page {
                page.add(at, &cost);
            }
            return (if search.is_some() { Did::Began } else { Did::Merged }, search);
        }
        let Some(begun) = self.begin(at, meaning, cost) else { return (Did::Dropped, None) };
        match begun {
            Begun::Page(page) => (Did::Began, self.page.replace(*page)),
            Begun::Did(did) => (did, None),
        }
    }

    /// Takes a login that the source reports by itself. `coarse`: its time is anywhere in the second that begins then.
    pub fn login(&mut self, at: i64, coarse: bool) -> Option<OpenPage> {
        // The log's line and the session's own event report one login; so does the command before them.
        if let Some(page) = &mut self.page
            && let ActionProgress::Login { coarse: known_coarsely } = &mut page.stage
        {
            if *known_coarsely && !coarse {
                *known_coarsely = false;
                page.at = at;
            }
            return None;
        }
        // A line in whole seconds may come after the first commands.
        if coarse && self.login.is_some_and(|login| at - login <= WHOLE_SECOND) {
            return None;
        }
        self.login = Some(at);
        self.settle(None);
        self.page.replace(OpenPage::new(at, "login", ActionProgress::Login { coarse }, Cost::default()))
    }

    /// Completes the open action: the session has no more commands.
    pub fn close(&mut self) -> Option<OpenPage> {
        self.settle(None);
        self.page.take()
    }

    /// Decides about one message's headers that were requested after a search. If its body comes next, and the headers
    /// are nearer to that than to the search, they belong to a message that is shown: then the search is complete, and
    /// returned. Else they are the search's result.
    fn settle(&mut self, next: Option<(i64, &Meaning)>) -> Option<OpenPage> {
        if let Some((_, Meaning::Aside | Meaning::Mark(_))) = next {
            return None;
        }
        let page = self.page.as_mut()?;
        let ActionProgress::Searched { listed, one } = &mut page.stage else { return None };
        let HeaderRequest { at, set, cost } = one.take()?;
        let searched = page.done.unwrap_or(page.at);
        let seen = at.saturating_add_unsigned(cost.lasted.unwrap_or(0));
        let shown = next.is_some_and(|(next, meaning)| {
            let same = matches!(meaning, Meaning::Body { set: body, .. } if *body == set);
            same && next - seen < at - searched
        });
        if shown {
            let glimpsed = OpenPage::new(at, "list messages", ActionProgress::Glimpsed(set.clone()), cost);
            return self.page.replace(glimpsed.about(&self.folder, &set.messages));
        }
        *listed = true;
        page.add(at, &cost);
        None
    }

    /// The action that a command begins if it joins none.
    fn begin(&mut self, at: i64, meaning: Meaning, cost: Cost) -> Option<Begun> {
        let page = |action, stage| Some(Begun::Page(Box::new(OpenPage::new(at, action, stage, cost))));
        let about = |begun: Option<Begun>, folder: &str, set: &Set| match begun {
            Some(Begun::Page(page)) => Some(Begun::Page(Box::new(page.about(folder, &set.messages)))),
            other => other,
        };
        match meaning {
            Meaning::Login => {
                self.login = Some(at);
                page("login", ActionProgress::Login { coarse: false })
            }
            Meaning::Folders(question) => page("list folders", ActionProgress::Folders(vec![question])),
            Meaning::Select(folder) => {
                self.folder.clone_from(&folder);
                about(page("list messages", ActionProgress::Selected), &folder, &Set::default())
            }
            Meaning::Order => about(page("list messages", ActionProgress::Selected), &self.folder, &Set::default()),
            // A refresh outside of any list: the equivalent of NOOP in other clients.
            Meaning::Headers { only_flags: true, .. } => None,
            Meaning::Headers { set, .. } if set.one() => {
                about(page("list messages", ActionProgress::Glimpsed(set.clone())), &self.folder, &set)
            }
            Meaning::Headers { set, .. } => about(page("list messages", ActionProgress::Listed), &self.folder, &set),
            Meaning::Body { set, item } if set.one() => about(
                page("show message", ActionProgress::Shown { set: set.clone(), items: vec![item] }),
                &self.folder,
                &set,
            ),
            // Bodies of several messages are a list with previews.
            Meaning::Body { set, .. } => about(page("list messages", ActionProgress::Listed), &self.folder, &set),
            Meaning::MarkDeleted(set) => {
                about(page("delete", ActionProgress::Gone { set: set.clone(), expunged: false }), &self.folder, &set)
            }
            Meaning::Expunge => about(
                page("delete", ActionProgress::Gone { set: Set::default(), expunged: true }),
                &self.folder,
                &Set::default(),
            ),
            Meaning::Copy { set, trash, moved } => {
                let action = if trash { "delete" } else { "refile" };
                about(page(action, ActionProgress::Gone { set: set.clone(), expunged: moved }), &self.folder, &set)
            }
            Meaning::Search => about(
                page("search", ActionProgress::Searched { listed: false, one: None }),
                &self.folder,
                &Set::default(),
            ),
            Meaning::CreateFolder(folder) => {
                about(page("create folder", ActionProgress::Done), &folder, &Set::default())
            }
            Meaning::DeleteFolder(folder) => {
                about(page("delete folder", ActionProgress::Done), &folder, &Set::default())
            }
            Meaning::Mark(_) | Meaning::Append | Meaning::Close | Meaning::Aside => None,
            Meaning::Logout => Some(Begun::Did(Did::Ended)),
            Meaning::Unknown => Some(Begun::Did(Did::Unknown)),
        }
    }
}

/// The result of a command that joins no action.
enum Begun {
    Page(Box<OpenPage>),
    Did(Did),
}

/// The largest number of different questions of one page: a further one begins a new page.
const QUESTIONS: usize = 4096;

/// True if the command joins the open page; then the page's progress is updated.
fn joins(page: &mut OpenPage, meaning: &Meaning, directly: bool) -> bool {
    let OpenPage { action, stage, messages, .. } = page;
    match (&mut *stage, meaning) {
        // A second attempt to log in, or the command in addition to the log's line.
        (ActionProgress::Login { .. }, Meaning::Login) => true,
        (ActionProgress::Folders(asked), Meaning::Folders(question)) => ask(asked, *question),
        // The list of a folder: its order, flags to be up to date, and once its headers.
        (ActionProgress::Selected, Meaning::Order | Meaning::Headers { only_flags: true, .. }) => true,
        (ActionProgress::Selected, Meaning::Headers { set, .. }) => {
            messages.clone_from(&set.messages);
            *stage = ActionProgress::Listed;
            true
        }
        // Headers one by one: a list.
        (ActionProgress::Glimpsed(seen), Meaning::Headers { set, .. }) if seen != set => {
            *stage = ActionProgress::Listed;
            true
        }
        (
            ActionProgress::Listed | ActionProgress::Searched { .. },
            Meaning::Headers { only_flags: true, .. } | Meaning::Order,
        ) => true,
        // The folder was only selected for the next command, as by backends that connect anew for each page.
        (ActionProgress::Selected, Meaning::Body { set, item }) if directly && set.one() => {
            *action = "show message";
            messages.clone_from(&set.messages);
            *stage = ActionProgress::Shown { set: set.clone(), items: vec![*item] };
            true
        }
        (ActionProgress::Selected, Meaning::Search) if directly => {
            *action = "search";
            *stage = ActionProgress::Searched { listed: false, one: None };
            true
        }
        (ActionProgress::Selected, Meaning::MarkDeleted(set)) if directly => {
            *action = "delete";
            messages.clone_from(&set.messages);
            *stage = ActionProgress::Gone { set: set.clone(), expunged: false };
            true
        }
        (ActionProgress::Selected, Meaning::Copy { set, trash, moved }) if directly => {
            *action = if *trash { "delete" } else { "refile" };
            messages.clone_from(&set.messages);
            *stage = ActionProgress::Gone { set: set.clone(), expunged: *moved };
            true
        }
        // One message's headers or structure, and then its body.
        (ActionProgress::Glimpsed(seen), Meaning::Body { set, item }) if seen == set => {
            *action = "show message";
            *stage = ActionProgress::Shown { set: set.clone(), items: vec![*item] };
            true
        }
        (ActionProgress::Shown { set: shown, items }, Meaning::Body { set, item }) if shown == set => ask(items, *item),
        (ActionProgress::Shown { set: shown, .. }, Meaning::Mark(set) | Meaning::Headers { set, .. }) => shown == set,
        (ActionProgress::Searched { listed, .. }, Meaning::Headers { .. }) => !std::mem::replace(listed, true),
        // The same messages marked, unmarked, marked again; then expunged.
        (ActionProgress::Gone { set: gone, expunged }, Meaning::MarkDeleted(set) | Meaning::Mark(set)) => {
            gone == set && !*expunged
        }
        (ActionProgress::Gone { expunged, .. }, Meaning::Expunge | Meaning::Close) => {
            !std::mem::replace(expunged, true)
        }
        _ => false,
    }
}

/// True if this question is new.
fn ask(asked: &mut Vec<u64>, question: u64) -> bool {
    let new = asked.len() < QUESTIONS && !asked.contains(&question);
    if new {
        asked.push(question);
    }
    new
}

#[cfg(test)]
mod tests;
