//! The list of folders.

use maud::{Markup, html};

use super::{Frame, count, page};
use crate::store::Folder;

/// All folders with their number of messages, and their actions.
#[must_use]
pub fn folders(frame: &Frame<'_>, folders: &[Folder], problem: Option<&str>) -> Markup {
    page(
        frame,
        "folders",
        "Folders",
        &html! {
            h1 { "Folders" }
            @if let Some(problem) = problem { p class="problem" role="alert" { (problem) } }
            ul class="folders" {
                @for folder in folders {
                    li {
                        a data-do="list" href=(frame.link(format!("/list?folderid={}", folder.id))) { (folder.name) }
                        span class="count" { (count(folder.messages)) }
                        @if !folder.inbox { (delete_form(frame, folder)) }
                    }
                }
            }
            form data-do="createfolder" method="post" action="/createfolder" class="row" {
                (frame.form_fields())
                label { "New folder " input type="text" name="name" maxlength="60" required; }
                button { "Create" }
            }
        },
    )
}

/// The form that deletes a folder: with mail in it, a box must be ticked first.
fn delete_form(frame: &Frame<'_>, folder: &Folder) -> Markup {
    html! {
        form data-do="deletefolder" method="post" action="/deletefolder" class="row" {
            (frame.form_fields())
            input type="hidden" name="folderid" value=(folder.id);
            @if folder.messages > 0 {
                label class="small" { input type="checkbox" name="with" value="messages" required; " with its messages" }
            }
            button class="quiet" aria-label={ "Delete folder " (folder.name) } { "Delete" }
        }
    }
}
