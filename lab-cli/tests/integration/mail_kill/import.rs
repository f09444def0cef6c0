//! Files of mail, imported by a program that is killed meanwhile or just afterwards.

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use arashi::store::{Folder, ListOrder, Store, StoreOptions, UserId};

use super::model::blocking;
use crate::arashi::{Mail, Program};

const USER: &str = "carol";
/// In each file: several batches.
const MESSAGES: i64 = 1000;

/// When to kill.
#[derive(Debug, Clone, Copy)]
pub enum When {
    /// Once the import was acknowledged.
    Acknowledged,
    /// After that part of the time that a whole import took.
    Part(f64),
}

/// All files so far; the last one is the one that is being imported.
pub struct Imports {
    home: PathBuf,
    files: Vec<File>,
    /// How long it took from the start of the program to the acknowledgement of a file of which nothing was there.
    whole: Option<Duration>,
    /// Kills that left a part of a file.
    left_parts: u32,
}

#[derive(Clone, Copy)]
struct File {
    acknowledged: bool,
    /// Found at the last look.
    stored: i64,
}

pub struct Importing {
    program: Program,
    began: Instant,
}

/// What the program says when an import is done.
#[derive(Debug, PartialEq, Eq)]
struct Acknowledgement {
    read: i64,
    imported: i64,
    known: i64,
    skipped: i64,
}

impl Imports {
    pub fn new(home: &Path) -> Self {
        fs::create_dir(home.join("mail")).expect("a folder");
        Self { home: home.to_owned(), files: Vec::new(), whole: None, left_parts: 0 }
    }

    /// Starts to import: the file that is not acknowledged yet, or a new one.
    pub fn begin(&mut self, database: &Path) -> Importing {
        if self.files.last().is_none_or(|file| file.acknowledged) {
            write_file(&self.path(self.files.len()), self.files.len());
            self.files.push(File { acknowledged: false, stored: 0 });
        }
        let path = self.path(self.files.len() - 1);
        let began = Instant::now();
        Importing { program: Program::serve(&self.home, database, Some(Mail { path: &path, user: USER })), began }
    }

    /// Waits for the moment to kill it.
    pub fn wait(&mut self, importing: &Importing, when: When) {
        match when {
            When::Acknowledged => {
                let line = importing.program.says(Duration::MAX).expect("it says that it is done");
                if self.current().stored == 0 {
                    self.whole = Some(importing.began.elapsed());
                }
                self.acknowledged(&line);
            }
            When::Part(part) => {
                let whole = self.whole.expect("the first one is imported whole");
                let left = whole.mul_f64(part).saturating_sub(importing.began.elapsed());
                if let Some(line) = importing.program.says(left) {
                    self.acknowledged(&line);
                }
            }
        }
    }

    /// Kills it. What it said until then counts.
    pub fn killed(&mut self, importing: Importing) {
        for line in importing.program.kill() {
            self.acknowledged(&line);
        }
    }

    fn acknowledged(&mut self, line: &str) {
        let stored = self.current().stored;
        let wanted = Acknowledgement { read: MESSAGES, imported: MESSAGES - stored, known: stored, skipped: 0 };
        assert_eq!(Acknowledgement::read(line), wanted, "the rest, and nothing again");
        self.current().acknowledged = true;
    }

    fn current(&mut self) -> &mut File {
        self.files.last_mut().expect("one has begun")
    }

    fn path(&self, number: usize) -> PathBuf {
        self.home.join("mail").join(format!("{}.mbox", folder(number)))
    }

    /// Compares what is there with what was acknowledged.
    pub fn check(&mut self, database: &Path) {
        let Some(newest) = self.files.len().checked_sub(1) else { return };
        blocking(async {
            let store = Store::open(database, &StoreOptions::default()).await.expect("opens");
            match store.account(USER).await.expect("account") {
                Some(user) => {
                    let folders = store.folders(user.id).await.expect("folders");
                    for number in 0..self.files.len() {
                        let found = folders.iter().find(|found| found.name == folder(number));
                        self.files[number].check(number, found.map_or(0, |found| found.messages));
                        if let Some(found) = found.filter(|_| number == newest) {
                            each_once(&store, user.id, found).await;
                        }
                    }
                }
                None => assert!(newest == 0 && !self.files[0].acknowledged, "the account is lost"),
            }
            store.close().await.expect("closes");
        });
        let newest = &self.files[newest];
        self.left_parts += u32::from(!newest.acknowledged && (1..MESSAGES).contains(&newest.stored));
    }

    /// Imports all files once more, as one folder: what is missing comes in, and nothing comes again.
    pub fn finish(&mut self, database: &Path) {
        let mail = Mail { path: &self.home.join("mail"), user: USER };
        let program = Program::serve(&self.home, database, Some(mail));
        let line = program.says(Duration::MAX).expect("it says that it is done");
        program.kill();
        let all = MESSAGES * i64::try_from(self.files.len()).expect("few");
        let known = self.files.iter().map(|file| file.stored).sum();
        let wanted = Acknowledgement { read: all, imported: all - known, known, skipped: 0 };
        assert_eq!(Acknowledgement::read(&line), wanted, "the rest, and nothing again");
        self.current().acknowledged = true;
        self.check(database);
    }

    /// Panics if the kills missed what they were meant to hit.
    pub fn were_hit(&self) {
        assert!(self.left_parts > 0, "no kill hit an import");
        assert!(self.files.len() > 2, "hardly anything was imported");
    }
}

impl fmt::Display for Imports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} files of {MESSAGES} messages, {} kills left a part of one", self.files.len(), self.left_parts)
    }
}

impl File {
    fn check(&mut self, number: usize, stored: i64) {
        assert!((self.stored..=MESSAGES).contains(&stored), "file {number}: {} messages, then {stored}", self.stored);
        assert!(!self.acknowledged || stored == MESSAGES, "file {number}: acknowledged, and {stored} are there");
        self.stored = stored;
    }
}

impl Acknowledgement {
    fn read(line: &str) -> Self {
        let numbers: Vec<i64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [read, imported, known, skipped] = numbers[..] else { panic!("{line:?}") };
        Self { read, imported, known, skipped }
    }
}

fn folder(number: usize) -> String {
    format!("friends-{number}")
}

fn write_file(path: &Path, number: usize) {
    let mut mbox = String::new();
    for i in 0..MESSAGES {
        let _ = write!(mbox, "From a@b Fri Sep 13 14:05:00 2002\nFrom: a@b\nSubject: {number}-{i}\n\nHello {i}\n\n");
    }
    fs::write(path, mbox).expect("writes");
}

/// No message of the folder is there twice.
async fn each_once(store: &Store, user: UserId, folder: &Folder) {
    let mut subjects = BTreeSet::new();
    for start in (0..u32::try_from(folder.messages).expect("a count")).step_by(10) {
        for row in store.list(user, folder.id, ListOrder::default(), start).await.expect("list") {
            assert!(subjects.insert(row.subject.clone()), "{} is there twice", row.subject);
        }
    }
    assert_eq!(subjects.len(), usize::try_from(folder.messages).expect("a count"));
}
