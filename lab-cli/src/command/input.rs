//! Input that a person named: files, which may be pipes, and header lines.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Read as _},
    os::{
        fd::AsFd as _,
        unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    },
    path::Path,
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use crate::exit::Failure;

/// Longest wait for the first byte of a pipe, ms: `lab check <(make-experiment)` has to come to its first line in it.
const PATIENCE_MS: u16 = 5000;
/// Longer files are no bodies, keys or lists: the path is wrong.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Opens the input. A pipe without a writer is an error, not an endless wait.
pub fn open(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.file_type().is_fifo() {
        return File::open(path);
    }
    // Else opening it waits for a writer.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let mut wanted = [PollFd::new(file.as_fd(), PollFlags::POLLIN)];
    if poll(&mut wanted, PollTimeout::from(PATIENCE_MS))? == 0 {
        let text = format!("a pipe, and nobody wrote to it for {} s", PATIENCE_MS / 1000);
        return Err(io::Error::new(ErrorKind::TimedOut, text));
    }
    fcntl(&file, FcntlArg::F_SETFL(OFlag::empty()))?;
    Ok(file)
}

/// A file that was typed after this flag.
pub(super) fn contents(flag: &str, path: &Path) -> Result<Vec<u8>, Failure> {
    let named = |problem: String| Failure::usage(format!("{flag} {}: {problem}", path.display()));
    let file = open(path).map_err(|error| named(error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| named(error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(named(format!("over {MOST_BYTES} bytes; is the path right?")));
    }
    Ok(bytes)
}

/// Name and value of a header line, as it is typed after `-H`.
pub(super) fn header(line: &str) -> Result<(String, String), Failure> {
    match line.split_once(':') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(Failure::usage(format!("-H {line:?} is no header line: write -H 'Name: value'"))),
    }
}
