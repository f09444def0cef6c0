//! A single file: an mbox, or one message.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
    time::UNIX_EPOCH,
};

use super::{
    mbox,
    message::{ImportProblem, ImportReason, MailPlace, Messages, OpenError, RawMail},
    names,
};
use crate::parse::{MAX_BYTES, envelope_date};

/// The kind of a file that a person named.
pub(super) fn open(path: &Path) -> Result<Messages, OpenError> {
    let unreadable = |source| OpenError::Unreadable { path: path.to_owned(), source };
    let start = start_of(path).map_err(unreadable)?;
    if let Some(program) = packed_with(&start) {
        return Err(OpenError::Packed { path: path.to_owned(), program });
    }
    let is_mbox = has_mbox_name(path) || start.trim_ascii().is_empty() || starts_like_mbox(&start);
    if is_mbox {
        return Ok(Box::new(mbox::read(path, mbox::folder_of(path), MAX_BYTES).map_err(unreadable)?));
    }
    if !starts_like_message(&start) {
        return Err(OpenError::NotMail { path: path.to_owned() });
    }
    Ok(Box::new(std::iter::once(message(path, names::INBOX.to_owned()))))
}

/// True if a file in a folder of files contains several messages: by its name, or by two separators in it. (A
/// collection with a file per message can keep each one's separator line.)
pub(super) fn is_mbox(path: &Path) -> io::Result<bool> {
    if has_mbox_name(path) {
        return Ok(true);
    }
    if !starts_like_mbox(&start_of(path)?) {
        return Ok(false);
    }
    // Only separators are searched, so that no message need be held.
    Ok(mbox::read(path, String::new(), 0)?.take(2).count() == 2)
}

/// A file that is a message, without a separator line at its start.
pub(super) fn message(path: &Path, folder: String) -> Result<RawMail, ImportProblem> {
    let place = MailPlace { path: path.to_owned(), message: None };
    let (mut raw, changed) = match read_up_to(path, MAX_BYTES as u64 + 1) {
        Ok(read) => read,
        Err(error) => return Err(ImportProblem { place, reason: error.into() }),
    };
    if raw.len() > MAX_BYTES {
        return Err(ImportProblem { place, reason: ImportReason::TooLong { limit: MAX_BYTES } });
    }
    let mut received = changed;
    if starts_like_mbox(&raw) {
        let end = raw.iter().position(|b| *b == b'\n').map_or(raw.len(), |at| at + 1);
        received = envelope_date(&String::from_utf8_lossy(&raw[..end])).or(changed);
        raw.drain(..end);
    }
    Ok(RawMail { folder, raw, place, received })
}

/// At most `limit` bytes of a file, and the time of its last change.
fn read_up_to(path: &Path, limit: u64) -> io::Result<(Vec<u8>, Option<i64>)> {
    let file = File::open(path)?;
    let changed = file.metadata()?.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let mut raw = Vec::new();
    file.take(limit).read_to_end(&mut raw)?;
    Ok((raw, changed.and_then(|since| i64::try_from(since.as_secs()).ok())))
}

fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    BufReader::new(File::open(path)?).take(4096).read_to_end(&mut start)?;
    Ok(start)
}

fn has_mbox_name(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("mbox") || e.eq_ignore_ascii_case("mbx"))
}

fn starts_like_mbox(start: &[u8]) -> bool {
    start.trim_ascii_start().starts_with(b"From ")
}

/// True for the start of a message: a header's name and a colon.
fn starts_like_message(start: &[u8]) -> bool {
    let line = start.trim_ascii_start().split(|b| *b == b'\n').next().unwrap_or_default();
    let name = line.split(|b| *b == b':').next().unwrap_or_default();
    name.len() < line.len() && !name.is_empty() && name.iter().all(u8::is_ascii_graphic)
}

fn packed_with(start: &[u8]) -> Option<&'static str> {
    let magic: [(&[u8], &str); 5] = [
        (b"\x1f\x8b", "gunzip"),
        (b"BZh", "bunzip2"),
        (b"\xfd7zXZ\0", "unxz"),
        (b"\x28\xb5\x2f\xfd", "unzstd"),
        (b"PK\x03\x04", "unzip"),
    ];
    magic.iter().find(|(bytes, _)| start.starts_with(bytes)).map(|(_, program)| *program)
}
