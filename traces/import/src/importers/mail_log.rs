//! Mail logs: the login and logout lines of Dovecot and of Courier, and Dovecot's exported events among them.
//!
//! ```text
//! … imap-login: Info: Login: user=<joe>, method=PLAIN, rip=…, session=<Er22br9gdqh/AAAB>
//! … imap(joe)<8716><Er22br9gdqh/AAAB>: Info: Disconnected: Logged out in=699 out=36331 deleted=0 … body_count=4 …
//! … imapd: LOGIN, user=joe, ip=[::ffff:192.0.2.1], port=[4711], protocol=IMAP
//! … imapd: LOGOUT, user=joe, ip=[::ffff:192.0.2.1], port=[4711], headers=0, body=0, rcvd=61, sent=2048, time=12
//! ```
//! Dovecot 2.4 writes "Logged in" for "Login". The stamp is Dovecot's own, or syslog's without a year.

use std::io::{self, Read};

use traces::trace::Totals;

use crate::{
    entry::EventKind,
    events,
    importer::{Certainty, Importer, Mark, Reads},
    sink::{LineResult, Sink, Stop},
    timestamps::{Stamp, Stamps},
};

const NO_TIME: LineResult = LineResult::Not("it begins with no time that we know");
const NO_SESSION: LineResult =
    LineResult::Not("it names no session; Dovecot writes it if login_log_format_elements has session=<%{session}>");

/// Mail logs.
pub const IMPORTER: Importer = Importer {
    name: "mail log",
    files: "Dovecot events (JSON), login and logout lines of Dovecot or Courier",
    mark: Mark::Line(|line| {
        let is_event = if line.starts_with('{') { events::is_event(line) } else { line.contains("{\"event\":") };
        let words = ["imap-login: ", "imap(", "imapd: ", "imapd-ssl: ", "imaplogin: ", " dovecot: "];
        let has_words = || words.iter().any(|word| line.contains(word));
        if is_event { Some(Certainty::Object) } else { has_words().then_some(Certainty::Words) }
    }),
    reads: Reads::Log(|_, from, sink| read(from, sink)),
};

/// Reads to the end.
fn read(from: impl Read, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut stamps = Stamps::new(sink.options.clock);
    sink.lines(from, |line, sink| {
        if line.starts_with('{') {
            return events::hear(line, None, sink);
        }
        let stamp = stamps.read(line);
        if let Some(event) = line.find("{\"event\":").map(|at| &line[at..]) {
            return events::hear(event, stamp, sink);
        }
        let rest = stamp.map_or(line, |stamp| &line[stamp.length..]);
        let Some(says) = LogLine::parse(rest) else { return Ok(LineResult::Beside) };
        let Some(stamp) = stamp else { return Ok(NO_TIME) };
        sink.stamped(&stamp);
        says.told(&stamp, sink)
    })
}

/// The content of a line.
enum LogLine<'a> {
    Login { user: &'a str, session: String },
    Logout { user: &'a str, session: String, totals: Totals },
    Nobody,
    NoSession,
}

impl<'a> LogLine<'a> {
    /// The content of a line after its stamp; `None`: nothing about users' actions.
    fn parse(line: &'a str) -> Option<Self> {
        let after = |mark: &str| line.find(mark).map(|at| &line[at + mark.len()..]);
        if let Some(rest) = after("imap-login: ") {
            return Self::dovecot_login(rest.strip_prefix("Info: ").unwrap_or(rest));
        }
        if let Some(rest) = after("imapd: ").or_else(|| after("imapd-ssl: ")).or_else(|| after("imaplogin: ")) {
            return Self::courier(rest);
        }
        after("imap(").and_then(Self::dovecot_end)
    }

    fn dovecot_login(line: &'a str) -> Option<Self> {
        if let Some(rest) = line.strip_prefix("Login: ").or_else(|| line.strip_prefix("Logged in: ")) {
            let user = between(rest, "user=<", ">")?;
            let session = between(rest, "session=<", ">").filter(|session| !session.is_empty());
            return Some(session.map_or(Self::NoSession, |session| Self::Login { user, session: session.to_owned() }));
        }
        let nobody = ["Disconnected", "Aborted login", "Login aborted", "Maximum number of connections"];
        nobody.into_iter().any(|words| line.starts_with(words)).then_some(Self::Nobody)
    }

    /// After `imap(`: `joe)<8716><session>: Info: Disconnected: …`.
    fn dovecot_end(line: &'a str) -> Option<Self> {
        let (user, rest) = line.split_once([')', '>']).filter(|(user, _)| !user.contains('<'))?;
        let (mark, says) = rest.split_once(": ")?;
        let says = says.strip_prefix("Info: ").unwrap_or(says);
        let ends = ["Disconnected", "Logged out", "Connection closed"];
        if !ends.into_iter().any(|words| says.starts_with(words)) {
            return None;
        }
        let session = mark.rsplit('<').next().and_then(|last| last.strip_suffix('>')).filter(|last| !last.is_empty());
        // The first pair of brackets contains the process id: without a second there is no session.
        let Some(session) = session.filter(|session| !session.bytes().all(|c| c.is_ascii_digit())) else {
            return Some(Self::NoSession);
        };
        let count = |name: &str| {
            let at = says.find(name)? + name.len();
            let digits = says[at..].split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse().ok()
        };
        let totals = Totals { shown: count(" body_count="), deleted: count(" deleted="), lasted: None };
        Some(Self::Logout { user, session: session.to_owned(), totals })
    }

    fn courier(line: &'a str) -> Option<Self> {
        let (what, fields) = line.split_once(", ")?;
        let field = |name: &str| fields.split(", ").find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
        let user = field("user").unwrap_or_default();
        // Courier has no session names: an address and a port name one until they are used again.
        let session = || format!("{user}|{}|{}", field("ip").unwrap_or_default(), field("port").unwrap_or_default());
        match what {
            "LOGIN" if field("protocol").is_none_or(|protocol| protocol == "IMAP") => {
                Some(Self::Login { user, session: session() })
            }
            "LOGOUT" | "DISCONNECTED" | "TIMEOUT" if user.is_empty() => Some(Self::Nobody),
            "LOGOUT" | "DISCONNECTED" | "TIMEOUT" => {
                let seconds: Option<u64> = field("time").and_then(|seconds| seconds.parse().ok());
                let lasted = seconds.and_then(|seconds| seconds.checked_mul(1_000_000));
                Some(Self::Logout { user, session: session(), totals: Totals { lasted, ..Totals::default() } })
            }
            "LOGIN FAILED" => Some(Self::Nobody),
            _ => None,
        }
    }

    fn told(self, stamp: &Stamp, sink: &mut Sink<'_>) -> io::Result<LineResult> {
        match self {
            Self::Login { user, session } => {
                let login = EventKind::Login { coarse: stamp.whole_second };
                sink.by_stamp(stamp, stamp.at, &session, user, login)?;
            }
            // Events of that second happened before its end.
            Self::Logout { user, session, totals } => {
                sink.by_stamp(stamp, stamp.latest(), &session, user, EventKind::End(totals))?;
            }
            Self::Nobody => sink.nobody(),
            Self::NoSession => return Ok(NO_SESSION),
        }
        Ok(LineResult::Understood)
    }
}

/// The text between two marks.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    Some(&rest[..rest.find(after)?])
}
