//! `kill -9` under load: what was acknowledged is there after the restart, and nothing is there twice.
//!
//! The service runs as a process of its own: this test binary once more, told by its environment to serve or to import.
//! `MAIL_KILLS` says how many times it is killed (5 unless told otherwise).

#[allow(dead_code, reason = "shared with other tests, which use other parts of it")]
#[path = "target/common.rs"]
mod common;

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use target_app::{
    mail::{
        corpus::{self, CorpusSpec},
        deliver::{self, Recipient},
        store::{EntryId, FolderId, Order, Store, StoreOptions, UserId},
    },
    serve::serve_blocking,
    spec::{App, TargetSpec, WorkSpec},
};

const DATABASE: &str = "MAIL_KILL_DATABASE";
const MAIL: &str = "MAIL_KILL_MAIL";
const USERS: usize = 3;

fn kills() -> u32 {
    env::var("MAIL_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(5)
}

/// This program again, in a role.
fn again(role: &str, database: &Path, mail: &Path) -> Child {
    Command::new(env::current_exe().expect("has a path"))
        .args(["--ignored", "--exact", role, "--nocapture"])
        .env(DATABASE, database)
        .env(MAIL, mail)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts")
}

#[test]
#[ignore = "a role of the tests below, not a test"]
fn role_serve() {
    let Ok(database) = env::var(DATABASE) else { return };
    let app = App::Arashi {
        database: database.into(),
        connections: 2,
        work: WorkSpec::default(),
        session_in_links: false,
        full_text: false,
        durability: target_app::spec::Durability::Normal,
    };
    let spec = TargetSpec { app, die_with_parent: true, ..common::spec() };
    serve_blocking(spec, |ready| println!("\nREADY {}", ready.url.trim_start_matches("http://"))).expect("serves");
}

#[test]
#[ignore = "a role of the tests below, not a test"]
fn role_import() {
    let (Ok(database), Ok(mail)) = (env::var(DATABASE), env::var(MAIL)) else { return };
    println!("\nREADY");
    let done = deliver::import(Path::new(&database), &recipient(), &[PathBuf::from(mail)]).expect("imports");
    println!("DONE {}", done.imported);
}

/// Waits for the line that begins with `word`, and gives the rest of it.
fn line_of(child: &mut Child, word: &str) -> String {
    let out = child.stdout.as_mut().expect("piped");
    let mut lines = BufReader::new(out).lines().map_while(Result::ok);
    let line = lines.find(|line| line.starts_with(word)).expect("the process says so");
    line[word.len()..].trim().to_owned()
}

/// Where a message may be, as far as its user was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    In(FolderId),
    Deleted,
}

/// One user's mail as it has to be.
struct Model {
    user: UserId,
    name: String,
    password: String,
    inbox: FolderId,
    other: FolderId,
    /// Where each message is. Two places: the last request was not answered.
    messages: BTreeMap<EntryId, Vec<Place>>,
    /// Whether each folder made by the test is there; `None`: not told.
    folders: BTreeMap<String, Option<bool>>,
}

/// One connection, signed in.
struct Visit {
    stream: TcpStream,
    cookie: String,
    csrf: String,
}

impl Visit {
    fn begin(address: &str, model: &Model) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let mut visit = Self { stream, cookie: String::new(), csrf: String::new() };
        let (head, page) = visit.post("/login", &format!("user={}&password={}", model.name, model.password))?;
        visit.cookie = between(&head, "session=", ";")?.to_owned();
        visit.csrf = between(&page, "name=\"csrf\" value=\"", "\"")?.to_owned();
        Some(visit)
    }

    /// `None`: the connection broke before the whole answer was here.
    fn post(&mut self, path: &str, body: &str) -> Option<(String, String)> {
        let Self { cookie, .. } = &self;
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncookie: session={cookie}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).ok()?;
        let (status, head, body) = try_answer(&mut self.stream)?;
        let body = String::from_utf8_lossy(&body).into_owned();
        assert_eq!(status, 200, "{path}: {}", between(&body, "<main", "<ul").unwrap_or(&body));
        Some((head, body))
    }

    /// A change: its page, if it was acknowledged.
    fn change(&mut self, path: &str, fields: &str) -> Option<String> {
        let body = format!("csrf={}&{fields}", self.csrf);
        let (_, page) = self.post(path, &body)?;
        assert!(page.contains("data-done="), "{page}");
        Some(page)
    }
}

/// Like `common::answer`, for a service that may die at any moment.
fn try_answer(stream: &mut TcpStream) -> Option<(u16, String, Vec<u8>)> {
    use std::io::Read;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length?];
    stream.read_exact(&mut body).ok()?;
    Some((status, head, body))
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split(before).nth(1)?.split(after).next()
}

/// Changes one thing after the other until the service is gone; remembers what it was told.
fn live(model: &mut Model, address: &str, round: u32) {
    let Some(mut visit) = Visit::begin(address, model) else { return };
    let at_home: Vec<EntryId> = model
        .messages
        .iter()
        .filter(|(_, places)| **places == [Place::In(model.inbox)])
        .map(|(entry, _)| *entry)
        .collect();
    for (i, entry) in at_home.into_iter().enumerate() {
        let (inbox, other) = (model.inbox, model.other);
        let (path, fields, next) = match i % 3 {
            0 => ("/delete", format!("folderid={inbox}&message={entry}"), Place::Deleted),
            _ => ("/refile", format!("folderid={inbox}&message={entry}&to={other}"), Place::In(other)),
        };
        let told = visit.change(path, &fields).is_some();
        let places = if told { vec![next] } else { vec![Place::In(inbox), next] };
        model.messages.insert(entry, places);
        if !told {
            return;
        }
        if i % 5 == 0 && !change_folders(model, &mut visit, &format!("f-{round}-{i}"), i % 50 == 0) {
            return;
        }
    }
}

/// Makes a folder, and deletes it again unless it is to be kept. Whether both were acknowledged.
fn change_folders(model: &mut Model, visit: &mut Visit, name: &str, keep: bool) -> bool {
    let page = visit.change("/createfolder", &format!("name={name}"));
    model.folders.insert(name.to_owned(), page.is_some().then_some(true));
    let Some(page) = page else { return false };
    if keep {
        return true;
    }
    let id = between(&page, "data-do=\"list\" href=\"/list?folderid=", "\"").expect("a link to the new folder");
    let told = visit.change("/deletefolder", &format!("folderid={id}")).is_some();
    model.folders.insert(name.to_owned(), told.then_some(false));
    told
}

/// Opens what the killed service left and compares it with what users were told. What they were not told is now known.
async fn check(database: &Path, models: &mut [Model]) -> usize {
    let store = Store::open(database, &StoreOptions::default()).await.expect("opens again");
    assert_eq!(store.damage().await.expect("checks"), [""; 0]);
    let mut changed = 0;
    for model in models {
        let folders = store.folders(model.user).await.expect("folders");
        let mut found: BTreeMap<EntryId, Vec<Place>> = BTreeMap::new();
        for folder in &folders {
            for start in (0..folder.messages as u32).step_by(10) {
                let rows = store.list(model.user, folder.id, Order::default(), start).await.expect("list");
                rows.iter().for_each(|row| found.entry(row.entry).or_default().push(Place::In(folder.id)));
            }
        }
        let mut total = 0;
        for (entry, places) in &mut model.messages {
            let mut is = found.remove(entry).unwrap_or_default();
            assert!(is.len() <= 1, "{entry} is there twice: {is:?}");
            let is = is.pop().unwrap_or(Place::Deleted);
            assert!(places.contains(&is), "{entry} of {}: told {places:?}, is {is:?}", model.name);
            changed += usize::from(is != Place::In(model.inbox));
            total += i64::from(is != Place::Deleted);
            *places = vec![is];
        }
        let of_test: i64 =
            folders.iter().filter(|f| f.id == model.inbox || f.id == model.other).map(|f| f.messages).sum();
        assert_eq!(of_test, total, "no message came from nowhere");
        for (name, told) in &mut model.folders {
            let there = folders.iter().filter(|folder| folder.name == *name).count();
            assert!(there <= 1, "{name} is there twice");
            assert!(told.is_none_or(|told| told == (there == 1)), "{name}: told {told:?}, is there {there} times");
            *told = Some(there == 1);
        }
    }
    store.close().await.expect("closes");
    changed
}

async fn models(database: &Path, spec: &CorpusSpec) -> Vec<Model> {
    let store = Store::open(database, &StoreOptions::default()).await.expect("opens");
    let mut models = Vec::new();
    for (name, password) in corpus::accounts(spec) {
        let user = store.account(&name).await.expect("account").expect("is there").id;
        let folders = store.folders(user).await.expect("folders");
        let (inbox, other) = (folders[0].id, folders[1].id);
        let mut messages = BTreeMap::new();
        for folder in [&folders[0], &folders[1]] {
            for start in (0..folder.messages as u32).step_by(10) {
                let rows = store.list(user, folder.id, Order::default(), start).await.expect("list");
                messages.extend(rows.iter().map(|row| (row.entry, vec![Place::In(folder.id)])));
            }
        }
        models.push(Model { user, name, password, inbox, other, messages, folders: BTreeMap::new() });
    }
    store.close().await.expect("closes");
    models
}

#[test]
fn what_was_acknowledged_survives() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let database = dir.path().join("mail.sqlite");
    let kills = kills();
    let size = 300 * kills.div_ceil(5);
    let spec = CorpusSpec {
        users: USERS as u32,
        inbox_min: size,
        inbox_max: size,
        inbox_median: f64::from(size),
        ..CorpusSpec::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    runtime.block_on(corpus::build(&spec, &database)).expect("builds");
    let mut models = runtime.block_on(models(&database, &spec));
    let mut changed = 0;
    for round in 0..kills {
        let mut child = again("role_serve", &database, Path::new(""));
        let address = line_of(&mut child, "READY");
        let began = Instant::now();
        // Different moments of the work, the same in every run of the test.
        let life = Duration::from_millis(60 + u64::from(round * 37 % 90));
        thread::scope(|scope| {
            for model in &mut models {
                let address = &address;
                scope.spawn(move || live(model, address, round));
            }
            thread::sleep(life.saturating_sub(began.elapsed()));
            child.kill().expect("can be killed");
        });
        child.wait().expect("is gone");
        let now = runtime.block_on(check(&database, &mut models));
        assert!(now >= changed, "what was done is undone");
        changed = now;
    }
    println!("{kills} kills, {changed} changes");
    assert!(changed > kills as usize, "there was hardly any load: {changed} changes");
}

fn recipient() -> Recipient {
    Recipient { name: "carol".to_owned(), password: "secret".to_owned() }
}

#[test]
fn an_import_that_is_killed_goes_on_where_it_was() {
    // Enough that a fast machine is still at it when the first batch has been looked at.
    const MESSAGES: u32 = 40_000;
    let dir = tempfile::tempdir().expect("temporary directory");
    let (database, file) = (dir.path().join("mail.sqlite"), dir.path().join("friends.mbox"));
    let mut mbox = String::new();
    for i in 0..MESSAGES {
        let _ = write!(mbox, "From a@b Fri Sep 13 14:05:00 2002\nFrom: a@b\nSubject: {i}\n\nHello {i}\n\n");
    }
    std::fs::write(&file, mbox).expect("writes");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    let stored = || {
        runtime.block_on(async {
            let Ok(store) = Store::open(&database, &StoreOptions::default()).await else { return 0 };
            assert_eq!(store.damage().await.expect("checks"), [""; 0]);
            let Some(carol) = store.account("carol").await.expect("account") else { return 0 };
            let folders = store.folders(carol.id).await.expect("folders");
            store.close().await.expect("closes");
            folders.iter().map(|folder| folder.messages).sum::<i64>()
        })
    };
    let mut before = 0;
    for round in 0..kills() {
        let mut child = again("role_import", &database, &file);
        line_of(&mut child, "READY");
        let end = Instant::now() + Duration::from_secs(20);
        // Once a batch is in, and then at some moment of one of the next.
        while stored() <= before && before < i64::from(MESSAGES) && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(u64::from(round * 7 % 40)));
        child.kill().expect("can be killed");
        child.wait().expect("is gone");
        let now = stored();
        assert!(now >= before && now <= i64::from(MESSAGES), "{before}, then {now}");
        assert!(round > 0 || now < i64::from(MESSAGES), "the first kill came too late to hit anything");
        before = now;
    }
    assert!(before > 0, "it was killed before it had done anything");
    let mut child = again("role_import", &database, &file);
    let imported: i64 = line_of(&mut child, "DONE").parse().expect("a number");
    child.wait().expect("is gone");
    assert_eq!(before + imported, i64::from(MESSAGES), "the rest, and nothing again");
    assert_eq!(stored(), i64::from(MESSAGES), "what was acknowledged is there");
    println!("{before} messages were stored when it was killed for the last time");
}
