//! Reads the marks that the mail service puts into its pages for emulated users, with a byte scanner: no DOM is built,
//! since the cost of a user bounds the load that one core can produce.
//!
//! The marks, with attributes in exactly this order and spelling:
//!
//! ```text
//! <body data-page="messages"                     what kind of page this is
//! <a data-do="show" href="URL"                   links: folders, list, show, next, previous
//! <form data-do="messages" method="post"         the form that deletes and refiles; data-do="search": searches
//! <input type="hidden" name="N" value="V">       its hidden fields
//! <input type="checkbox" name="message" value="E"    its rows
//! <button data-do="delete" formaction="URL"      and refile
//! <select name="to"> <option value="FOLDER">     where to refile to
//! <article data-message="E"                      the mail asked for
//! <p data-done="delete"                          the change asked for
//! ```

mod form;
mod text;

use memchr::memmem;

pub use form::Form;
use text::place;
pub(crate) use text::push_encoded;
pub use text::{attribute, unescape};

/// The kinds of page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// The sign-in page.
    Login,
    /// After signing in.
    Welcome,
    /// All folders.
    Folders,
    /// A part of a folder.
    Messages,
    /// One mail.
    Message,
    /// A change was made.
    Done,
    /// The results of a search.
    Search,
    /// Something went wrong.
    Error,
    /// Refused because of load.
    Refused,
    /// No page of the mail service.
    Unknown,
}

/// A page, and the positions of its marks.
#[derive(Debug)]
pub struct ScannedPage<'a> {
    body: &'a [u8],
    kind: PageKind,
    folders: Option<usize>,
    list: Option<usize>,
    shows: Shows,
    messages_form: Option<usize>,
    search_form: Option<usize>,
    delete: Option<usize>,
    refile: Option<usize>,
}

/// The positions of the links to messages; further links than these are not stored (pages list ten).
#[derive(Debug)]
struct Shows {
    at: [u32; 50],
    count: usize,
}

const MARK: &[u8] = b"data-do=\"";

impl<'a> ScannedPage<'a> {
    /// Scans a page for its marks.
    #[must_use]
    pub fn read(body: &'a [u8]) -> Self {
        let (kind, from) = kind(body);
        let mut page = Self {
            body,
            kind,
            folders: None,
            list: None,
            shows: Shows { at: [0; 50], count: 0 },
            messages_form: None,
            search_form: None,
            delete: None,
            refile: None,
        };
        for at in memmem::find_iter(&body[from..], MARK) {
            page.note(from + at + MARK.len());
        }
        page
    }

    /// Notes the mark whose value begins at `at`.
    fn note(&mut self, at: usize) {
        let value = &self.body[at..];
        // By the first letters: all differ but those of "search" and "show".
        let (word, place) = match value {
            [b's', b'h', ..] => {
                if value.starts_with(b"show\"") && self.shows.count < self.shows.at.len() {
                    self.shows.at[self.shows.count] = u32::try_from(at).unwrap_or(u32::MAX);
                    self.shows.count += 1;
                }
                return;
            }
            [b'f', ..] => (&b"folders\""[..], &mut self.folders),
            [b'l', ..] => (&b"list\""[..], &mut self.list),
            [b'm', ..] => (&b"messages\""[..], &mut self.messages_form),
            [b's', ..] => (&b"search\""[..], &mut self.search_form),
            [b'd', ..] => (&b"delete\""[..], &mut self.delete),
            [b'r', ..] => (&b"refile\""[..], &mut self.refile),
            _ => return,
        };
        if place.is_none() && value.starts_with(word) {
            *place = Some(at);
        }
    }

    /// The kind of page.
    #[must_use]
    pub fn kind(&self) -> PageKind {
        self.kind
    }

    /// The link to the folders.
    #[must_use]
    pub fn folders(&self) -> Option<String> {
        self.link(self.folders?)
    }

    /// The first link to a list: on the page of folders that of the first folder, on a message's page that of its
    /// folder.
    #[must_use]
    pub fn list(&self) -> Option<String> {
        self.link(self.list?)
    }

    /// All links to lists, in their order: on the page of folders one for each. Scans the page again.
    pub fn lists(&self) -> impl Iterator<Item = String> {
        let marks = memmem::find_iter(self.body, b"data-do=\"list\"");
        marks.filter_map(|at| self.link(at + MARK.len()))
    }

    /// The number of links to messages.
    #[must_use]
    pub fn shows(&self) -> usize {
        self.shows.count
    }

    /// The link to a message, counted from 0.
    #[must_use]
    pub fn show(&self, number: usize) -> Option<String> {
        let at = self.shows.at[..self.shows.count].get(number)?;
        self.link(*at as usize)
    }

    /// The form that deletes messages, and its button.
    #[must_use]
    pub fn delete(&self) -> Option<Form<'a>> {
        Form::with_button(self.body, self.messages_form?, self.delete?)
    }

    /// The form that refiles messages, and its button.
    #[must_use]
    pub fn refile(&self) -> Option<Form<'a>> {
        Form::with_button(self.body, self.messages_form?, self.refile?)
    }

    /// The form that searches.
    #[must_use]
    pub fn search(&self) -> Option<Form<'a>> {
        Form::read(self.body, self.search_form?)
    }

    /// True if there is a link to the folders.
    #[must_use]
    pub fn offers_folders(&self) -> bool {
        self.folders.is_some()
    }

    /// True if there is a link to a list.
    #[must_use]
    pub fn offers_list(&self) -> bool {
        self.list.is_some()
    }

    /// True if messages can be deleted.
    #[must_use]
    pub fn offers_delete(&self) -> bool {
        self.messages_form.is_some() && self.delete.is_some()
    }

    /// True if messages can be refiled.
    #[must_use]
    pub fn offers_refile(&self) -> bool {
        self.messages_form.is_some() && self.refile.is_some()
    }

    /// True if mail can be searched.
    #[must_use]
    pub fn offers_search(&self) -> bool {
        self.search_form.is_some()
    }

    /// The entry id of the mail on the page.
    #[must_use]
    pub fn message(&self) -> Option<&'a [u8]> {
        attribute(self.body, b"<article data-message=\"")
    }

    /// The change that was made.
    #[must_use]
    pub fn done(&self) -> Option<&'a [u8]> {
        attribute(self.body, b"<p data-done=\"")
    }

    /// True if the page shows a folder.
    #[must_use]
    pub fn has_folder_table(&self) -> bool {
        memmem::find(self.body, b"<table data-folder=\"").is_some()
    }

    /// True if the page shows search results, even an empty list of them.
    #[must_use]
    pub fn has_search_table(&self) -> bool {
        memmem::find(self.body, b"<table data-search").is_some()
    }

    /// The link whose `data-do` value begins here.
    fn link(&self, at: usize) -> Option<String> {
        let value = &self.body[at..];
        let end = memchr::memchr(b'"', value)?;
        let rest = value[end..].strip_prefix(b"\" href=\"")?;
        place(rest)
    }
}

/// The kind of the page, and where its body begins.
fn kind(body: &[u8]) -> (PageKind, usize) {
    const BODY: &[u8] = b"<body data-page=\"";
    let Some(at) = memmem::find(body, BODY) else {
        return (PageKind::Unknown, 0);
    };
    let from = at + BODY.len();
    let name = memchr::memchr(b'"', &body[from..]).map_or(&[][..], |end| &body[from..from + end]);
    let kind = match name {
        b"login" => PageKind::Login,
        b"welcome" => PageKind::Welcome,
        b"folders" => PageKind::Folders,
        b"messages" => PageKind::Messages,
        b"message" => PageKind::Message,
        b"done" => PageKind::Done,
        b"search" => PageKind::Search,
        b"error" => PageKind::Error,
        b"refused" => PageKind::Refused,
        _ => PageKind::Unknown,
    };
    (kind, from)
}

#[cfg(test)]
mod tests;
