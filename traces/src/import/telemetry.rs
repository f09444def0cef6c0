//! Cyrus' telemetry logs: one file per session in the folder of its user, with `<seconds<` before the client's bytes
//! and `>seconds>` before the server's.
//!
//! A mark is recognised at the beginning of a line only: a mark in the middle of a line counts as text of the current
//! speaker. Times are whole seconds.

use std::{io::Read, path::Path};

use super::{
    conversation::Conversation,
    sink::{LONGEST_LINE, LineResult, Sink, Stop},
    timestamps::unix,
};
use crate::lines::{Line, Lines};

/// The speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Client,
    Server,
}

/// Reads to the end.
pub fn read(name: &str, from: impl Read, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let folder = Path::new(name).parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let mut session =
        Conversation::new(name.to_owned(), folder.unwrap_or_default().to_owned(), true).in_whole_seconds();
    let mut now: Option<(i64, Speaker)> = None;
    let mut lines = Lines::new(from, LONGEST_LINE);
    let mut broken = None;
    loop {
        let place = lines.place();
        let line = match lines.next() {
            Ok(None) => break,
            Ok(Some(Line::TooLong)) => {
                sink.heard(LineResult::Not("the line is over 1 MiB"), place);
                continue;
            }
            Ok(Some(Line::Whole(line))) => line,
            Err(error) => {
                broken = Some(Stop::Source(place.to_string(), error));
                break;
            }
        };
        let (text, marked) = match mark(line) {
            Some((at, speaker, text)) => {
                now = Some((at, speaker));
                (text, true)
            }
            None => (line, false),
        };
        let Some((at, speaker)) = now else {
            sink.heard(LineResult::Beside, place);
            continue;
        };
        let ended = [text, b"\r\n"].concat();
        match speaker {
            // The mark's own line may be empty: the text follows on the next.
            _ if marked && text.is_empty() => {}
            Speaker::Client => session.client(at, &ended, sink)?,
            Speaker::Server => session.server(at, &ended, sink)?,
        }
        sink.heard(LineResult::Understood, place);
    }
    let last = now.map_or(0, |(at, _)| at);
    session.finish(last, now.is_some() && broken.is_none(), sink)?;
    broken.map_or(Ok(()), Err)
}

/// A mark at the beginning of a line, and what follows it.
fn mark(line: &[u8]) -> Option<(i64, Speaker, &[u8])> {
    let (sign, speaker) = match line.first()? {
        b'<' => (b'<', Speaker::Client),
        b'>' => (b'>', Speaker::Server),
        _ => return None,
    };
    let end = line.iter().skip(1).take(12).position(|&c| c == sign)? + 1;
    let at = unix(std::str::from_utf8(&line[1..end]).ok()?)?;
    Some((at, speaker, &line[end + 1..]))
}
