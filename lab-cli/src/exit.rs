//! Ends of the program: every exit code is chosen here.

use std::{fmt, io, path::Path, process::ExitCode};

use analysis::{
    FolderError,
    text::{in_plain_words, scrubbed_lines},
};

/// The end of a command; each has an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// All was done.
    Done,
    /// A threshold or claim failed, or nothing was served.
    Failed,
    /// A run is INVALID.
    Invalid,
    /// Interrupted (Ctrl-C); what was measured is saved.
    Interrupted,
    /// Asked to end (SIGTERM, SIGHUP); what was measured is saved.
    Terminated,
}

/// The reason why a command could not be carried out.
#[derive(Debug)]
pub enum Failure {
    /// Bad usage or bad input: nothing was run.
    Usage(String),
    /// Could not be carried out.
    Cause(String),
    /// Whoever read the output has gone: nothing to say, and nobody to say it to.
    ClosedPipe,
}

pub type CommandResult = Result<End, Failure>;

impl Failure {
    /// Makes a failure from a message with the cause and the way out.
    pub fn because(message: impl fmt::Display) -> Self {
        Self::Cause(message.to_string())
    }

    /// For a screen, where nothing ends with it.
    pub fn in_words(self) -> String {
        match self {
            Self::Usage(message) | Self::Cause(message) => in_plain_words(&message),
            Self::ClosedPipe => "nobody reads what is written".to_owned(),
        }
    }

    /// Bad input.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::Usage(message.to_string())
    }

    /// A file that could not be read or written.
    pub fn at(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.display().to_string();
        move |error| Self::because(format!("{path}: {error}"))
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        if error.is_refusal() { Self::usage(error) } else { Self::because(error) }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Cause(error.to_string()),
        }
    }
}

/// Prints what is left to say, and chooses the code.
pub fn code(outcome: CommandResult) -> ExitCode {
    let code = match outcome {
        Ok(End::Done) | Err(Failure::ClosedPipe) => 0,
        Err(Failure::Cause(message)) => {
            complain(&message);
            1
        }
        Err(Failure::Usage(message)) => {
            complain(&message);
            2
        }
        Ok(End::Invalid) => 3,
        Ok(End::Failed) => 4,
        Ok(End::Interrupted) => 130,
        Ok(End::Terminated) => 143,
    };
    ExitCode::from(code)
}

/// Says something to people, apart from the result. A message may quote a file that came from anywhere: what would act on a terminal does
/// not reach it.
pub fn complain(message: &str) {
    use io::Write;
    // If nobody reads standard error either, there is nothing left to do.
    let _ = writeln!(io::stderr(), "lab: {}", scrubbed_lines(&in_plain_words(message).replace('\r', "")).trim_end());
}
