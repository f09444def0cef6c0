//! A file that a person named, which may be a pipe.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind},
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

/// Longest wait for the first byte of a pipe, ms: `lab check <(make-experiment)` has to come to its first line in it.
const PATIENCE_MS: u16 = 5000;

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
