use super::*;
use crate::import::imap::meaning;

/// The actions of a session, from commands a second apart, as `action folder/messages`; and what each command did.
fn actions(commands: &[&str]) -> (Vec<String>, Vec<Did>) {
    every(1_000_000, commands)
}

/// The same, so many microseconds apart.
fn every(step: i64, commands: &[&str]) -> (Vec<String>, Vec<Did>) {
    let mut grammar = Grammar::default();
    let mut pages = Vec::new();
    let mut did = Vec::new();
    for (at, line) in (0..).zip(commands) {
        let (name, args) = match line.split_once(' ') {
            Some(("UID", rest)) => {
                let (name, args) = rest.split_once(' ').unwrap_or((rest, ""));
                (format!("UID {name}"), args)
            }
            Some((name, args)) => (name.to_owned(), args),
            None => ((*line).to_owned(), ""),
        };
        let meaning = meaning(&name, args);
        let cost = Cost { lasted: Some(1000), sent: Some(10), ..Cost::default() };
        let (what, page) =
            grammar.take(at * step, 20_000, Command { name, meaning, folder: String::new(), coarse: false, cost });
        did.push(what);
        pages.extend(page);
    }
    pages.extend(grammar.close());
    let shown = |page: &OpenPage| match (page.folder.as_str(), page.messages.as_str()) {
        ("", "") => page.action.to_owned(),
        (folder, "") => format!("{} {folder}", page.action),
        (folder, messages) => format!("{} {folder}/{messages}", page.action),
    };
    (pages.iter().map(shown).collect(), did)
}

fn names(commands: &[&str]) -> Vec<String> {
    actions(commands).0
}

#[test]
fn a_web_mails_pages_are_found_in_its_commands() {
    let commands = [
        "LOGIN joe secret",
        "CAPABILITY",
        r#"LIST "" "*""#,
        r#"LSUB "" "*""#,
        "STATUS INBOX (MESSAGES)",
        "SELECT INBOX",
        "FETCH 13:22 (FLAGS BODY.PEEK[HEADER.FIELDS (DATE)])",
        "NOOP",
        "FETCH 3:12 (FLAGS BODY.PEEK[HEADER.FIELDS (DATE)])",
        "FETCH 5 (RFC822)",
        r"STORE 5 +FLAGS (\Seen)",
        r"STORE 5 +FLAGS (\Deleted)",
        "EXPUNGE",
        "FETCH 7 BODY[]",
        "COPY 7 Lists",
        r"STORE 7 +FLAGS (\Deleted)",
        r#"SEARCH OR SUBJECT "w" FROM "w""#,
        "LOGOUT",
    ];
    let (actions, did) = actions(&commands);
    assert_eq!(
        actions,
        [
            "login",
            "list folders",
            "list messages INBOX/13:22",
            "list messages INBOX/3:12",
            "show message INBOX/5",
            "delete INBOX/5",
            "show message INBOX/7",
            "refile INBOX/7",
            "search INBOX"
        ]
    );
    let of = |what: Did| did.iter().filter(|did| **did == what).count();
    assert_eq!((of(Did::Began), of(Did::Merged), of(Did::Dropped), of(Did::Ended)), (9, 6, 2, 1));
}

#[test]
fn the_same_question_again_is_a_new_page_and_another_belongs_to_it() {
    let list = r#"LIST "" "*""#;
    assert_eq!(names(&[list, list, r#"LSUB "" "*""#]), ["list folders", "list folders"]);
    let shows = ["FETCH 5 BODY[1]", "FETCH 5 BODY[2]", "FETCH 5 BODY[1]", "FETCH 6 BODY[1]"];
    assert_eq!(names(&shows), ["show message /5", "show message /5", "show message /6"]);
    let headers = "FETCH 1:9 (BODY[HEADER])";
    assert_eq!(names(&["SELECT a", headers, headers, "SELECT a", headers]).len(), 3);
}

#[test]
fn a_delete_that_is_undone_before_it_is_expunged_is_one_delete() {
    let commands = [r"STORE 4 +FLAGS.SILENT (\Seen \Deleted)", r"STORE 4 -FLAGS.SILENT (\Seen)", "EXPUNGE", "EXPUNGE"];
    assert_eq!(names(&commands), ["delete /4", "delete"]);
    assert_eq!(
        names(&[r"STORE 4 +FLAGS (\Deleted)", r"STORE 5 +FLAGS (\Deleted)", "CLOSE"]),
        ["delete /4", "delete /5"]
    );
    assert_eq!(names(&["UID MOVE 4 Trash", "EXPUNGE"]), ["delete /4", "delete"]);
    assert_eq!(names(&["COPY 4 Trash", r"STORE 4 +FLAGS (\Deleted)", "EXPUNGE"]), ["delete /4"]);
    assert_eq!(names(&["COPY 4 x", r"STORE 4 +FLAGS (\Deleted)", "EXPUNGE"]), ["refile /4"]);
    assert_eq!(names(&["COPY 4 x", r"STORE 5 +FLAGS (\Deleted)"]), ["refile /4", "delete /5"]);
    assert_eq!(names(&["COPY 4 x", r"UID STORE 4 +FLAGS (\Deleted)"]), ["refile /4", "delete /4"]);
}

#[test]
fn a_backend_that_selects_for_each_page_is_understood() {
    let select = "SELECT INBOX";
    let names = |commands: &[&str]| every(10_000, commands).0;
    assert_eq!(
        names(&[select, "UID FETCH 9 (BODYSTRUCTURE)", "UID FETCH 9 BODY[1]"]),
        ["list messages INBOX/9", "show message INBOX/9"]
    );
    assert_eq!(names(&[select, "UID FETCH 9 BODY[1]"]), ["show message INBOX/9"]);
    assert_eq!(names(&[select, "UID SEARCH TEXT x", "FETCH 1:3 (ENVELOPE)"]), ["search INBOX"]);
    assert_eq!(names(&[select, "UID SORT (DATE) UTF-8 ALL", "UID FETCH 4:9 (ENVELOPE)"]), ["list messages INBOX/4:9"]);
    assert_eq!(names(&[select, r"UID STORE 9 +FLAGS (\Deleted)", "EXPUNGE"]), ["delete INBOX/9"]);
    assert_eq!(names(&[select, "UID COPY 9 b"]), ["refile INBOX/9"]);
    assert_eq!(names(&[select]), ["list messages INBOX"]);
    assert_eq!(names(&["UID FETCH 9 (ENVELOPE)", "UID FETCH 9 BODY[1]"]), ["show message /9"]);
    // A client that has the headers already shows the folder, and later a message.
    assert_eq!(every(30_000, &[select, "UID FETCH 9 BODY[1]"]).0, ["list messages INBOX", "show message INBOX/9"]);
}

#[test]
fn keeping_up_to_date_is_no_page() {
    let (pages, did) = actions(&["NOOP", "UID FETCH 1:* (FLAGS)", r"STORE 3 +FLAGS (\Seen)", "IDLE", "XYZZY"]);
    assert_eq!(pages, [""; 0]);
    assert_eq!(did, [Did::Dropped, Did::Dropped, Did::Dropped, Did::Dropped, Did::Unknown]);
    assert_eq!(names(&["CREATE a", "DELETE b"]), ["create folder a", "delete folder b"]);
}

#[test]
fn a_page_lasts_from_its_first_command_to_its_last_answer_and_sums_bytes() {
    let mut grammar = Grammar::default();
    let command = |line: &str, lasted: u64, outcome| Command {
        name: "x".into(),
        meaning: meaning(line.split(' ').next().unwrap_or_default(), line.split_once(' ').map_or("", |(_, args)| args)),
        folder: String::new(),
        coarse: false,
        cost: Cost { lasted: Some(lasted), sent: Some(3), received: None, outcome },
    };
    grammar.take(100, 20_000, command(r"STORE 4 +FLAGS (\Deleted)", 50, crate::trace::Outcome::Ok));
    grammar.take(120, 20_000, command("EXPUNGE", 10, crate::trace::Outcome::Error));
    let page = grammar.close().expect("open");
    // The first answer came last: 150, not 130.
    assert_eq!((page.lasted(), page.cost.sent, page.cost.received), (Some(50), Some(6), None));
    assert_eq!(page.cost.outcome, crate::trace::Outcome::Error);
}
