//! The disk that holds the mail fills up, and has room again.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use arashi::store::{Store, StoreOptions};
use nix::unistd::geteuid;

use crate::{
    arashi::visit::{Answer, Visit},
    mail_service::of_alice,
};

/// Writes work again this long after there is room.
const RECOVERY: Duration = Duration::from_secs(5);

#[test]
fn writes_work_again_once_the_disk_has_room() {
    let home = tempfile::tempdir().expect("temporary directory");
    let Some(disk) = SmallDisk::mount(&home.path().join("disk"), "8m") else { return };
    let database = disk.0.join("mail.sqlite");
    let program = of_alice(home.path(), &database);
    let address = program.address();
    let mut visit = Visit::begin(&address, "alice", "secret").expect("signs in");
    visit.change("/createfolder", "name=before").expect("an answer");
    let mut told = vec!["before".to_owned()];

    let filler = disk.fill();
    let mut refused = Vec::new();
    for number in 0..100 {
        let Answer { status, body, .. } = create(&mut visit, &format!("full-{number}"));
        match status {
            200 => told.push(format!("full-{number}")),
            _ => refused.push((status, body)),
        }
        if refused.len() == 5 {
            break;
        }
    }
    assert_eq!(refused.len(), 5, "a full disk takes no folder: {told:?}");
    assert_eq!(visit.get("/folderlist").expect("an answer").status, 200, "what is there can be read");

    fs::remove_file(filler).expect("is removed");
    let room = Instant::now();
    let mut last = 0;
    while last != 200 && room.elapsed() < RECOVERY {
        last = create(&mut visit, "after").status;
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(last, 200, "a write {:?} after there is room", room.elapsed());
    told.push("after".to_owned());
    println!("the first write {:?} after there was room", room.elapsed());
    for number in 0..20 {
        let name = format!("later-{number}");
        assert_eq!(create(&mut visit, &name).status, 200, "{name}");
        told.push(name);
    }
    let codes: Vec<u16> = refused.iter().map(|(status, _)| *status).collect();
    assert!(
        codes.iter().all(|code| matches!(code, 507 | 503)),
        "each refused write says that there is no room: {codes:?}"
    );

    program.kill();
    assert_eq!(folders(&database), told, "what was acknowledged, and nothing else");
}

fn create(visit: &mut Visit, name: &str) -> Answer {
    visit.try_change("/createfolder", &format!("name={name}")).expect("an answer")
}

/// The folders that a killed program left, as they were made. The database is sound.
fn folders(database: &Path) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open(database, &StoreOptions::default()).await.expect("opens");
        assert_eq!(store.damage().await.expect("checks"), [""; 0]);
        let alice = store.account("alice").await.expect("account").expect("is there");
        let mut folders = store.folders(alice.id).await.expect("folders");
        folders.sort_by_key(|folder| folder.id);
        store.close().await.expect("closes");
        folders
            .into_iter()
            .map(|folder| folder.name)
            .filter(|name| !["inbox", "hello"].contains(&name.as_str()))
            .collect()
    })
}

/// A disk of its own in memory, gone when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None`: this user may not.
    fn mount(at: &Path, size: &str) -> Option<Self> {
        fs::create_dir(at).expect("a folder");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(at).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(at.to_owned()));
        }
        assert!(std::env::var_os("LAB_REQUIRE_TOOLS").is_none() || !geteuid().is_root(), "no tmpfs can be mounted");
        eprintln!("skipped: this user may not mount a tmpfs");
        None
    }

    /// Takes all room that is left.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = File::create(&path).expect("a file");
        for size in [1 << 16, 1 << 12, 1] {
            let bytes = vec![0; size];
            loop {
                match file.write_all(&bytes) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}
