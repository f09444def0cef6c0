use super::*;
use crate::imap_commands::meaning;

/// The actions of a session, as `action folder/messages`, from commands a second apart; and the result of each command.
fn actions(commands: &[&str]) -> (Vec<String>, Vec<Did>) {
    every(1_000_000, commands)
}

/// The same for commands this many microseconds apart.
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
        let (folder, tag) = (String::new(), String::new());
        let command = Command { name, meaning, folder, coarse: false, tag, by_file: false, cost };
        let (what, page) = grammar.take(at * step, 20_000, command);
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

/// The actions of commands at these times in milliseconds, each of which takes one millisecond; with the start and end
/// of each action.
fn at_times(commands: &[(i64, &str)]) -> Vec<(i64, i64, String)> {
    let mut grammar = Grammar::default();
    let mut pages = Vec::new();
    for (at, line) in commands {
        let (name, args) = line.split_once(' ').unwrap_or((line, ""));
        let cost = Cost { lasted: Some(1000), ..Cost::default() };
        let (name, folder, tag) = (name.to_owned(), String::new(), String::new());
        let meaning = meaning(&name, args);
        let command = Command { name, meaning, folder, coarse: false, tag, by_file: false, cost };
        pages.extend(grammar.take(at * 1000, 20_000, command).1);
    }
    pages.extend(grammar.close());
    let ends = |page: &OpenPage| page.done.unwrap_or(page.at) / 1000;
    pages.iter().map(|page| (page.at / 1000, ends(page), format!("{} {}", page.action, page.messages))).collect()
}

#[test]
fn headers_after_a_search_belong_to_what_they_are_nearer_to() {
    let (search, headers, body) = ("SEARCH TEXT x", "FETCH 9 (BODYSTRUCTURE BODY.PEEK[HEADER])", "FETCH 9 BODY[TEXT]");
    let is = |pages: &[(i64, i64, &str)]| -> Vec<(i64, i64, String)> {
        pages.iter().map(|(from, to, page)| (*from, *to, (*page).to_owned())).collect()
    };
    // The search found nothing; two seconds later a message of the earlier list is shown.
    let nothing = at_times(&[(0, search), (2000, headers), (2003, body)]);
    assert_eq!(nothing, is(&[(0, 1, "search "), (2000, 2004, "show message 9")]));
    // One message was found, and is shown two seconds later, with or without its headers.
    let found = at_times(&[(0, search), (3, headers), (2000, body)]);
    assert_eq!(found, is(&[(0, 4, "search "), (2000, 2001, "show message 9")]));
    let found = at_times(&[(0, search), (3, headers), (2000, headers), (2003, body)]);
    assert_eq!(found, is(&[(0, 4, "search "), (2000, 2004, "show message 9")]));
    // Several were found, after whatever time.
    let found = at_times(&[(0, search), (900, "FETCH 4,9 (ENVELOPE)"), (901, headers), (902, body)]);
    assert_eq!(found, is(&[(0, 901, "search "), (901, 903, "show message 9")]));
    // Another message, or nothing more.
    let other = at_times(&[(0, search), (500, headers), (501, "FETCH 4 BODY[TEXT]")]);
    assert_eq!(other, is(&[(0, 501, "search "), (501, 502, "show message 4")]));
    assert_eq!(at_times(&[(0, search), (500, headers)]), is(&[(0, 501, "search ")]));
}

#[test]
fn a_precise_login_takes_the_place_of_one_in_whole_seconds() {
    let login = |logins: &[(i64, bool)]| {
        let mut grammar = Grammar::default();
        let pages = logins.iter().filter_map(|(at, coarse)| grammar.login(*at, *coarse)).count();
        (pages, grammar.close().map(|page| page.at))
    };
    assert_eq!(login(&[(9_000_000, true), (9_700_000, false)]), (0, Some(9_700_000)));
    assert_eq!(login(&[(9_700_000, false), (10_000_000, true)]), (0, Some(9_700_000)));
    assert_eq!(login(&[(9_000_000, true)]), (0, Some(9_000_000)));
    // A line in whole seconds may come after the first command: it is no second login.
    let mut grammar = Grammar::default();
    grammar.login(9_990_000, false);
    let command = |name: &str| Command {
        name: name.into(),
        meaning: meaning(name, "INBOX"),
        folder: String::new(),
        coarse: false,
        tag: String::new(),
        by_file: false,
        cost: Cost::default(),
    };
    assert_eq!(grammar.take(9_995_000, 20_000, command("SELECT")).0, Did::Began);
    assert_eq!(grammar.login(10_000_000, true), None);
    assert_eq!(grammar.close().map(|page| page.action), Some("list messages"));
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
        tag: String::new(),
        by_file: false,
        cost: Cost { lasted: Some(lasted), sent: Some(3), received: None, outcome },
    };
    grammar.take(100, 20_000, command(r"STORE 4 +FLAGS (\Deleted)", 50, traces::trace::RecordOutcome::Ok));
    grammar.take(120, 20_000, command("EXPUNGE", 10, traces::trace::RecordOutcome::Error));
    let page = grammar.close().expect("open");
    // The first command's answer came last: 150, not 130.
    assert_eq!((page.lasted(), page.cost.sent, page.cost.received), (Some(50), Some(6), None));
    assert_eq!(page.cost.outcome, traces::trace::RecordOutcome::Error);
}
