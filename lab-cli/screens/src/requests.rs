//! Requests of the person at the screen: of the run that goes on, and of the command behind the screen.

use std::path::PathBuf;

use analysis::live::Touch;
use experiment::Changes;

/// A request of the person at the keyboard.
#[derive(Debug, Clone, PartialEq)]
pub enum UserRequest {
    /// Stop arrivals, wait for what is open, save.
    Stop,
    /// End at once (asked for a second time).
    Abort,
    /// Change it while it goes on.
    Touch(Touch),
}

/// A job for the command.
#[derive(Debug)]
pub enum ScreenJob {
    /// Find the experiments, the traces and the runs of this folder.
    Look,
    /// Look into this trace.
    Inspect(PathBuf),
    /// Ask a service, by its URL or the command that starts it, and write an experiment file for it.
    Init(String),
    /// Measure what requests cost the service of this experiment file.
    Calibrate(PathBuf),
    /// Run an experiment.
    Run(Box<RunOrder>),
    /// Read these runs.
    Open(Vec<PathBuf>),
    /// Compute what this experiment shows, in place of what is computed now; `None`: nothing.
    Preview(Option<Box<RunOrder>>),
    /// Write a new experiment file.
    Write {
        /// The file to make; it is not there yet.
        path: PathBuf,
        /// The file's contents.
        text: String,
        /// The person edits it then.
        and_edit: bool,
        /// What is told once it is written.
        said: String,
    },
    /// Put something into a run's folder.
    Export {
        what: Export,
        /// The run's folder.
        folder: PathBuf,
        /// The table, where that is what is wanted.
        table: String,
    },
}

/// An experiment to run.
#[derive(Debug)]
pub struct RunOrder {
    /// For its problems: what it is called.
    pub name: String,
    /// The file.
    pub text: String,
    pub changes: Changes,
    /// The world: virtual time instead of live.
    pub virtual_time: bool,
}

/// A part of a comparison that can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Export {
    /// `report.html`.
    Report,
    /// `over-time.svg`.
    Picture,
    /// The table that is shown, as Markdown: a file, and the clipboard.
    Table,
    /// The folder's path: the clipboard.
    Folder,
}

impl Export {
    pub(super) const ALL: [(Self, &'static str); 4] = [
        (Self::Report, "the report, report.html in the run's folder"),
        (Self::Picture, "the run over time, over-time.svg in the run's folder"),
        (Self::Table, "this table as Markdown, table.md in the run's folder; and to the clipboard"),
        (Self::Folder, "the folder's path, to the clipboard"),
    ];
}

/// The effect of a person's keys.
#[derive(Debug)]
pub(super) enum Effect {
    /// A request to the run that goes on.
    Ask(UserRequest),
    /// Something to do.
    Job(ScreenJob),
    /// The person's editor has the terminal, with this file.
    Edit(PathBuf),
    /// Into the terminal's clipboard.
    Copy(String),
    /// Leave.
    Quit,
}
