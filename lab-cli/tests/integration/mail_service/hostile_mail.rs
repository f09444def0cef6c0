//! Mail that is made to keep the service busy.

use std::{fmt::Write as _, time::Duration};

use crate::arashi::{
    Mail, Program,
    visit::{Visit, between},
};

/// A build with optimisation has all of it in within 0.2 s each; one without takes some ten times as long, beside other tests.
const PATIENCE: Duration = Duration::from_secs(40);

#[test]
fn hostile_html_does_not_keep_an_import() {
    let mut cases = vec![
        "<rt>".repeat(127_000),
        "<rp>".repeat(127_000),
        "<rt>".repeat(65_000) + &"</i>".repeat(60_000),
        "<rt>".repeat(55_000) + &"</x>".repeat(65_000),
        "<optgroup>".repeat(50_000),
        "<optgroup>".repeat(30_000) + &"</x>".repeat(40_000),
        "&".repeat(500_000),
    ];
    let attributes = (0..60_000).fold(String::new(), |mut all, number| {
        let _ = write!(all, "a{number:x}=\"\"");
        all
    });
    cases.push(format!("<a {attributes}>x</a>"));
    let mut mbox = String::new();
    for (number, html) in cases.iter().enumerate() {
        let _ = write!(
            mbox,
            "From a Mon Jan  1 00:00:0{number} 2024\nFrom: a@example.org\nSubject: case {number}\nContent-Type: text/html\n\n{html}\n\n"
        );
    }
    let home = tempfile::tempdir().expect("temporary directory");
    let file = home.path().join("hostile.mbox");
    std::fs::write(&file, mbox).expect("writes");
    let mail = Mail { path: &file, user: "alice" };
    let program = Program::serve(home.path(), &home.path().join("mail.sqlite"), Some(mail));
    let address = program.address_within(PATIENCE);
    let count = cases.len();
    assert_eq!(
        program.says(Duration::from_secs(1)),
        Some(format!("{count} messages read: {count} imported, 0 known already, 0 skipped"))
    );

    let mut visit = Visit::begin(&address, "alice", "secret").expect("signs in");
    let folders = visit.get("/folderlist").expect("an answer").body;
    let folder =
        folders.split("data-do=\"list\" href=\"").filter_map(|rest| rest.split('"').next()).last().expect("a folder");
    let list = visit.get(&folder.replace("&amp;", "&")).expect("an answer").body;
    let first = between(&list, "data-do=\"show\" href=\"", "\"").expect("a message").replace("&amp;", "&");
    let shown = visit.get(&first).expect("an answer");
    assert_eq!(shown.status, 200);
    assert!(shown.body.contains("Shown as text, not as it was laid out"), "the newest is shown as text");
}
