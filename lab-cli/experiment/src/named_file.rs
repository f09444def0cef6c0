//! Files that an experiment names: a user model, a plant, a recording.
//!
//! An experiment may come from anybody. What it names is read if it is a regular file of a sensible length, and is quoted in
//! no message: else an experiment could have any file of the machine printed into a log.

use std::{
    fmt::Display,
    fs::File,
    io::{self, ErrorKind, Read as _},
    path::Path,
};

use super::raw::MAX_BYTES;

/// Opens it.
///
/// # Errors
/// In words, with the path: where it was looked for, or that it is no regular file (a pipe would be waited for).
pub fn open(path: &Path) -> Result<File, String> {
    let named = |error: io::Error| match (error.kind(), std::path::absolute(path)) {
        (ErrorKind::NotFound, Ok(looked)) => format!("{}: there is no {}", path.display(), looked.display()),
        _ => format!("{}: {error}", path.display()),
    };
    if !std::fs::metadata(path).map_err(named)?.is_file() {
        return Err(format!("{}: not a regular file", path.display()));
    }
    File::open(path).map_err(named)
}

/// What a file holds, read from its text.
///
/// # Errors
/// As [`text`]; and what is wrong with it, with the path.
pub fn read<T, E: Display>(path: &Path, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<T, String> {
    parse(&text(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// Text of a file, at most [`MAX_BYTES`] of it.
///
/// # Errors
/// As [`open`]; and if it is longer, or no UTF-8.
pub fn text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| format!("{}: {error}", path.display()))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(format!("{}: over {MAX_BYTES} bytes; is the path right?", path.display()));
    }
    Ok(text)
}
