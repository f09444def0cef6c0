//! Imports mail from files into an account.

use std::{
    path::{Path, PathBuf},
    thread,
};

use super::{
    import::{self, ImportProblem, ImportReason, MailPlace, Messages, RawMail, Summary},
    parse::parse,
    password::{self, PasswordCost},
    store::{Filled, MAX_FOLDERS, NewMessage, Store, StoreError, StoreOptions, UserId},
};

/// The limits of a transaction, in messages and in bytes: large enough that the log is synced rarely, small enough that
/// other writers wait briefly and memory is bounded.
const BATCH_MESSAGES: usize = 200;
const BATCH_BYTES: usize = 8 << 20;

/// Why an import stopped. The batches stored before it stay stored; another import continues from there.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// There is no mail to read.
    #[error(transparent)]
    Open(#[from] import::OpenError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An account needs both.
    #[error("an account needs a name of 1 to 200 bytes and a password of 1 to 1024")]
    Account,
    /// No thread or runtime could be created.
    #[error("import: {0}")]
    Runtime(#[from] std::io::Error),
}

/// The recipient of the mail: an account of a person, whose password hash has the recommended cost.
#[derive(Clone)]
pub struct Recipient {
    /// The name to sign in with.
    pub name: String,
    /// The password. An existing account gets this one.
    pub password: String,
}

/// Omits the password.
impl std::fmt::Debug for Recipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recipient").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Imports mbox files, maildirs and folders of messages into the account of `recipient` in `database` (created if it
/// does not exist). Blocks. Importing the same again adds nothing.
///
/// # Errors
/// If a path has no mail, or the store fails. A bad message is no error: the summary counts it.
pub fn import(database: &Path, recipient: &Recipient, paths: &[PathBuf]) -> Result<Summary, DeliverError> {
    let fits = (1..=200).contains(&recipient.name.len()) && (1..=1024).contains(&recipient.password.len());
    if !fits {
        return Err(DeliverError::Account);
    }
    // All are opened before anything is stored: a mistyped path must not leave half an import.
    let sources = paths.iter().map(|path| import::open(path)).collect::<Result<Vec<_>, _>>()?;
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        runtime.block_on(async {
            let store = Store::create(database, &StoreOptions { readers: 1, ..StoreOptions::default() }).await?;
            let mut salt = [0; 16];
            getrandom::fill(&mut salt).map_err(|error| std::io::Error::other(error.to_string()))?;
            let hash = password::hash(&recipient.password, &salt, PasswordCost::Recommended);
            let user = store.set_account(&recipient.name, &hash).await?;
            let mut summary = Summary::default();
            for source in sources {
                deliver(&store, user, source, &mut summary).await?;
            }
            store.close().await?;
            Ok(summary)
        })
    };
    // On a thread of its own, so that it can also be called from inside a runtime.
    thread::scope(|scope| match scope.spawn(run).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Stores all mail of `source` in the user's folders, and counts it.
///
/// # Errors
/// Any error of the store; earlier batches are stored.
pub async fn deliver(store: &Store, user: UserId, source: Messages, summary: &mut Summary) -> Result<(), StoreError> {
    let mut batch = Batch::default();
    for found in source {
        match found.and_then(read) {
            Ok(found) => batch.push(found),
            Err(problem) => summary.count_skipped(problem),
        }
        if batch.is_full() {
            batch.store(store, user, summary).await?;
        }
    }
    batch.store(store, user, summary).await
}

fn read(found: RawMail) -> Result<Read, ImportProblem> {
    match parse(&found.raw, found.received) {
        Ok(message) => Ok(Read { folder: found.folder, place: found.place, message }),
        Err(problem) => Err(ImportProblem { place: found.place, reason: ImportReason::NotParsed(problem) }),
    }
}

/// A parsed message.
#[derive(Debug)]
struct Read {
    folder: String,
    place: MailPlace,
    message: NewMessage,
}

/// The messages of the next transaction.
#[derive(Debug, Default)]
struct Batch {
    messages: Vec<Read>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, found: Read) {
        let message = &found.message;
        let attached: usize = message.attachments.iter().map(|a| a.content.len()).sum();
        self.bytes += message.text.len() + message.html.as_ref().map_or(0, String::len) + attached;
        self.messages.push(found);
    }

    fn is_full(&self) -> bool {
        self.messages.len() >= BATCH_MESSAGES || self.bytes >= BATCH_BYTES
    }

    /// Stores the batch and empties it. Counts only committed messages, and those for which the account has no folder.
    async fn store(&mut self, store: &Store, user: UserId, summary: &mut Summary) -> Result<(), StoreError> {
        if self.messages.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        let mut became = Vec::with_capacity(self.messages.len());
        let mut fill = store.fill().await?;
        for Read { folder, place, message } in self.messages.drain(..) {
            became.push(match fill.folder(user, &folder).await? {
                Some(id) => Ok(fill.import(user, &folder, id, &message).await?),
                None => Err(ImportProblem { place, reason: ImportReason::TooManyFolders { limit: MAX_FOLDERS } }),
            });
        }
        fill.commit().await?;
        for filled in became {
            match filled {
                Ok(Filled::Stored) => summary.count_imported(),
                Ok(Filled::Known) => summary.count_known(),
                Err(problem) => summary.count_skipped(problem),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::{
        html,
        store::{ListOrder, Scope},
    };

    fn mbox(messages: u32) -> String {
        let mut file = String::new();
        for i in 0..messages {
            let _ = write!(
                file,
                "From a@example.org Fri Sep 13 14:05:00 2002\nFrom: =?utf-8?q?J=C3=BCrgen?= <j@example.org>\n\
                 To: all@example.org\nCc: some@example.org\nSubject: Number {i}\nDate: Fri, 13 Sep 2002 14:05:{:02} +0000\n\n\
                 Hello {i}\n\n",
                i % 60
            );
        }
        file
    }

    fn recipient() -> Recipient {
        Recipient { name: "carol".to_owned(), password: "secret".to_owned() }
    }

    #[test]
    fn an_mbox_becomes_a_folder_once() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let database = dir.path().join("mail.sqlite");
        let file = dir.path().join("friends.mbox");
        std::fs::write(&file, mbox(450)).expect("writes");
        let summary = import(&database, &recipient(), std::slice::from_ref(&file)).expect("imports");
        assert_eq!((summary.read, summary.imported, summary.known), (450, 450, 0));
        std::fs::write(&file, mbox(451)).expect("writes");
        let summary = import(&database, &recipient(), std::slice::from_ref(&file)).expect("imports");
        assert_eq!((summary.read, summary.imported, summary.known), (451, 1, 450));

        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("runtime");
        runtime.block_on(async {
            let store = Store::open(&database, &StoreOptions::default()).await.expect("opens");
            let carol = store.account("carol").await.expect("account").expect("is there");
            assert!(password::verify("secret", &carol.password) && password::is_expensive(&carol.password));
            let folders = store.folders(carol.id).await.expect("folders");
            let names: Vec<_> = folders.iter().map(|f| (f.name.as_str(), f.messages)).collect();
            assert_eq!(names, [("inbox", 0), ("friends", 451)]);
            let row = store.list(carol.id, folders[1].id, ListOrder::default(), 0).await.expect("list").remove(0);
            assert_eq!((row.author.as_str(), row.subject.as_str()), ("Jürgen", "Number 419"));
            let message = store.message(carol.id, row.folder, row.entry).await.expect("reads").expect("is there");
            assert_eq!(message.recipients, "all@example.org, some@example.org");
            assert_eq!(message.text.trim_end(), "Hello 419");
            assert_eq!(message.html_version, html::VERSION);
            let hits = store.search(carol.id, Scope::All, "jürgen", 0).await.expect("search").expect("all");
            assert_eq!(hits.rows.len(), 10, "encoded words are searched decoded");
        });
    }

    #[test]
    fn mail_of_folders_beyond_the_limit_is_left_out_and_counted() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let (database, folders) = (dir.path().join("mail.sqlite"), dir.path().join("mail"));
        std::fs::create_dir(&folders).expect("is made");
        // In addition to the inbox, 199 more fit.
        for i in 0..202 {
            std::fs::write(folders.join(format!("f{i}.mbox")), mbox(1)).expect("writes");
        }
        let paths = [folders];
        for _ in 0..2 {
            let summary = import(&database, &recipient(), &paths).expect("imports");
            assert_eq!((summary.read, summary.imported + summary.known), (202, 199));
            assert_eq!(summary.skipped.get("too many folders"), Some(&3));
            assert!(summary.problems[0].to_string().contains("200 folders"), "{}", summary.problems[0]);
        }
    }

    #[test]
    fn html_that_is_refused_leaves_its_reason() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let (database, file) = (dir.path().join("mail.sqlite"), dir.path().join("deep.mbox"));
        let html = "Content-Type: text/html\n\n".to_owned() + &"<div>".repeat(2000) + "deep";
        std::fs::write(&file, mbox(1).replace("\n\nHello 0", &format!("\n{html}"))).expect("writes");
        import(&database, &recipient(), std::slice::from_ref(&file)).expect("imports");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("runtime");
        runtime.block_on(async {
            let store = Store::open(&database, &StoreOptions::default()).await.expect("opens");
            let carol = store.account("carol").await.expect("account").expect("is there");
            let folder = store.folders(carol.id).await.expect("folders")[1].id;
            let row = store.list(carol.id, folder, ListOrder::default(), 0).await.expect("list").remove(0);
            let message = store.message(carol.id, folder, row.entry).await.expect("reads").expect("is there");
            assert_eq!((message.html, message.text.trim_end()), (None, "deep"));
            let problem = message.html_problem.expect("a reason");
            assert!(problem.contains("deeper"), "{problem}");
        });
    }

    #[test]
    fn a_wrong_path_or_name_imports_nothing() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let database = dir.path().join("mail.sqlite");
        let file = dir.path().join("a.mbox");
        std::fs::write(&file, mbox(1)).expect("writes");
        let paths = [file, dir.path().join("missing")];
        let error = import(&database, &recipient(), &paths).expect_err("is missing").to_string();
        assert!(error.contains("missing"), "{error}");
        let nameless = Recipient { name: String::new(), ..recipient() };
        assert!(matches!(import(&database, &nameless, &paths[..1]), Err(DeliverError::Account)));
        assert!(!database.exists());
    }
}
