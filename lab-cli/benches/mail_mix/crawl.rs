//! Reads real Arashi through, as far as its links lead a mail user, and keeps each answer.

use std::{
    io::{BufRead, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use arashi::corpus;
use senders::http1::{HEADERS_MAX, Inbox, Limits, Outgoing, Progress};
use service_core::mail::CorpusSpec;
use workloads::{page::ScannedPage, plan::Account};

use super::copy::{Answer, Answers, key};

/// Everything that these users can ask for, and what they get.
pub struct Mail {
    pub accounts: Vec<Account>,
    pub answers: Answers,
}

/// Starts Arashi on generated mail for 100 users, and reads the mail of so many of them.
pub fn read_through(users: usize) -> Result<Mail, String> {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let spec = CorpusSpec::default();
    let generated = corpus::cached(&spec, kept).map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir_in(kept).map_err(|error| error.to_string())?;
    let database = folder.path().join("mail.sqlite");
    corpus::snapshot(&generated, &database).map_err(|error| error.to_string())?;
    let arashi = Arashi::start(&database)?;

    let mut mail = Mail { accounts: Vec::new(), answers: Answers::new() };
    for (user, password) in service_core::mail::accounts(&spec) {
        let account = Account { user, password };
        if mail.accounts.len() < users && Reader::new(arashi.address, &mut mail.answers)?.read(&account)? {
            mail.accounts.push(account);
        }
    }
    if mail.accounts.len() < users {
        return Err(format!("only {} users have mail enough", mail.accounts.len()));
    }
    Ok(mail)
}

/// The service, as `lab serve` starts it. Ended when dropped.
struct Arashi {
    process: Child,
    address: SocketAddr,
}

impl Arashi {
    fn start(database: &Path) -> Result<Self, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
        command.args(["serve", "--port", "0", "--database"]).arg(database).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| format!("lab serve: {error}"))?;
        let mut line = String::new();
        let output = process.stdout.take().expect("piped");
        let read = BufReader::new(output).read_line(&mut line);
        let address = line.trim().strip_prefix("serving http://").and_then(|address| address.parse().ok());
        // Made first, so that it is ended if it did not say where it is.
        let mut arashi = Self { process, address: ([127, 0, 0, 1], 0).into() };
        arashi.address = address.ok_or_else(|| format!("lab serve said `{}` ({read:?})", line.trim()))?;
        Ok(arashi)
    }
}

impl Drop for Arashi {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Requests on one connection. The service ends one with its 1000th answer and says so in it, which would be copied.
const PER_CONNECTION: u32 = 500;

/// One user's way through its mail.
struct Reader<'a> {
    address: SocketAddr,
    stream: TcpStream,
    /// Requests that the stream has carried.
    carried: u32,
    host: String,
    /// As a header line.
    cookie: String,
    inbox: Inbox,
    answers: &'a mut Answers,
}

impl<'a> Reader<'a> {
    fn new(address: SocketAddr, answers: &'a mut Answers) -> Result<Self, String> {
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        let inbox = Inbox::new(Limits::default());
        Ok(Self { address, stream, carried: 0, host: address.to_string(), cookie: String::new(), inbox, answers })
    }

    /// Reads everything, then moves a message and deletes another. False for users with less than two messages.
    fn read(&mut self, account: &Account) -> Result<bool, String> {
        let Account { user, password } = account;
        let welcome = self.ask("/login", Some(&format!("user={user}&password={password}")))?;
        let mut ahead = links(&ScannedPage::read(&welcome));
        let mut changes = None;
        let mut read = std::collections::HashSet::new();
        while let Some(path) = ahead.pop() {
            // One search stands for all: see `key`.
            let known_as = if path.starts_with("/search?") { "/search" } else { &path };
            if !read.insert(known_as.to_owned()) {
                continue;
            }
            let body = self.ask(&path, None)?;
            let page = ScannedPage::read(&body);
            ahead.extend(links(&page));
            changes = changes.or_else(|| both_changes(&page));
        }
        let Some(changes) = changes else { return Ok(false) };
        for (path, body) in changes {
            self.ask(&path, Some(&body))?;
        }
        Ok(true)
    }

    /// Asks, keeps the answer, and gives its body.
    fn ask(&mut self, path: &str, body: Option<&str>) -> Result<Vec<u8>, String> {
        let mut request = Vec::new();
        let method = if body.is_some() { "POST" } else { "GET" };
        let (host, headers) = (&self.host, &self.cookie);
        Outgoing { method, path, host, headers, body, attempt: 0, known: None, close: false }.write(&mut request);
        let failed = |what: &dyn std::fmt::Display| format!("{method} {path}: {what}");
        if self.carried == PER_CONNECTION {
            self.stream = TcpStream::connect(self.address).map_err(|error| failed(&error))?;
            self.carried = 0;
        }
        self.carried += 1;
        self.stream.write_all(&request).map_err(|error| failed(&error))?;
        self.inbox.clear();
        let mut whole = Vec::new();
        loop {
            let room = self.inbox.room();
            let count = self.stream.read(room).map_err(|error| failed(&error))?;
            whole.extend_from_slice(&room[..count]);
            let progress = if count == 0 { self.inbox.ended() } else { self.inbox.received(count) };
            if progress.map_err(|error| failed(&error))? == Progress::Whole {
                break;
            }
        }
        let mut space = [("", &b""[..]); HEADERS_MAX];
        let answer = self.inbox.response(&mut space).ok_or_else(|| failed(&"no answer"))?;
        if answer.status != 200 || !self.inbox.reusable() {
            return Err(failed(&answer.status));
        }
        if let Some((_, cookie)) = answer.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("set-cookie")) {
            let cookie = String::from_utf8_lossy(cookie);
            self.cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap_or_default());
        }
        let body = answer.body.to_vec();
        let mut asked = Vec::new();
        let known = key(&request, &mut asked);
        let answer = Answer::to(&request, whole).filter(|_| known).ok_or_else(|| failed(&"not for mail users"))?;
        self.answers.insert(asked, answer);
        Ok(body)
    }
}

/// Where a mail user can go from here without changing anything.
fn links(page: &ScannedPage<'_>) -> Vec<String> {
    let mut links: Vec<String> = [page.folders(), page.list()].into_iter().flatten().collect();
    links.extend((0..page.shows()).filter_map(|number| page.show(number)));
    links.extend(page.search().map(|form| {
        let mut hidden = String::new();
        form.push_hidden(&mut hidden);
        format!("{}?{hidden}&scope=all&q=the", form.action())
    }));
    links
}

/// What moves the first message of a list, and what deletes the last: paths and forms.
fn both_changes(page: &ScannedPage<'_>) -> Option<[(String, String); 2]> {
    let (refile, delete) = (page.refile()?, page.delete()?);
    let mut hidden = String::new();
    if refile.push_hidden(&mut hidden) || refile.rows() < 2 {
        return None;
    }
    let (first, last, to) = (refile.row(0)?, delete.row(delete.rows() - 1)?, refile.folder(0)?);
    Some([
        (refile.action().to_owned(), format!("{hidden}&message={first}&to={to}")),
        (delete.action().to_owned(), format!("{hidden}&message={last}")),
    ])
}
