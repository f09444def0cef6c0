//! Dovecot's event export: one JSON object per line, with the names of 2.3 and of 2.4.
//!
//! `imap_command_finished` reports a command, `mail_user_session_finished` a session. Lines come in the order of their
//! ends. Source: Dovecot's documentation, "Event export" and "Events"; checked on a recording of 2.3.19.

use std::{borrow::Cow, io};

use serde::{Deserialize, de::IgnoredAny};
use traces::trace::{RecordOutcome, Totals};

use super::{
    entry::{Command, Cost, EventKind},
    imap_commands::meaning,
    sink::{LineResult, Sink},
    timestamps::{Stamp, TIMES, rfc3339, unix},
};

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    start_time: When,
    end_time: When,
    #[serde(borrow)]
    fields: Fields<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Fields<'a> {
    #[serde(borrow)]
    user: Cow<'a, str>,
    #[serde(borrow)]
    session: Cow<'a, str>,
    #[serde(borrow)]
    cmd_name: Cow<'a, str>,
    #[serde(borrow)]
    cmd_tag: Cow<'a, str>,
    #[serde(borrow)]
    cmd_args: Cow<'a, str>,
    #[serde(borrow)]
    mailbox: Cow<'a, str>,
    #[serde(borrow)]
    tagged_reply_state: Cow<'a, str>,
    bytes_in: Option<u64>,
    bytes_out: Option<u64>,
    net_in_bytes: Option<u64>,
    net_out_bytes: Option<u64>,
}

/// True for an event of Dovecot; other programs log objects too, with some of the same keys and words.
pub fn is_event(line: &str) -> bool {
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "it counts that they are there")]
    struct Keys {
        event: String,
        start_time: IgnoredAny,
        fields: IgnoredAny,
    }
    let cut = |error: serde_json::Error| error.is_eof() && line.starts_with("{\"event\":");
    serde_json::from_str::<Keys>(line).map_or_else(cut, |_| true)
}

/// Takes one object. `stamp`: the stamp of the log line that contains it, if there is one.
pub fn hear(line: &str, stamp: Option<Stamp>, sink: &mut Sink<'_>) -> io::Result<LineResult> {
    let event: Event<'_> = match serde_json::from_str(line) {
        Ok(event) => event,
        Err(error) if error.is_data() => {
            return Ok(LineResult::Not("an event without event, start_time, end_time or fields"));
        }
        Err(_) => return Ok(LineResult::Not("this is no whole JSON object")),
    };
    let Event { event, start_time: When(start), end_time: When(end), fields } = event;
    let session = &fields.session;
    // An event is written at its end.
    sink.written(end..=end);
    if let Some(stamp) = stamp.filter(|stamp| stamp.local) {
        sink.both_stamps(stamp.at, end);
    }
    match &*event {
        "imap_command_finished" | "mail_user_session_finished" if session.is_empty() => {
            Ok(LineResult::Not("the event names no session"))
        }
        "imap_command_finished" if fields.cmd_name.is_empty() => Ok(LineResult::Not("the event names no command")),
        "imap_command_finished" => {
            sink.named(session, start);
            sink.entry(start, session, &fields.user, EventKind::Command(command(&fields, end.abs_diff(start))))?;
            Ok(LineResult::Understood)
        }
        "mail_user_session_finished" => {
            sink.named(session, start);
            sink.entry(start, session, &fields.user, EventKind::Login { coarse: false })?;
            let totals = Totals { lasted: Some(end.abs_diff(start)), ..Totals::default() };
            sink.entry(end, session, &fields.user, EventKind::End(totals))?;
            Ok(LineResult::Understood)
        }
        _ => Ok(LineResult::Beside),
    }
}

fn command(fields: &Fields<'_>, lasted: u64) -> Command {
    let outcome = match &*fields.tagged_reply_state {
        "OK" => RecordOutcome::Ok,
        "" => RecordOutcome::Unanswered,
        _ => RecordOutcome::Error,
    };
    let cost = Cost {
        lasted: Some(lasted),
        sent: fields.net_in_bytes.or(fields.bytes_in),
        received: fields.net_out_bytes.or(fields.bytes_out),
        outcome,
    };
    let (name, args) = (&fields.cmd_name, &fields.cmd_args);
    Command {
        name: name.to_ascii_uppercase(),
        meaning: meaning(name, args),
        folder: fields.mailbox.to_string(),
        coarse: false,
        tag: fields.cmd_tag.to_string(),
        by_file: false,
        cost,
    }
}

/// A time as RFC 3339, or as seconds since 1970 (`time-unix`).
#[derive(Deserialize)]
#[serde(try_from = "WrittenTime<'_>")]
struct When(i64);

/// A time as it is written.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenTime<'a> {
    Seconds(f64),
    #[serde(borrow)]
    Text(Cow<'a, str>),
}

impl TryFrom<WrittenTime<'_>> for When {
    type Error = &'static str;

    fn try_from(written: WrittenTime<'_>) -> Result<Self, Self::Error> {
        let at = match written {
            WrittenTime::Text(text) => rfc3339(&text).or_else(|| unix(&text)),
            // Seconds of this century with six decimals have fewer than 53 bits: rounding gives the microsecond.
            WrittenTime::Seconds(seconds) => Some((seconds * 1e6).round() as i64).filter(|at| TIMES.contains(at)),
        };
        at.map(Self).ok_or("this is no time")
    }
}
