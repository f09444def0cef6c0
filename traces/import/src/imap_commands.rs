//! The meaning of IMAP commands (RFC 3501, 9051 and their extensions) for a web mail.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::entry::{Meaning, Set};

/// The longest stored set of messages, bytes.
const LONGEST_SET: usize = 64;

/// Words with which a SEARCH looks for something. Without one it is a list in some order, or a client that keeps up to
/// date.
const LOOKS_FOR: [&str; 20] = [
    "SUBJECT",
    "FROM",
    "TO",
    "CC",
    "BCC",
    "BODY",
    "TEXT",
    "HEADER",
    "SINCE",
    "BEFORE",
    "ON",
    "SENTSINCE",
    "SENTBEFORE",
    "SENTON",
    "LARGER",
    "SMALLER",
    "YOUNGER",
    "OLDER",
    "FUZZY",
    "X-GM-RAW",
];

/// Last parts of folder names that mean trash.
const TRASH: [&str; 9] =
    ["trash", "deleted items", "deleted messages", "deleted", "bin", "papierkorb", "gelöscht", "corbeille", "papelera"];

/// The meaning of a command. `name` may begin with `UID`; `args` is the rest, with literals as they come.
#[must_use]
pub fn meaning(name: &str, args: &str) -> Meaning {
    let name = name.to_ascii_uppercase();
    let (uid, name) = name.strip_prefix("UID ").map_or((false, name.as_str()), |rest| (true, rest.trim_start()));
    match name {
        "LOGIN" | "AUTHENTICATE" => Meaning::Login,
        "LIST" | "LSUB" | "XLIST" | "NAMESPACE" | "STATUS" => Meaning::Folders(told_apart(name, args)),
        "SELECT" | "EXAMINE" => Meaning::Select(first_word(args)),
        "FETCH" => fetch(args, uid),
        "STORE" => store(args, uid),
        "EXPUNGE" => Meaning::Expunge,
        "COPY" | "MOVE" => {
            let (set, rest) = set(args, uid);
            Meaning::Copy { set, trash: is_trash(&first_word(rest)), moved: name == "MOVE" }
        }
        "SEARCH" | "SORT" | "THREAD" | "ESEARCH" => {
            if looks_for_something(args) {
                Meaning::Search
            } else {
                Meaning::Order
            }
        }
        "CREATE" => Meaning::CreateFolder(first_word(args)),
        "DELETE" => Meaning::DeleteFolder(first_word(args)),
        "APPEND" => Meaning::Append,
        "CLOSE" => Meaning::Close,
        "LOGOUT" => Meaning::Logout,
        "NOOP" | "IDLE" | "DONE" | "CHECK" | "CAPABILITY" | "ID" | "ENABLE" | "STARTTLS" | "UNSELECT" | "SUBSCRIBE"
        | "UNSUBSCRIBE" | "GETQUOTA" | "GETQUOTAROOT" | "SETQUOTA" | "GETACL" | "SETACL" | "DELETEACL"
        | "LISTRIGHTS" | "MYRIGHTS" | "COMPRESS" | "NOTIFY" | "GETMETADATA" | "SETMETADATA" | "GETANNOTATION"
        | "SETANNOTATION" | "LANGUAGE" | "COMPARATOR" | "CANCELUPDATE" | "RENAME" | "UNAUTHENTICATE" => Meaning::Aside,
        _ => Meaning::Unknown,
    }
}

fn fetch(args: &str, uid: bool) -> Meaning {
    let (set, items) = set(args, uid);
    let items = items.to_ascii_uppercase();
    if asks_for_body(&items) {
        let item = told_apart("", &items);
        return Meaning::Body { set, item };
    }
    let headers =
        ["HEADER", "ENVELOPE", "BODYSTRUCTURE", "RFC822.SIZE", "INTERNALDATE", "ALL", "FULL", "FAST", "PREVIEW"];
    let only_flags = !headers.iter().any(|item| items.contains(item));
    Meaning::Headers { set, only_flags }
}

/// `BODY[]`, `BODY.PEEK[1]`, `BODY[TEXT]`, `BINARY[2]`, `RFC822`, `RFC822.TEXT`; but no `BODY[HEADER…]`,
/// `BODY[2.MIME]`, `BODY`.
fn asks_for_body(items: &str) -> bool {
    let word = |at: usize, length: usize| {
        let sign = |c: Option<char>| !c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '.');
        sign(items[..at].chars().next_back()) && sign(items[at + length..].chars().next())
    };
    let whole = items.match_indices("RFC822").any(|(at, found)| word(at, found.len()));
    let text = items.match_indices("RFC822.TEXT").any(|(at, found)| word(at, found.len()));
    let section = ["BODY[", "BODY.PEEK[", "BINARY[", "BINARY.PEEK["].into_iter().any(|opening| {
        items.match_indices(opening).any(|(at, _)| {
            let section = items[at + opening.len()..].split(']').next().unwrap_or_default();
            !section.contains("HEADER") && !section.contains("MIME")
        })
    });
    whole || text || section
}

fn store(args: &str, uid: bool) -> Meaning {
    let (set, rest) = set(args, uid);
    let rest = rest.trim_start().to_ascii_uppercase();
    // `+FLAGS` and plain `FLAGS` set; `-FLAGS` removes. A condition (UNCHANGEDSINCE …) may precede them.
    let takes_away = rest.split_whitespace().any(|word| word.starts_with("-FLAGS"));
    if rest.contains("\\DELETED") && !takes_away { Meaning::MarkDeleted(set) } else { Meaning::Mark(set) }
}

/// The set at the beginning of a command, and the rest.
fn set(args: &str, uid: bool) -> (Set, &str) {
    let args = args.trim_start();
    let end = args.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(args.len());
    let (messages, rest) = args.split_at(end);
    let sound = messages.bytes().all(|c| c.is_ascii_digit() || b":,*$".contains(&c));
    // A longer set is cut between two messages.
    let messages = match messages.get(..LONGEST_SET) {
        Some(cut) => cut.rsplit_once(',').map_or("", |(before, _)| before),
        None => messages,
    };
    (Set { messages: if sound { messages.to_owned() } else { String::new() }, uid }, rest)
}

/// An atom or a quoted string, without its quotes.
pub(super) fn first_word(args: &str) -> String {
    let args = args.trim_start();
    let Some(quoted) = args.strip_prefix('"') else {
        return args.split_whitespace().next().unwrap_or_default().to_owned();
    };
    let mut word = String::new();
    let mut escaped = false;
    for c in quoted.chars() {
        match c {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => break,
            c => {
                escaped = false;
                word.push(c);
            }
        }
    }
    word
}

fn looks_for_something(args: &str) -> bool {
    let args = args.to_ascii_uppercase();
    args.split(|c: char| c.is_whitespace() || c == '(' || c == ')').any(|word| LOOKS_FOR.contains(&word))
}

fn is_trash(folder: &str) -> bool {
    let name = folder.to_lowercase();
    let last = name.rsplit(['/', '.']).next().unwrap_or_default();
    TRASH.contains(&last)
}

/// A hash that distinguishes questions. It is never written to a file.
fn told_apart(name: &str, args: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (name, args).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(messages: &str, uid: bool) -> Set {
        Set { messages: messages.into(), uid }
    }

    #[test]
    fn fetches_are_told_apart() {
        let headers = "313:322 (FLAGS RFC822.SIZE BODY.PEEK[HEADER.FIELDS (DATE FROM SUBJECT)])";
        assert_eq!(meaning("FETCH", headers), Meaning::Headers { set: set("313:322", false), only_flags: false });
        assert_eq!(meaning("uid fetch", "1:* (FLAGS)"), Meaning::Headers { set: set("1:*", true), only_flags: true });
        for body in [
            "319 (RFC822)",
            "319 BODY[]",
            "319 (UID BODY.PEEK[])",
            "319 BODY[TEXT]",
            "319 (BODY.PEEK[1.2]<0.99>)",
            "319 RFC822.TEXT",
            "319 BINARY.PEEK[1]",
        ] {
            assert!(matches!(meaning("FETCH", body), Meaning::Body { set, .. } if set.one()), "{body}");
        }
        for headers in
            ["1 RFC822.HEADER", "1 (RFC822.SIZE)", "1 BODY", "1 BODYSTRUCTURE", "1 BODY[1.MIME]", "1 BODY[HEADER]"]
        {
            assert!(matches!(meaning("FETCH", headers), Meaning::Headers { .. }), "{headers}");
        }
    }

    #[test]
    fn what_deletes_is_told_from_what_marks_and_what_moves() {
        assert_eq!(meaning("STORE", r"158 +FLAGS (\Deleted)"), Meaning::MarkDeleted(set("158", false)));
        assert_eq!(meaning("STORE", r"4 +FLAGS.SILENT (\Seen \deleted)"), Meaning::MarkDeleted(set("4", false)));
        assert_eq!(meaning("STORE", r"4 -FLAGS.SILENT (\Deleted)"), Meaning::Mark(set("4", false)));
        assert_eq!(meaning("UID STORE", r"4 (UNCHANGEDSINCE 3) +FLAGS (\Seen)"), Meaning::Mark(set("4", true)));
        let copy = |args: &str| meaning("UID COPY", args);
        let to = |trash| Meaning::Copy { set: set("5", true), trash, moved: false };
        assert_eq!((copy("5 Lists"), copy("5 \"INBOX.Deleted Items\"")), (to(false), to(true)));
        assert_eq!(
            meaning("MOVE", "5 [Gmail]/Trash"),
            Meaning::Copy { set: set("5", false), trash: true, moved: true }
        );
    }

    #[test]
    fn a_search_looks_for_something_and_an_order_does_not() {
        assert_eq!(meaning("SEARCH", r#"OR SUBJECT "new" FROM "new""#), Meaning::Search);
        assert_eq!(meaning("UID SEARCH", "(SINCE 1-Jan-2026)"), Meaning::Search);
        assert_eq!(meaning("UID SORT", "(ARRIVAL) UTF-8 ALL"), Meaning::Order);
        assert_eq!(meaning("UID THREAD", "REFS UTF-8 UNDELETED"), Meaning::Order);
    }

    #[test]
    fn folders_are_named_and_long_sets_are_cut_between_messages() {
        assert_eq!(meaning("SELECT", r#""a \"b\"" (CONDSTORE)"#), Meaning::Select(r#"a "b""#.into()));
        assert_ne!(meaning("LIST", r#""" "*""#), meaning("LSUB", r#""" "*""#));
        assert_eq!(meaning("LIST", r#""" "*""#), meaning("list", r#""" "*""#));
        let long = (1..200).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        let Meaning::Headers { set, .. } = meaning("FETCH", &format!("{long} (FLAGS)")) else { panic!("headers") };
        assert!(set.messages.len() <= LONGEST_SET && set.messages.ends_with(",24"), "{}", set.messages);
        assert_eq!(meaning("XYZZY", ""), Meaning::Unknown);
    }
}
