//! The request for a state on a page.

use std::sync::Arc;

use controllers::Random;

use super::model::State;
use crate::{
    page::{Form, PageKind, ScannedPage, push_encoded},
    persona::{Draws, Purpose},
};

/// The request of a state.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ask {
    pub(super) state: State,
    pub(super) path: Arc<str>,
    /// The body of a POST; without one the request is a GET.
    pub(super) body: Option<Arc<str>>,
}

impl Ask {
    fn get(state: State, path: impl Into<Arc<str>>) -> Self {
        Self { state, path: path.into(), body: None }
    }
}

/// Words that users search for: they occur in the headers of nearly all mail, so that a search finds something. The
/// model does not say what users look for; these words are our choice.
const WORDS: [&str; 8] = ["re", "com", "list", "the", "for", "org", "mail", "net"];

/// True if the page offers this state.
pub(super) fn offers(page: &ScannedPage<'_>, state: State) -> bool {
    match state {
        State::Login => true,
        State::ListFolders => page.offers_folders(),
        State::ListMessages => page.offers_list(),
        State::ShowMessage => page.shows() > 0,
        State::Delete => page.offers_delete() && has_message(page),
        State::Refile => page.offers_refile() && has_message(page),
        State::Search => page.offers_search(),
    }
}

/// True if a message can be ticked: an empty list may have its buttons without a message.
fn has_message(page: &ScannedPage<'_>) -> bool {
    page.shows() > 0 || page.kind() == PageKind::Message
}

/// The choice of one of several messages, folders or words.
#[derive(Debug, Clone, Copy)]
pub(super) enum Choice<'a> {
    /// Drawn at random.
    Drawn(&'a Draws),
    /// This number, modulo the number of choices.
    Given(u32),
}

impl Choice<'_> {
    fn link(self, count: usize) -> Option<usize> {
        (count > 0).then(|| match self {
            Self::Drawn(draws) => draws.of(Purpose::Link).below(count as u64) as usize,
            Self::Given(pick) => pick as usize % count,
        })
    }

    /// One of several folders.
    fn folder(self, count: usize) -> Option<usize> {
        (count > 0).then(|| match self {
            Self::Drawn(draws) => draws.of(Purpose::Text).below(count as u64) as usize,
            Self::Given(pick) => pick as usize % count,
        })
    }

    /// The scope of a search, and its word.
    fn search(self) -> (&'static str, &'static str) {
        let (scope, word) = match self {
            Self::Drawn(draws) => {
                let mut random = draws.of(Purpose::Text);
                (random.below(2), random.below(WORDS.len() as u64))
            }
            Self::Given(pick) => (u64::from(pick % 2), u64::from(pick / 2) % WORDS.len() as u64),
        };
        (if scope == 0 { "folder" } else { "all" }, WORDS[word as usize])
    }
}

/// The request for this state, if the page offers it.
pub(super) fn ask(page: &ScannedPage<'_>, state: State, choice: Choice<'_>) -> Option<Ask> {
    let pick = |count: usize| choice.link(count);
    match state {
        State::Login => None,
        State::ListFolders => Some(Ask::get(state, page.folders()?)),
        State::ListMessages => Some(Ask::get(state, page.list()?)),
        State::ShowMessage => Some(Ask::get(state, page.show(pick(page.shows())?)?)),
        State::Delete => {
            let form = page.delete()?;
            let body = messages(&form, &pick)?;
            Some(Ask { state, path: form.action().into(), body: Some(body.into()) })
        }
        State::Refile => {
            let form = page.refile()?;
            let mut body = messages(&form, &pick)?;
            let to = choice.folder(form.folders())?;
            push_encoded(&mut body, "to", &form.folder(to)?);
            Some(Ask { state, path: form.action().into(), body: Some(body.into()) })
        }
        State::Search => {
            let form = page.search()?;
            let (scope, word) = choice.search();
            let mut path = format!("{}?", form.action());
            form.push_hidden(&mut path);
            // Where there is only one scope, the form itself names it.
            if !path.contains("scope=") {
                push_encoded(&mut path, "scope", scope);
            }
            push_encoded(&mut path, "q", word);
            Some(Ask::get(state, path))
        }
    }
}

/// The hidden fields of the form, and one of its rows unless the hidden fields name a message.
fn messages(form: &Form<'_>, pick: &dyn Fn(usize) -> Option<usize>) -> Option<String> {
    let mut body = String::with_capacity(96);
    if !form.push_hidden(&mut body) {
        push_encoded(&mut body, "message", &form.row(pick(form.rows())?)?);
    }
    Some(body)
}
