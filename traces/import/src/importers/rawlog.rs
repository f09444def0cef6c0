//! Dovecot's rawlogs: for each session two files, `*.in` from the client and `*.out` to it; lines `1700000000.123456
//! text`.
//!
//! A rawlog begins after the login, and does not name the user: the folder that it lies in does, if it has a name.

use std::{io, path::Path};

use traces::lines::{Line, Lines};

use crate::{
    conversation::Conversation,
    importer::{Certainty, Importer, Mark, Reads, Stream},
    sink::{LONGEST_LINE, LineResult, Sink, Stop},
    timestamps::unix,
};

/// Rawlogs.
pub const IMPORTER: Importer = Importer {
    name: "Dovecot rawlog",
    files: "rawlogs",
    mark: Mark::Line(|line| {
        let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
        let (seconds, micros) = line.split(' ').next()?.split_once('.')?;
        let is_stamp = digits(seconds) && digits(micros) && (9..=10).contains(&seconds.len()) && micros.len() == 6;
        is_stamp.then_some(Certainty::Number)
    }),
    reads: Reads::Sides(read),
};

/// The path without extension, which a pair of rawlogs shares, and true for the client's side; by the name of the file:
/// `…/joe/20261121-013932-8716.in`, perhaps compressed.
pub fn side(name: &str) -> Option<(String, bool)> {
    let plain = [".gz", ".zst", ".zstd"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let client = plain.strip_suffix(".in").map(|stem| (stem, true));
    let (stem, is_client) = client.or_else(|| Some((plain.strip_suffix(".out")?, false)))?;
    Some((stem.to_owned(), is_client))
}

/// Reads both sides of a session in the order of time; one of them may be missing.
fn read(stem: &str, [client, server]: [Option<Stream>; 2], sink: &mut Sink<'_>) -> Result<(), Stop> {
    let folder = Path::new(stem).parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let name = if stem.is_empty() { "rawlog" } else { stem };
    let mut session = Conversation::new(name.to_owned(), folder.unwrap_or_default().to_owned(), true).named_by_file();
    let (mut client, mut server) = (Half::new(client)?, Half::new(server)?);
    let mut broken = Broken::default();
    broken.after(client.advance(sink))?;
    broken.after(server.advance(sink))?;
    let mut last = 0;
    loop {
        let from_client = match (client.at, server.at) {
            (None, None) => break,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            // A command comes before its answer.
            (Some(asked), Some(answered)) => asked <= answered,
        };
        let half = if from_client { &mut client } else { &mut server };
        let at = half.at.unwrap_or(last);
        last = last.max(at);
        if from_client {
            session.client(at, &half.text, sink)?;
        } else {
            session.server(at, &half.text, sink)?;
        }
        broken.after(half.advance(sink))?;
    }
    // A rawlog ends with its connection, unless it is cut before.
    session.finish(last, broken.0.is_none(), sink)?;
    broken.0.map_or(Ok(()), Err)
}

/// The position at which a side is cut first; the other side is read on.
#[derive(Default)]
struct Broken(Option<Stop>);

impl Broken {
    fn after(&mut self, advanced: Result<(), Stop>) -> Result<(), Stop> {
        match advanced {
            Err(stop @ Stop::Source(..)) => {
                self.0.get_or_insert(stop);
                Ok(())
            }
            other => other,
        }
    }
}

/// One side, with its next line.
struct Half {
    lines: Option<Lines<Stream>>,
    at: Option<i64>,
    text: Vec<u8>,
}

impl Half {
    fn new(from: Option<Stream>) -> io::Result<Self> {
        Ok(Self { lines: from.map(|from| Lines::new(from, LONGEST_LINE)), at: None, text: Vec::new() })
    }

    /// Goes to the next line with a time.
    fn advance(&mut self, sink: &mut Sink<'_>) -> Result<(), Stop> {
        self.at = None;
        let Some(lines) = &mut self.lines else { return Ok(()) };
        loop {
            let place = lines.place();
            let heard = match lines.next().map_err(|error| Stop::Source(place.to_string(), error))? {
                None => return Ok(()),
                Some(Line::TooLong) => LineResult::Not("the line is over 1 MiB"),
                Some(Line::Whole(line)) => {
                    let mut parts = line.splitn(2, |&c| c == b' ');
                    let stamp = parts.next().and_then(|stamp| std::str::from_utf8(stamp).ok());
                    self.at = stamp.and_then(unix);
                    self.text.clear();
                    self.text.extend_from_slice(parts.next().unwrap_or_default());
                    self.text.extend_from_slice(b"\r\n");
                    if self.at.is_some() { LineResult::Understood } else { LineResult::Not("it begins with no time") }
                }
            };
            sink.heard(heard, place);
            if self.at.is_some() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_side_a_file_has() {
        assert_eq!(side("a/joe/1.in"), Some(("a/joe/1".into(), true)));
        assert_eq!(side("1.out.gz"), Some(("1".into(), false)));
        assert_eq!(side("mail.log"), None);
    }
}
