//! The pages. They work without scripts, and carry marks (`data-page`, `data-do`, …) that emulated users follow as
//! Arashi's own did ("specially marked tags", thesis, chapter 6.3). The marks and the order of the attributes beside
//! them are a contract with `workloads`, whose scanner reads bytes, not a document tree.

mod done;
mod folders;
mod list;
mod message;
mod sign_in;

use mail_parser::DateTime;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{
    session::MailSession,
    store::{FolderId, Scope},
};

pub use done::{Done, done};
pub use folders::folders;
pub use list::{SearchResults, Shown, messages, search};
pub use message::{MAIL_STYLE_HASH, message};
pub use sign_in::{sign_in, welcome};

/// The one stylesheet.
pub const STYLE: &[u8] = include_bytes!("../assets/style.css");
/// The logo: the one static picture of the paper's service.
pub const LOGO: &[u8] = include_bytes!("../assets/logo.png");

/// The context of every page of a signed-in user.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The user's session.
    pub session: &'a MailSession,
    /// True to put the session's key into links and forms: there is no cookie.
    pub key_in_links: bool,
    /// The folder of the page, which the search box offers.
    pub folder: Option<FolderId>,
    /// The text and the scope of the search, which the search box keeps.
    pub searched: Option<(&'a str, Scope)>,
}

impl Frame<'_> {
    /// An address, with the session's key if keys are in links. `path` may have a query already.
    fn link(&self, mut path: String) -> String {
        if self.key_in_links {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str("key=");
            path.push_str(&self.session.key.to_text());
        }
        path
    }

    /// The hidden fields of every form that changes something.
    fn form_fields(&self) -> Markup {
        html! {
            input type="hidden" name="csrf" value=(self.session.form_token.to_text());
            (self.key_field())
        }
    }

    fn key_field(&self) -> Markup {
        html! {
            @if self.key_in_links { input type="hidden" name="key" value=(self.session.key.to_text()); }
        }
    }
}

/// The value of a scope in forms.
fn scope_value(scope: Scope) -> String {
    match scope {
        Scope::Folder(folder) => folder.to_string(),
        Scope::All => "all".to_owned(),
    }
}

/// A page of a signed-in user.
fn page(frame: &Frame<'_>, name: &str, title: &str, main: &Markup) -> Markup {
    document(
        name,
        title,
        &html! {
            header class="bar" {
                a class="brand" href=(frame.link("/folderlist".to_owned())) {
                    img src="/logo.png" alt="" width="32" height="32";
                    span { "Arashi" }
                }
                (search_box(frame))
                div class="who" {
                    span class="name" { (frame.session.name) }
                    form method="post" action="/logout" {
                        (frame.form_fields())
                        button class="quiet" { "Sign out" }
                    }
                }
            }
            nav aria-label="Mail" {
                a data-do="folders" href=(frame.link("/folderlist".to_owned())) { "Folders" }
            }
            main id="main" { (main) }
        },
    )
}

fn search_box(frame: &Frame<'_>) -> Markup {
    let words = frame.searched.map(|(words, _)| words);
    let everywhere = matches!(frame.searched, Some((_, Scope::All)));
    html! {
        form data-do="search" method="get" action="/search" class="search" role="search" {
            @if let Some(folder) = frame.folder {
                input type="hidden" name="folderid" value=(folder);
            }
            (frame.key_field())
            input type="search" name="q" aria-label="Search headers" placeholder="Search headers" maxlength="200" value=[words] required;
            @if frame.folder.is_some() {
                select name="scope" aria-label="Where to search" {
                    option value="folder" { "this folder" }
                    option value="all" selected[everywhere] { "all folders" }
                }
            } @else {
                input type="hidden" name="scope" value="all";
            }
            button { "Search" }
        }
    }
}

/// The page of a problem, for a signed-in user: with the way back to the mail.
#[must_use]
pub fn problem(frame: &Frame<'_>, title: &str, text: &str) -> Markup {
    page(
        frame,
        "error",
        title,
        &html! {
            section class="card" {
                h1 { (title) }
                p { (text) }
                p { a class="button" href=(frame.link("/folderlist".to_owned())) { "Back to your mail" } }
            }
        },
    )
}

/// A page that needs no session.
#[must_use]
pub fn plain(name: &str, title: &str, main: &Markup) -> Markup {
    let onward = html! { @if name != "login" { p { a href="/" { "Sign in" } } } };
    without_session(name, title, main, &onward)
}

/// A page that was made in advance, for readers signed in or not. Where a cookie identifies the session, the link to
/// the mail asks users without a session to sign in.
#[must_use]
pub fn unasked(name: &str, title: &str, key_in_links: bool, main: &Markup) -> Markup {
    if key_in_links {
        return plain(name, title, main);
    }
    without_session(name, title, main, &html! { p { a href="/folderlist" { "Back to your mail" } } })
}

fn without_session(name: &str, title: &str, main: &Markup, onward: &Markup) -> Markup {
    document(
        name,
        title,
        &html! {
            main id="main" class="card" {
                img class="logo" src="/logo.png" alt="" width="64" height="64";
                h1 { (title) }
                (main)
                (onward)
            }
        },
    )
}

fn document(name: &str, title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " – Arashi" }
                link rel="stylesheet" href="/style.css";
                link rel="icon" href="/logo.png";
            }
            body data-page=(name) {
                a class="skip" href="#main" { "Skip to content" }
                (body)
            }
        }
    }
}

/// `13 Sep 2002, 14:05`, in universal time.
fn date(seconds: i64) -> Markup {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let date = DateTime::from_timestamp(seconds);
    let month = MONTHS.get(usize::from(date.month).wrapping_sub(1)).copied().unwrap_or("");
    PreEscaped(format!("{} {month} {}, {:02}:{:02}", date.day, date.year, date.hour, date.minute))
}

/// `920 B`, `3.1 kB`, `2.5 MB`.
fn size(bytes: i64) -> Markup {
    let tenths = |unit: i64| (bytes * 10 + unit / 2) / unit;
    PreEscaped(match bytes {
        ..1000 => format!("{bytes} B"),
        1000..999_950 => format!("{}.{} kB", tenths(1000) / 10, tenths(1000) % 10),
        _ => format!("{}.{} MB", tenths(1_000_000) / 10, tenths(1_000_000) % 10),
    })
}

/// A subject, or a placeholder for an empty one, which must be clickable.
fn subject(subject: &str) -> &str {
    if subject.trim().is_empty() { "(no subject)" } else { subject }
}

fn count(number: i64) -> Markup {
    html! { (number) @if number == 1 { " message" } @else { " messages" } }
}

#[cfg(test)]
mod tests;
