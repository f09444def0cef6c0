//! For tests: arms to judge and to show, and files to read.

use std::{fs, path::Path};

use crate::summary::{Arm, Measured, PhaseSummary, Server};

/// What was measured in half a minute.
pub(crate) fn phase(name: &str, measured: Measured) -> PhaseSummary {
    PhaseSummary { name: name.to_owned(), seconds: 30.0, measured, ..PhaseSummary::default() }
}

/// A policy's turn.
pub(crate) fn arm(policy: &str, block: u32, server: Server, phases: Vec<PhaseSummary>) -> Arm {
    let policy = policy.to_owned();
    Arm { policy, block, valid: true, server: Some(server), phases, ..Arm::default() }
}

/// Writes a file.
#[expect(clippy::disallowed_methods, reason = "what a test reads is written first")]
pub(crate) fn put(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) {
    fs::write(path, contents).expect("written");
}
