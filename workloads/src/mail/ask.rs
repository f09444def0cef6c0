//! From a drawn state and a page to the request that it asks for.

use std::sync::Arc;

use controllers::Random;

use super::model::State;
use crate::{
    page::{Form, Page, PageKind, push_encoded},
    persona::{Draws, Purpose},
};

/// What to send for a state.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ask {
    pub(super) state: State,
    pub(super) path: Arc<str>,
    /// Sent as POST if there is one.
    pub(super) body: Option<Arc<str>>,
}

impl Ask {
    fn get(state: State, path: impl Into<Arc<str>>) -> Self {
        Self { state, path: path.into(), body: None }
    }
}

/// Words that users search for: they occur in the headers of nearly all mail, so that searching finds something. The model
/// does not say what users look for; this is our choice.
const WORDS: [&str; 8] = ["re", "com", "list", "the", "for", "org", "mail", "net"];

/// Whether the page offers this state.
pub(super) fn offers(page: &Page<'_>, state: State) -> bool {
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

/// An empty list may have its buttons, and nothing to tick.
fn has_message(page: &Page<'_>) -> bool {
    page.shows() > 0 || page.kind() == PageKind::Message
}

/// The request for this state, if the page offers it. Which of several messages, folders or words is drawn.
pub(super) fn ask(page: &Page<'_>, state: State, draws: &Draws) -> Option<Ask> {
    let pick = |count: usize| (count > 0).then(|| draws.of(Purpose::Link).below(count as u64) as usize);
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
            let folders = form.folders() as u64;
            let to = if folders == 0 { return None } else { draws.of(Purpose::Text).below(folders) };
            push_encoded(&mut body, "to", &form.folder(to as usize)?);
            Some(Ask { state, path: form.action().into(), body: Some(body.into()) })
        }
        State::Search => {
            let form = page.search()?;
            let mut random = draws.of(Purpose::Text);
            let mut path = format!("{}?", form.action());
            form.push_hidden(&mut path);
            let scope = if random.below(2) == 0 { "folder" } else { "all" };
            // Where there is but one scope, the form names it itself.
            if !path.contains("scope=") {
                push_encoded(&mut path, "scope", scope);
            }
            push_encoded(&mut path, "q", WORDS[random.below(WORDS.len() as u64) as usize]);
            Some(Ask::get(state, path))
        }
    }
}

/// The hidden fields of the form, and one of its rows unless it has its message among them.
fn messages(form: &Form<'_>, pick: &dyn Fn(usize) -> Option<usize>) -> Option<String> {
    let mut body = String::with_capacity(96);
    if !form.push_hidden(&mut body) {
        push_encoded(&mut body, "message", &form.row(pick(form.rows())?)?);
    }
    Some(body)
}
