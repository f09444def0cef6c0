//! The page after a change.

use maud::{Markup, html};

use super::{Frame, count, page};
use crate::store::FolderId;

/// A completed change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Messages were deleted.
    Delete,
    /// Messages were refiled.
    Refile,
    /// A folder was created.
    CreateFolder,
    /// A folder was deleted, with its messages.
    DeleteFolder,
}

/// The page after a change. `back` is the folder to continue with.
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
