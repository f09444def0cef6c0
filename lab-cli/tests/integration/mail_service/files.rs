//! What the service leaves on the disk, and takes from it.

use std::{
    fs::{self, metadata},
    os::unix::fs::PermissionsExt,
    path::Path,
    time::Duration,
};

use crate::{
    arashi::{Mail, Program, visit::Visit},
    mail_service::of_alice,
};

fn mode(path: &Path) -> u32 {
    metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode() & 0o777
}

#[test]
fn mail_is_for_its_owner_alone() {
    let home = tempfile::tempdir().expect("temporary directory");
    let database = home.path().join("mail.sqlite");
    let program = of_alice(home.path(), &database);
    let mut visit = Visit::begin(&program.address(), "alice", "secret").expect("signs in");
    visit.change("/createfolder", "name=new").expect("an answer");
    for suffix in ["", "-wal", "-shm"] {
        let path = home.path().join(format!("mail.sqlite{suffix}"));
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    // Generated mail: kept in the cache, and copied to where it is served from.
    let other = home.path().join("generated.sqlite");
    let generated = Program::serve(home.path(), &other, None);
    generated.address();
    assert_eq!(mode(&other), 0o600);
    let cache = home.path().join("cache");
    let mut seen = 0;
    let mut folders = vec![cache];
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in fs::read_dir(&folder).expect("reads").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|end| end == "sqlite") {
                assert_eq!(mode(&entry.path()), 0o600, "{}", entry.path().display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 1, "generated mail is in the cache");
}

#[test]
fn a_message_in_two_folders_is_in_both() {
    let home = tempfile::tempdir().expect("temporary directory");
    let maildir = home.path().join("Maildir");
    for folder in ["", ".Sent", ".Lists.Rust"] {
        for sub in ["cur", "new"] {
            fs::create_dir_all(maildir.join(folder).join(sub)).expect("a folder");
        }
        let text = "From: a@example.org\nSubject: hello\n\nHello\n";
        fs::write(maildir.join(folder).join("cur/1:2,S"), text).expect("writes");
    }
    // All of it; or one folder after the other.
    let whole = ["Maildir"].as_slice();
    let each = ["Maildir/.Sent", "Maildir/.Lists.Rust"].as_slice();
    for (paths, wanted) in
        [(whole, ["inbox", "Lists/Rust", "Sent"].as_slice()), (each, ["Lists/Rust", "Sent"].as_slice())]
    {
        let database = home.path().join(format!("{}.sqlite", paths.len()));
        let mut last = None;
        for path in paths {
            let mail = Mail { path: &home.path().join(path), user: "alice" };
            let program = Program::serve(home.path(), &database, Some(mail));
            let address = program.address();
            let messages = if *path == "Maildir" { 3 } else { 1 };
            let told = program.says(Duration::from_secs(1));
            let told_wanted = format!("{messages} messages read: {messages} imported, 0 known already, 0 skipped");
            assert_eq!(told, Some(told_wanted), "{path}");
            last = Visit::begin(&address, "alice", "secret").and_then(|mut visit| visit.get("/folderlist"));
        }
        let page = last.expect("an answer").body;
        for folder in wanted {
            assert!(page.contains(&format!("{folder}</a><span class=\"count\">1 message</span>")), "{folder}: {page}");
        }
    }
}
