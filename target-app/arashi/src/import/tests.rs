use std::{
    fs,
    io::{self, Cursor},
    path::PathBuf,
};

use proptest::prelude::*;
use tempfile::tempdir;

use super::{mbox::Mbox, *};
use crate::parse::{MAX_BYTES, ParseError};

const FROM: &str = "From a@example.org Mon Jul 29 12:00:00 2002\n";

/// A small message with this subject.
fn message(subject: &str) -> String {
    format!("From: a@example.org\nSubject: {subject}\n\nbody of {subject}\n")
}

fn mbox(bytes: &[u8], max_bytes: usize) -> Vec<Result<RawMail, ImportProblem>> {
    Mbox::new(Cursor::new(bytes.to_vec()), Path::new("x.mbox"), "x".to_owned(), max_bytes).collect()
}

/// The messages' bytes as text, or the label of what is wrong.
fn texts(messages: impl IntoIterator<Item = Result<RawMail, ImportProblem>>) -> Vec<String> {
    let text = |found: Result<RawMail, ImportProblem>| match found {
        Ok(mail) => String::from_utf8(mail.raw).expect("ASCII"),
        Err(problem) => format!("! {}", problem.reason.label()),
    };
    messages.into_iter().map(text).collect()
}

fn read_mbox(text: &str) -> Vec<String> {
    texts(mbox(text.as_bytes(), MAX_BYTES))
}

/// Folder and subject of each message at a path, sorted by nothing: the order counts.
fn listed(path: &Path) -> Vec<String> {
    let shown = |found: Result<RawMail, ImportProblem>| match found {
        Ok(mail) => {
            let parsed = crate::parse::parse(&mail.raw, mail.received).expect("mail");
            format!("{}: {}", mail.folder, parsed.subject)
        }
        Err(problem) => format!("! {}", problem.reason.label()),
    };
    open(path).expect("opens").map(shown).collect()
}

#[test]
fn an_mbox_ends_each_message_with_an_empty_line_that_is_not_part_of_it() {
    let (a, b) = (message("a"), message("b") + "\n");
    assert_eq!(read_mbox(&format!("{FROM}{a}\n{FROM}{b}\n")), [a.as_str(), b.as_str()]);
    assert_eq!(read_mbox(&format!("{FROM}{a}\n{FROM}{b}")), [a.as_str(), message("b").as_str()], "the last has none");
    assert_eq!(read_mbox(&format!("\n\n{FROM}{a}")), [a], "empty lines in front");
    assert_eq!(read_mbox(""), [""; 0]);
}

#[test]
fn an_mbox_with_windows_line_ends() {
    let text = format!("{FROM}{}\n{FROM}{}\n", message("a"), message("b")).replace('\n', "\r\n");
    assert_eq!(read_mbox(&text), [message("a").replace('\n', "\r\n"), message("b").replace('\n', "\r\n")]);
}

#[test]
fn quoted_lines() {
    let text = format!("{FROM}Subject: s\n\n>From here\n>>From there\n> From x\n>Fromage\nFrom now\n");
    let read = read_mbox(&text).concat();
    assert_eq!(read, "Subject: s\n\nFrom here\n>From there\n> From x\n>Fromage\nFrom now\n");
}

#[test]
fn separators() {
    let (a, b) = (message("a"), message("b"));
    assert_eq!(read_mbox(&format!("{FROM}{a}{FROM}{b}")), [a.as_str(), b.as_str()], "no empty line, but a date");
    let words = format!("{a}\nFrom the start we knew it.\nend\n");
    let found = read_mbox(&format!("{FROM}{words}\n{FROM}{b}"));
    assert_eq!(found, [words.as_str(), b.as_str()], "an empty line, but no date: words of the message");
    let undated = read_mbox(&format!("From ???\n{a}\nFrom ???\n{b}"));
    assert_eq!(undated, [a.as_str(), b.as_str()], "none has a date");
    let split = read_mbox(&format!("{FROM}{a}From now on\n{b}"));
    assert_eq!(split, [format!("{a}From now on\n{b}")], "neither: words of the message");
    for date in [
        "Mon Jul 29 12:00:00 2002",
        "Mon Jul 29 14:00:00 2002 +0200",
        "Mon Jul 29 12:00:00 UTC 2002",
        "- Mon Jul 29 12:00 2002",
    ] {
        let found = mbox(format!("From someone {date}\n{a}").as_bytes(), MAX_BYTES);
        let received = found[0].as_ref().expect("a message").received;
        assert_eq!(received, Some(1_027_944_000), "{date}"); // 2002-07-29 12:00:00 UTC
    }
}

#[test]
fn a_message_that_is_too_long_is_passed_over() {
    let long = message("long") + &"x".repeat(100_000) + "\n" + &"y\n".repeat(1000);
    let text = format!("{FROM}{}\n{FROM}{long}\n{FROM}{}\n", message("a"), message("b"));
    let found = mbox(text.as_bytes(), 1000);
    assert_eq!(found[1].as_ref().expect_err("too long").to_string(), "x.mbox, message 2: longer than 1000 bytes");
    assert_eq!(texts(found), [message("a"), "! too long".to_owned(), message("b")]);
    let exact = "S: ".to_owned() + &"x".repeat(997);
    assert_eq!(texts(mbox(format!("{FROM}{exact}\n\n").as_bytes(), 1001)), [exact + "\n"]);
}

#[test]
fn what_stands_before_the_first_message_is_said() {
    let text = format!("Subject: lost\n\nwords\n\n{FROM}{}", message("a"));
    assert_eq!(read_mbox(&text), ["! before the first message".to_owned(), message("a")]);
    assert_eq!(read_mbox("no mail at all"), ["! before the first message"]);
}

/// Gives some bytes and then an error, as a failing disk does.
struct Failing(Cursor<Vec<u8>>);

impl io::Read for Failing {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buf)? {
            0 => Err(io::Error::other("disk on fire")),
            some => Ok(some),
        }
    }
}

#[test]
fn a_failing_disk_ends_the_file_with_a_problem() {
    let text = format!("{FROM}{}\n{FROM}{}", message("a"), message("b"));
    let reader = io::BufReader::new(Failing(Cursor::new(text.into_bytes())));
    let found = texts(Mbox::new(reader, Path::new("x"), "x".to_owned(), MAX_BYTES));
    assert_eq!(found, [message("a"), "! cannot be read".to_owned()]);
}

#[test]
fn a_maildir_and_its_subfolders() {
    let home = tempdir().expect("a folder");
    let root = home.path().join("Maildir");
    for folder in ["", ".Lists.Rust", ".Entw&APw-rfe", ".R&AOk-sum&AOk-s &- more"] {
        for sub in ["cur", "new", "tmp"] {
            fs::create_dir_all(root.join(folder).join(sub)).expect("a folder");
        }
    }
    let put = |at: &str, subject: &str| fs::write(root.join(at), message(subject)).expect("a file");
    put("cur/1.a:2,S", "read");
    put("cur/2.a:2,", "unread");
    put("new/3.a", "new");
    put("tmp/4.a", "half delivered");
    put("dovecot.index", "not mail");
    put(".Lists.Rust/cur/5.a:2,FRS", "listed");
    put(".Entw&APw-rfe/new/6.a", "draft");
    put(".R&AOk-sum&AOk-s &- more/new/7.a", "cv");
    assert_eq!(
        listed(&root),
        ["inbox: read", "inbox: unread", "inbox: new", "Entwürfe: draft", "Lists/Rust: listed", "Résumés & more: cv"]
    );
}

#[test]
fn a_folder_of_everything() {
    let home = tempdir().expect("a folder");
    let root = home.path().join("mail");
    fs::create_dir_all(root.join("old/2001/cur")).expect("a folder");
    fs::create_dir_all(root.join("old/2001/new")).expect("a folder");
    fs::create_dir_all(root.join("empty")).expect("a folder");
    let put = |at: &str, text: String| fs::write(root.join(at), text).expect("a file");
    put("inbox.mbox", format!("{FROM}{}\n{FROM}{}", message("i1"), message("i2")));
    put("ilug.MBOX", format!("{FROM}{}", message("l1")));
    put("sent", format!("{FROM}{}\n{FROM}{}", message("s1"), message("s2")));
    put("10", message("ten"));
    put("9", format!("{FROM}{}", message("nine, with its separator line")));
    put("letter.eml", message("eml"));
    put(".hidden", message("hidden"));
    put("old/a", message("old"));
    put("old/b.mbox", format!("{FROM}{}", message("older")));
    put("old/2001/cur/1:2,S", message("oldest"));
    assert_eq!(
        listed(&root),
        [
            "mail: nine, with its separator line",
            "mail: ten",
            "ilug: l1",
            "inbox: i1",
            "inbox: i2",
            "mail: eml",
            "old/2001: oldest",
            "old: old",
            "old/b: older",
            "sent: s1",
            "sent: s2",
        ]
    );
}

#[test]
fn folders_that_lead_in_a_circle_end() {
    let home = tempdir().expect("a folder");
    fs::write(home.path().join("a"), message("a")).expect("a file");
    std::os::unix::fs::symlink(home.path(), home.path().join("loop")).expect("a link");
    std::os::unix::fs::symlink("nowhere", home.path().join("dangling")).expect("a link");
    assert_eq!(listed(home.path()).len(), 1);
    let deep: PathBuf = std::iter::repeat_n("d", 40).collect();
    fs::create_dir_all(home.path().join(deep)).expect("folders");
    assert_eq!(listed(home.path())[1..], ["! folders too deep"]);
}

#[test]
fn single_files() {
    let home = tempdir().expect("a folder");
    let file = |name: &str, bytes: &[u8]| {
        let path = home.path().join(name);
        fs::write(&path, bytes).expect("a file");
        path
    };
    let kind = |path: &Path| open(path).map(drop).map_err(|e| e.to_string());
    let path = file("a.eml", message("one").as_bytes());
    assert_eq!(listed(&path), ["inbox: one"]);
    let path = file("friends", format!("{FROM}{}", message("two")).as_bytes());
    assert_eq!(listed(&path), ["friends: two"]);
    assert_eq!(listed(&file("empty.mbox", b"")), [""; 0]);
    let problem = kind(&file("mail.mbox.gz", b"\x1f\x8b\x08\0")).expect_err("packed");
    assert!(problem.ends_with("mail.mbox.gz: packed with gunzip; unpack it first"), "{problem}");
    let problem = kind(&file("a.png", b"\x89PNG\r\n\x1a\n")).expect_err("a picture");
    assert!(problem.contains("a.png: neither an mbox file"), "{problem}");
    let problem = kind(&home.path().join("nothing")).expect_err("missing");
    assert!(problem.contains("nothing: No such file"), "{problem}");
    let problem = kind(Path::new("/dev/null")).expect_err("a device");
    assert_eq!(problem, "/dev/null: neither a file nor a folder");
}

#[test]
fn a_summary_counts_by_reason_and_keeps_the_first_problems() {
    let mut summary = Summary::default();
    let problem = |number| ImportProblem {
        place: MailPlace { path: "x.mbox".into(), message: Some(number) },
        reason: if number == 1 { ParseError::NotMail.into() } else { ImportReason::TooLong { limit: 5 } },
    };
    summary.count_imported();
    summary.count_known();
    (1..=30).for_each(|number| summary.count_skipped(problem(number)));
    assert_eq!(
        summary.to_string(),
        "32 messages read, 1 imported, 1 known already, 30 skipped (not mail: 1, too long: 29)"
    );
    assert_eq!(summary.problems.len(), Summary::KEPT);
}

proptest! {
    /// Written by the book and read back: what comes out is what went in, byte for byte.
    #[test]
    fn mbox_round_trip(messages in prop::collection::vec(prop::collection::vec(
        prop::sample::select(vec!["From ", ">From ", ">>From ", "x", "\n", "\n\n", "\r\n", "From a Mon Jul 29 12:00:00 2002", " ", ">"]), 0..20), 0..5)) {
        let messages: Vec<String> = messages.iter().map(|pieces| format!("S: x\n\n{}\n", pieces.concat())).collect();
        let mut file = String::new();
        for message in &messages {
            file.push_str(FROM);
            for line in message.split_inclusive('\n') {
                let quoted = line.trim_start_matches('>').starts_with("From ");
                file.push_str(if quoted { ">" } else { "" });
                file.push_str(line);
            }
            file.push('\n');
        }
        prop_assert_eq!(read_mbox(&file), messages);
    }

    #[test]
    fn any_bytes_are_read_to_the_end(bytes in prop::collection::vec(prop_oneof![
        prop::sample::select(vec![&b"From "[..], b"\n", b"\r\n", b">", b"\0\xff"]).prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..9)], 0..60), max_bytes in 0_usize..50) {
        let bytes = bytes.concat();
        for mail in mbox(&bytes, max_bytes).into_iter().flatten() {
            prop_assert!(mail.raw.len() <= max_bytes);
        }
    }
}
