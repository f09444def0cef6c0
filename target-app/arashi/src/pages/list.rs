//! Lists of messages: of a folder, and of search results.

use maud::{Markup, html};

use super::{Frame, count, date, page, scope_value, size, subject};
use crate::store::{Direction, Folder, Hits, ListOrder, Listed, PAGE_ROWS, Scope, Sort};

/// A part of a folder.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The folder.
    pub folder: &'a Folder,
    /// The order of the list.
    pub order: ListOrder,
    /// The number of the first row.
    pub start: u32,
    /// The rows.
    pub rows: &'a [Listed],
}

/// One page of a folder. `folders` are all folders of the user: the others are places to refile into.
#[must_use]
pub fn messages(frame: &Frame<'_>, shown: Shown<'_>, folders: &[Folder]) -> Markup {
    let Shown { folder, order, start, rows } = shown;
    let end = start + rows.len() as u32;
    let at = |start: u32, order: ListOrder| {
        let mut link = format!("/list?folderid={}", folder.id);
        if order != ListOrder::default() {
            link.push_str(&format!("&sort={}&dir={}", sort_name(order.by), direction_name(order.direction)));
        }
        if start > 0 {
            link.push_str(&format!("&start={start}"));
        }
        frame.link(link)
    };
    let column = |by: Sort, title: &str| {
        let sorted = order.by == by;
        let direction = if sorted { turned(order.direction) } else { first_direction(by) };
        let aria = match order.direction {
            Direction::Ascending => "ascending",
            Direction::Descending => "descending",
        };
        html! {
            th scope="col" class=(sort_name(by)) aria-sort=[sorted.then_some(aria)] {
                a href=(at(0, ListOrder { by, direction })) { (title) }
                @if sorted { span aria-hidden="true" { @if order.direction == Direction::Ascending { " ▲" } @else { " ▼" } } }
            }
        }
    };
    let previous = (start > 0).then(|| at(start.saturating_sub(PAGE_ROWS), order));
    let next = (i64::from(end) < folder.messages && !rows.is_empty()).then(|| at(end, order));
    page(
        frame,
        "messages",
        &folder.name,
        &html! {
            h1 { (folder.name) }
            form data-do="messages" method="post" action="/delete" {
                (frame.form_fields())
                input type="hidden" name="folderid" value=(folder.id);
                (actions(folders, Scope::Folder(folder.id)))
                table data-folder=(folder.id) {
                    thead { tr {
                        th scope="col" class="pick" { span class="hidden" { "Choose" } }
                        (column(Sort::Author, "From")) (column(Sort::Subject, "Subject")) (column(Sort::Date, "Date"))
                        th scope="col" class="size" { "Size" }
                    } }
                    tbody { @for row in rows { (one(frame, row, None)) } }
                }
            }
            @if rows.is_empty() { p class="empty" { "No messages here." } }
            (pager(previous.as_deref(), next.as_deref(), &html! {
                @if !rows.is_empty() { (start + 1) "–" (end) " of " (folder.messages) }
            }))
        },
    )
}

/// A search and its results.
#[derive(Debug, Clone, Copy)]
pub struct SearchResults<'a> {
    /// The scope of the search.
    pub scope: Scope,
    /// The text searched for.
    pub text: &'a str,
    /// The number of the first row.
    pub start: u32,
    /// One page of hits.
    pub hits: &'a Hits,
}

/// One page of hits.
#[must_use]
pub fn search(frame: &Frame<'_>, found: SearchResults<'_>, folders: &[Folder]) -> Markup {
    let SearchResults { scope, text, start, hits } = found;
    let at = |start: u32| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(folder) = frame.folder {
            query.append_pair("folderid", &folder.to_string());
        }
        query.append_pair("scope", if scope == Scope::All { "all" } else { "folder" }).append_pair("q", text);
        if start > 0 {
            query.append_pair("start", &start.to_string());
        }
        frame.link(format!("/search?{}", query.finish()))
    };
    let end = start + hits.rows.len() as u32;
    let previous = (start > 0).then(|| at(start.saturating_sub(PAGE_ROWS)));
    let next = hits.more.then(|| at(end));
    let place = match scope {
        Scope::All => "all folders",
        Scope::Folder(id) => folders.iter().find(|folder| folder.id == id).map_or("a folder", |f| &f.name),
    };
    // The folder of a hit is shown only where all folders were searched.
    let name_of = |row: &Listed| {
        let folder = folders.iter().find(|folder| scope == Scope::All && folder.id == row.folder);
        folder.map(|folder| folder.name.as_str())
    };
    page(
        frame,
        "search",
        "Search",
        &html! {
            h1 { "Search" }
            p class="found" {
                (number(found)) " in " strong { (place) } " with “" (text) "” in the headers"
            }
            @if let Some(part) = hits.part {
                p class="problem" {
                    "The service is busy: only the newest " (part.newest) " of " (part.of) " messages were searched, those since "
                    (date(part.since)) ". Search again later for all of them."
                }
            }
            form data-do="messages" method="post" action="/delete" {
                (frame.form_fields())
                input type="hidden" name="folderid" value=(scope_value(scope));
                (actions(folders, scope))
                table data-search {
                    thead { tr {
                        th scope="col" class="pick" { span class="hidden" { "Choose" } }
                        th scope="col" class="author" { "From" } th scope="col" class="subject" { "Subject" }
                        @if scope == Scope::All { th scope="col" class="place" { "Folder" } }
                        th scope="col" class="date" { "Date" } th scope="col" class="size" { "Size" }
                    } }
                    tbody { @for row in &hits.rows { (one(frame, row, name_of(row))) } }
                }
            }
            @if hits.rows.is_empty() { p class="empty" { "Nothing found." } }
            (pager(previous.as_deref(), next.as_deref(), &html! {
                @if !hits.rows.is_empty() { (start + 1) "–" (end) }
            }))
        },
    )
}

/// The number of messages found: known only if all of them were searched.
fn number(found: SearchResults<'_>) -> Markup {
    let SearchResults { start, hits, .. } = found;
    let seen = i64::from(start) + hits.rows.len() as i64;
    html! {
        @if hits.more { "More than " (count(seen)) }
        @else if hits.rows.is_empty() && start > 0 { "No more messages" }
        @else { (count(seen)) }
    }
}

/// A row; `place` is the name of its folder, if that is to be shown.
fn one(frame: &Frame<'_>, row: &Listed, place: Option<&str>) -> Markup {
    html! {
        tr {
            td class="pick" {
                input type="checkbox" name="message" value=(row.entry) aria-label={ "Choose " (subject(&row.subject)) };
            }
            td class="author" { (row.author) }
            td class="subject" {
                a data-do="show" href=(frame.link(format!("/show?folderid={}&entry={}", row.folder, row.entry))) {
                    (subject(&row.subject))
                }
                @if row.attachments > 0 { span class="clip" title="has attachments" { " 📎" } }
            }
            @if let Some(place) = place { td class="place" { (place) } }
            td class="date" { (date(row.date)) }
            td class="size" { (size(row.size)) }
        }
    }
}

/// The buttons for chosen messages. Refile is offered if there is another folder.
pub(super) fn actions(folders: &[Folder], from: Scope) -> Markup {
    let others = || folders.iter().filter(move |folder| from != Scope::Folder(folder.id));
    html! {
        div class="actions" {
            button data-do="delete" formaction="/delete" { "Delete" }
            @if others().next().is_some() {
                span class="refile" {
                    select name="to" aria-label="Folder to move to" {
                        @for folder in others() { option value=(folder.id) { (folder.name) } }
                    }
                    button data-do="refile" formaction="/refile" { "Move" }
                }
            }
        }
    }
}

fn pager(previous: Option<&str>, next: Option<&str>, place: &Markup) -> Markup {
    html! {
        div class="pager" {
            @if let Some(href) = previous { a data-do="previous" href=(href) { "← Previous" } }
            span { (place) }
            @if let Some(href) = next { a data-do="next" href=(href) { "Next →" } }
        }
    }
}

/// The name of a sort key in links.
fn sort_name(by: Sort) -> &'static str {
    match by {
        Sort::Date => "date",
        Sort::Author => "author",
        Sort::Subject => "subject",
    }
}

fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Ascending => "asc",
        Direction::Descending => "desc",
    }
}

fn turned(direction: Direction) -> Direction {
    match direction {
        Direction::Ascending => Direction::Descending,
        Direction::Descending => Direction::Ascending,
    }
}

/// The first direction of a sort key: newest first, but names from A to Z.
fn first_direction(by: Sort) -> Direction {
    if by == Sort::Date { Direction::Descending } else { Direction::Ascending }
}

/// Parses an order from a link; missing or unknown parts have their defaults.
impl ListOrder {
    /// The order in the fields `sort` and `dir`.
    #[must_use]
    pub fn from_names(sort: Option<&str>, direction: Option<&str>) -> Self {
        let by = match sort {
            Some("author") => Sort::Author,
            Some("subject") => Sort::Subject,
            _ => Sort::Date,
        };
        let direction = match direction {
            Some("asc") => Direction::Ascending,
            Some("desc") => Direction::Descending,
            _ => first_direction(by),
        };
        Self { by, direction }
    }
}
