//! The judgement on an answer: whether it is what the user requested.

use super::model::State;
use crate::{
    page::{PageKind, ScannedPage},
    persona::Answer,
};

/// The judgement of the user on an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    Served,
    /// A sign-in page: the session is lost.
    SignedOut,
    Wrong,
}

/// Judges an answer that is neither a reject nor a redirect. `path` is the requested path; `may_be_gone` says that the
/// user has just deleted or refiled the mail that it requests.
pub(super) fn judge(
    asked: State,
    path: &str,
    may_be_gone: bool,
    answer: &Answer<'_>,
    page: &ScannedPage<'_>,
) -> Judgement {
    if asked != State::Login && page.kind() == PageKind::Login {
        return Judgement::SignedOut;
    }
    if answer.status == 404 && may_be_gone && page.kind() == PageKind::Error {
        return Judgement::Served;
    }
    if !(200..300).contains(&answer.status) {
        return Judgement::Wrong;
    }
    let right = match asked {
        State::Login => page.kind() == PageKind::Welcome,
        State::ListFolders => page.kind() == PageKind::Folders,
        State::ListMessages => page.kind() == PageKind::Messages && page.has_folder_table(),
        State::ShowMessage => page.kind() == PageKind::Message && page.message() == entry(path).map(str::as_bytes),
        State::Delete => page.kind() == PageKind::Done && page.done() == Some(b"delete"),
        State::Refile => page.kind() == PageKind::Done && page.done() == Some(b"refile"),
        State::Search => page.kind() == PageKind::Search && page.has_search_table(),
    };
    if right { Judgement::Served } else { Judgement::Wrong }
}

/// The entry id in a link to a message.
fn entry(path: &str) -> Option<&str> {
    let (_, query) = path.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("entry="))
}
