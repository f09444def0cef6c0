//! The cost of requests. Prints figures without limits: they depend on the machine and on the build.

use std::path::Path;

use nix::sys::resource::{UsageWho, getrusage};
use service_core::mail::CorpusSpec;

use super::*;
use crate::corpus;

/// CPU time of the whole process, microseconds: SQLite runs on threads of its own.
fn cpu_us() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("this process has one");
    let us = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64;
    us(usage.user_time()) + us(usage.system_time())
}

async fn open(database: &Path) -> Arashi {
    let spec = ArashiSpec { connections: 2, ..ArashiSpec::default() };
    Arashi::open(database, &WorkSpec::default(), &spec).await.expect("opens")
}

#[tokio::test]
#[ignore = "prints costs on this machine; docs/benchmarks.md: cargo test --release -p arashi --lib costs::costs -- --ignored --nocapture"]
async fn costs() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let database = dir.path().join("mail.sqlite");
    let spec = CorpusSpec { users: 10, ..CorpusSpec::default() };
    corpus::build(&spec, &database).await.expect("builds");
    let arashi = open(&database).await;
    let world = World { arashi, _dir: dir };
    let mut inboxes = Vec::new();
    for (name, password) in service_core::mail::accounts(&spec) {
        let (mut browser, _) = world.sign_in(&name, &password).await;
        let folders = world.read(&mut browser, "/folderlist").await;
        inboxes.push((browser, folders.links("list")[0].clone(), folders.body.contains("12794 messages")));
    }
    let (mut ann, inbox, _) = inboxes.into_iter().find(|(.., largest)| *largest).expect("one has the largest");
    let list = world.read(&mut ann, &inbox).await;
    let show = list.links("show")[3].clone();
    let folder = inbox.split('=').nth(1).expect("id").to_owned();
    let paths = [
        ("sign-in page", "/".to_owned()),
        ("list folders", "/folderlist".to_owned()),
        ("list messages", inbox.clone()),
        ("list messages, row 6000", format!("{inbox}&start=6000")),
        ("list messages, by author", format!("{inbox}&sort=author")),
        ("show message", show.clone()),
        ("search, common word", format!("/search?folderid={folder}&scope=folder&q=example")),
        ("search, nothing found", format!("/search?folderid={folder}&scope=folder&q=zebra")),
    ];
    for (name, path) in &paths {
        let rounds = if name.contains("author") || name.contains("nothing") { 10 } else { 500 };
        world.read(&mut ann, path).await;
        let before = cpu_us();
        for _ in 0..rounds {
            assert_eq!(world.read(&mut ann, path).await.status, StatusCode::OK);
        }
        println!("{name:28} {:9.1} us", (cpu_us() - before) / f64::from(rounds));
    }
    world.arashi.store.work().set(9, 1.0);
    let before = cpu_us();
    for _ in 0..1000 {
        world.arashi.store.do_work(9, 0, 1.0).await.expect("works");
    }
    println!("{:28} {:9.1} us", "one operation of work", (cpu_us() - before) / 1000.0);
    let before = cpu_us();
    for _ in 0..200 {
        world.sign_in("user0000", &service_core::mail::accounts(&spec)[0].1).await;
    }
    println!("{:28} {:9.1} us", "login", (cpu_us() - before) / 200.0);
}
