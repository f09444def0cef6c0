//! What a change came to.

use maud::{Markup, html};

use super::{Frame, count, page};
use crate::mail::store::FolderId;

/// A change that has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Messages are gone.
    Delete,
    /// Messages are in another folder.
    Refile,
    /// A folder is there.
    CreateFolder,
    /// A folder is gone, with its messages.
    DeleteFolder,
}

/// The page after a change. `back` is the folder to go on with.
#[must_use]
pub fn done(frame: &Frame<'_>, done: Done, number: u64, back: Option<FolderId>) -> Markup {
    let mark = match done {
        Done::Delete => "delete",
        Done::Refile => "refile",
        Done::CreateFolder => "createfolder",
        Done::DeleteFolder => "deletefolder",
    };
    page(
        frame,
        "done",
        "Done",
        &html! {
            section class="card" {
                p data-done=(mark) data-count=(number) {
                    @match done {
                        Done::Delete => { (count(number as i64)) " deleted." }
                        Done::Refile => { (count(number as i64)) " moved." }
                        Done::CreateFolder => { "Folder created." }
                        Done::DeleteFolder => { "Folder deleted, with " (count(number as i64)) "." }
                    }
                }
                @if let Some(folder) = back {
                    p { a data-do="list" href=(frame.link(format!("/list?folderid={folder}"))) { "Back to the list" } }
                }
            }
        },
    )
}
