//! Cyrus' telemetry logs: one file per session in the folder of its user, with `<seconds<` before the client's bytes
//! and `>seconds>` before the server's.
//!
//! A mark is recognised at the beginning of a line only: a mark in the middle of a line counts as text of the current
//! speaker. Times are whole seconds.

use std::path::Path;

use crate::{
    conversation::Conversation,
    importer::{Certainty, Importer, Mark, Reads, Stream},
    sink::{LineResult, Sink, Stop},
    timestamps::unix,
};

/// Telemetry logs.
pub const IMPORTER: Importer = Importer {
    name: "Cyrus telemetry",
    files: "Cyrus telemetry",
    mark: Mark::Line(|line| {
        let sign = line.chars().next().filter(|sign| ['<', '>'].contains(sign))?;
        let (seconds, _) = line[1..].split_once(sign)?;
        let is_stamp = (9..=10).contains(&seconds.len()) && seconds.bytes().all(|c| c.is_ascii_digit());
        is_stamp.then_some(Certainty::Number)
    }),
    reads: Reads::Log(read),
};

/// Reads to the end.
fn read(name: &str, from: Stream, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let folder = Path::new(name).parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let mut session =
        Conversation::new(name.to_owned(), folder.unwrap_or_default().to_owned(), true).in_whole_seconds();
    // The time and the speaker; true: the client.
    let mut now: Option<(i64, bool)> = None;
    let read = sink.raw_lines(from, |line, sink| {
        let marked = mark(line);
        now = marked.map(|(at, client, _)| (at, client)).or(now);
        let text = marked.map_or(line, |(.., text)| text);
        let Some((at, client)) = now else { return Ok(Some(LineResult::Beside)) };
        let ended = [text, b"\r\n"].concat();
        match client {
            // The mark's own line may be empty: the text follows on the next.
            _ if marked.is_some() && text.is_empty() => {}
            true => session.client(at, &ended, sink)?,
            false => session.server(at, &ended, sink)?,
        }
        Ok(Some(LineResult::Understood))
    });
    let last = now.map_or(0, |(at, _)| at);
    session.finish(last, now.is_some() && read.is_ok(), sink)?;
    read.map(drop)
}

/// A mark at the beginning of a line: its time, true for the client's, and the text after it.
fn mark(line: &[u8]) -> Option<(i64, bool, &[u8])> {
    let sign = *line.first().filter(|sign| b"<>".contains(sign))?;
    let end = line.iter().skip(1).take(12).position(|&c| c == sign)? + 1;
    let at = unix(std::str::from_utf8(&line[1..end]).ok()?)?;
    Some((at, sign == b'<', &line[end + 1..]))
}
