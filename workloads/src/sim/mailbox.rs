//! A mail service in the form of a function: it keeps folders of message numbers, and writes pages with the marks that
//! users follow (see [`crate::page`]).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    ops::Range,
};

use super::Response;
use crate::persona::{Call, Method};

/// A mail service with one mailbox for each account that signs in.
#[derive(Debug)]
pub struct Mailboxes {
    /// The numbers of messages in the folders of the accounts, by the number at the end of an account's name.
    sizes: Vec<Vec<u32>>,
    boxes: BTreeMap<String, Mailbox>,
    /// The number of answers so far, for tests.
    pub answers: u64,
}

/// Folders by their number: 1 is the inbox.
type Mailbox = BTreeMap<u32, Folder>;

/// Messages by their number, which is unique in the mailbox. The last ones, which no page has shown yet, are a range:
/// users see only the first rows, and a folder of thousands costs no more than a small one.
#[derive(Debug)]
struct Folder {
    front: BTreeSet<u32>,
    unseen: Range<u32>,
}

const ROWS: usize = 10;

impl Mailboxes {
    /// A service whose accounts have an inbox of this many messages, and an empty archive.
    #[must_use]
    pub fn new(messages: u32) -> Self {
        Self::with_folders(vec![vec![messages, 0]])
    }

    /// A service whose accounts have folders of these sizes, the inbox first: account `user0003` has the fourth
    /// element, and further accounts begin again with the first.
    #[must_use]
    pub fn with_folders(sizes: Vec<Vec<u32>>) -> Self {
        Self { sizes, boxes: BTreeMap::new(), answers: 0 }
    }

    fn mailbox_of(sizes: &[Vec<u32>], account: &str) -> Mailbox {
        let name = account.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: usize = account[name.len()..].parse().unwrap_or(0);
        let mut first = 1;
        let folder = |&size: &u32| {
            let unseen = first..first + size;
            first = unseen.end;
            Folder { front: BTreeSet::new(), unseen }
        };
        (1..).zip(sizes.get(number % sizes.len().max(1)).into_iter().flatten().map(folder)).collect()
    }

    /// The answer to a request.
    pub fn answer(&mut self, call: &Call) -> Response {
        self.answers += 1;
        let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
        let form = fields(call.body.as_deref().unwrap_or(query));
        if path == "/login" && call.method == Method::Post {
            return self.login(&form);
        }
        let Some(account) = call.headers.strip_prefix("Cookie: session=").and_then(|rest| rest.split("\r\n").next())
        else {
            return page(200, "login", "");
        };
        let Some(mailbox) = self.boxes.get_mut(account) else {
            return page(200, "login", "");
        };
        let folder = form.get("folderid").and_then(|id| id.parse().ok()).unwrap_or(1);
        match path {
            "/folderlist" => folders(mailbox),
            "/list" => list(mailbox, folder),
            "/show" => show(mailbox, folder, form.get("entry")),
            "/search" => search(mailbox, folder),
            "/delete" | "/refile" => change(mailbox, path, folder, &form),
            _ => page(404, "error", ""),
        }
    }

    fn login(&mut self, form: &BTreeMap<String, String>) -> Response {
        let Some(user) = form.get("user") else {
            return page(400, "error", "");
        };
        let sizes = &self.sizes;
        self.boxes.entry(user.clone()).or_insert_with(|| Self::mailbox_of(sizes, user));
        let mut welcome = page(200, "welcome", "<a data-do=\"folders\" href=\"/folderlist\">Folders</a>");
        welcome.headers.push(("set-cookie", format!("session={user}; Path=/; HttpOnly")));
        welcome
    }
}

impl Folder {
    /// The first rows, whose numbers users know from then on.
    fn rows(&mut self) -> impl Iterator<Item = u32> {
        while self.front.len() < ROWS
            && let Some(message) = self.unseen.next()
        {
            self.front.insert(message);
        }
        self.front.iter().copied().take(ROWS)
    }

    fn has(&self, message: u32) -> bool {
        self.front.contains(&message) || self.unseen.contains(&message)
    }

    /// Removes a message, if a page has shown it.
    fn take(&mut self, message: u32) -> bool {
        self.front.remove(&message)
    }
}

fn page(status: u16, kind: &str, inside: &str) -> Response {
    let body = format!("<!doctype html><title>Mail</title><body data-page=\"{kind}\">{inside}</body>");
    Response { status, body, ..Response::default() }
}

const FOLDERS: &str = "<a data-do=\"folders\" href=\"/folderlist\">Folders</a>";

fn search_form(folder: u32) -> String {
    format!(
        "<form data-do=\"search\" method=\"get\" action=\"/search\"><input type=\"hidden\" name=\"folderid\" \
         value=\"{folder}\"><input name=\"q\"></form>"
    )
}

/// The form around rows, or around the hidden number of one message.
fn messages_form(mailbox: &Mailbox, folder: u32, inside: &str) -> String {
    let mut others = String::new();
    for other in mailbox.keys().filter(|other| **other != folder) {
        let _ = write!(others, "<option value=\"{other}\">Other</option>");
    }
    format!(
        "<form data-do=\"messages\" method=\"post\" action=\"/delete\"><input type=\"hidden\" name=\"csrf\" \
         value=\"c&amp;f\"><input type=\"hidden\" name=\"folderid\" value=\"{folder}\">{inside}<button \
         data-do=\"delete\" formaction=\"/delete\">Delete</button><select name=\"to\">{others}</select><button \
         data-do=\"refile\" formaction=\"/refile\">Refile</button></form>"
    )
}

fn rows(mailbox: &mut Mailbox, folder: u32) -> Option<String> {
    let mut rows = String::new();
    for message in mailbox.get_mut(&folder)?.rows() {
        let _ = write!(
            rows,
            "<tr><td><input type=\"checkbox\" name=\"message\" value=\"{message}\"><td><a data-do=\"show\" \
             href=\"/show?folderid={folder}&amp;entry={message}\">Subject</a>"
        );
    }
    Some(rows)
}

fn folders(mailbox: &Mailbox) -> Response {
    let mut links = FOLDERS.to_owned();
    for folder in mailbox.keys() {
        let _ = write!(links, "<a data-do=\"list\" href=\"/list?folderid={folder}\">Folder</a>");
    }
    page(200, "folders", &links)
}

fn list(mailbox: &mut Mailbox, folder: u32) -> Response {
    let Some(rows) = rows(mailbox, folder) else {
        return page(404, "error", FOLDERS);
    };
    let table = format!("<table data-folder=\"{folder}\">{rows}</table>");
    page(200, "messages", &format!("{FOLDERS}{}{}", search_form(folder), messages_form(mailbox, folder, &table)))
}

fn search(mailbox: &mut Mailbox, folder: u32) -> Response {
    let found = rows(mailbox, folder).unwrap_or_default();
    let table = format!("<table data-search>{found}</table>");
    page(200, "search", &format!("{FOLDERS}{}{}", search_form(folder), messages_form(mailbox, folder, &table)))
}

fn show(mailbox: &Mailbox, folder: u32, entry: Option<&String>) -> Response {
    let entry = entry.and_then(|entry| entry.parse().ok()).filter(|&e| mailbox.get(&folder).is_some_and(|f| f.has(e)));
    let Some(entry) = entry else {
        return page(404, "error", FOLDERS);
    };
    let form = messages_form(mailbox, folder, &format!("<input type=\"hidden\" name=\"message\" value=\"{entry}\">"));
    let list = format!("<a data-do=\"list\" href=\"/list?folderid={folder}\">Back</a>");
    let article = format!("<article data-message=\"{entry}\">Hello</article>");
    page(200, "message", &format!("{FOLDERS}{list}{}{form}{article}", search_form(folder)))
}

fn change(mailbox: &mut Mailbox, path: &str, folder: u32, form: &BTreeMap<String, String>) -> Response {
    let message = form.get("message").and_then(|message| message.parse::<u32>().ok());
    let (Some("c&f"), Some(message)) = (form.get("csrf").map(String::as_str), message) else {
        return page(403, "error", FOLDERS);
    };
    let had_it = mailbox.get_mut(&folder).is_some_and(|messages| messages.take(message));
    if path == "/refile" && had_it {
        let Some(to) = form.get("to").and_then(|to| to.parse().ok()).and_then(|to: u32| mailbox.get_mut(&to)) else {
            return page(400, "error", FOLDERS);
        };
        to.front.insert(message);
    }
    let list = format!("<a data-do=\"list\" href=\"/list?folderid={folder}\">Back</a>");
    let done = format!("<p data-done=\"{}\" data-count=\"{}\">Done</p>", &path[1..], u8::from(had_it));
    page(200, "done", &format!("{FOLDERS}{list}{done}"))
}

fn fields(encoded: &str) -> BTreeMap<String, String> {
    let pairs = encoded.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digits = |rest: &mut std::str::Bytes<'_>| {
            let hex = [rest.next()?, rest.next()?];
            u8::from_str_radix(std::str::from_utf8(&hex).ok()?, 16).ok()
        };
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => bytes.extend(digits(&mut rest)),
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
