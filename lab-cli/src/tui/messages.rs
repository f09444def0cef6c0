//! What the screen asks of the command, and what comes back.

use std::{path::PathBuf, time::Duration};

use analysis::{
    live::{LiveEvent, Shape, TimelineSecond},
    report::ArmTimes,
    series::value::Value,
    summary::RunSummary,
};
use experiment::Changes;
use traces::trace::Header;

use super::{OpenTrace, RunsCompared, TimesWanted};
use crate::tui::Ask;

/// A job for the command.
#[derive(Debug)]
pub enum ScreenJob {
    /// Find the experiments, the traces and the runs of this folder.
    Look,
    /// Look into this trace.
    Inspect(PathBuf),
    /// Run an experiment.
    Run(Box<RunOrder>),
    /// Read these runs.
    Open(Vec<PathBuf>),
    /// Compute what this experiment shows, in place of what is computed now; `None`: nothing.
    Preview(Option<Box<RunOrder>>),
    /// Write a new experiment file.
    Write {
        /// Where; it is not there yet.
        path: PathBuf,
        /// What.
        text: String,
        /// The person edits it then.
        and_edit: bool,
        /// What runs it, to be told.
        command: String,
    },
    /// Read the logs of an arm's response times.
    Times(TimesWanted),
    /// Put something into a run's folder.
    Export {
        /// What.
        what: Export,
        /// Which folder.
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
    /// What was changed here.
    pub changes: Changes,
    /// In virtual time.
    pub virtual_time: bool,
}

/// What comes in.
#[derive(Debug)]
pub enum Told {
    /// Something happened in a run.
    Event(Box<LiveEvent>),
    /// What is in this folder.
    Found(FolderContents),
    /// What a trace has.
    Trace(Box<OpenTrace>),
    /// Runs that were asked for, or the one that has just ended.
    Opened(Vec<OpenRun>),
    /// What the logs of an arm's response times have.
    Times(TimesWanted, Box<ArmTimes>),
    /// One of two runs that were opened against the other.
    Compared(Box<RunsCompared>),
    /// What comes of a preview.
    Preview(Box<PreviewNews>),
    /// An experiment file was written; whether it is to be edited, and what runs it.
    Written {
        /// Where.
        path: PathBuf,
        /// It is to be edited.
        and_edit: bool,
        /// What runs it.
        command: String,
    },
    /// It was done: a line for the person.
    Done(String),
    /// It could not be done.
    Failed(String),
}

/// What a folder has for the program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FolderContents {
    /// Experiment files with their texts.
    pub files: Vec<(String, String)>,
    /// Descriptions of traces, or the reasons why they cannot be read.
    pub traces: Vec<(PathBuf, Result<Header, String>)>,
    /// Runs, newest first.
    pub runs: Vec<ListedRun>,
}

/// A run in this folder.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedRun {
    /// Where.
    pub folder: PathBuf,
    /// Its summary in a line; `None`: it was killed before it had one.
    pub summary: Option<PastSummary>,
}

/// A run in a line.
#[derive(Debug, Clone, PartialEq)]
pub struct PastSummary {
    /// The experiment.
    pub experiment: String,
    /// In which world.
    pub virtual_time: bool,
    /// Its verdict, and whether it was broken off.
    pub verdict: String,
    /// Its arms.
    pub arms: Vec<String>,
    /// How it was made, in lines: seed, repetitions, settings.
    pub made: Vec<String>,
}

/// A run to compare.
#[derive(Debug, Clone)]
pub struct OpenRun {
    /// What to call it.
    pub name: String,
    /// Where it is.
    pub folder: PathBuf,
    /// The result.
    pub summary: RunSummary,
    /// Second by second.
    pub timeline: Vec<TimelineSecond>,
    /// What happened between the seconds.
    pub events: Vec<LiveEvent>,
    /// What was meant to happen.
    pub shape: Option<Shape>,
    /// How it was made, in lines: seed, repetitions, settings.
    pub made: Vec<String>,
    /// How long it took, if it was run just now.
    pub took: Option<Duration>,
}

impl OpenRun {
    /// How often every arm ran.
    pub(in crate::tui) fn blocks(&self) -> u32 {
        self.summary.arms.iter().map(|arm| arm.block).max().unwrap_or(1)
    }
}

/// What the person's keys lead to.
#[derive(Debug)]
pub(in crate::tui) enum Effect {
    /// Of the run that goes on.
    Ask(Ask),
    /// Something to do.
    Job(ScreenJob),
    /// The person's editor has the terminal, with this file.
    Edit(PathBuf),
    /// Into the terminal's clipboard.
    Copy(String),
    /// Leave.
    Quit,
}

/// A second of an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PreviewPoint {
    /// Since the arm began.
    pub second: u32,
    /// Requests that were answered in time.
    pub goodput: f64,
    /// 90th percentile of the response times, in milliseconds.
    pub p90: Option<Value>,
}

/// What comes of a preview.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviewNews {
    /// Of which experiment.
    pub id: String,
    /// What.
    pub step: PreviewStep,
}

/// A step of a preview.
#[derive(Debug, Clone, PartialEq)]
pub enum PreviewStep {
    /// It begins, with these arms; the names of those that it leaves out.
    Begins {
        /// Arms that run.
        arms: Vec<String>,
        /// Arms that do not.
        left_out: Vec<String>,
    },
    /// Seconds of an arm, by its number among those that run.
    Points(usize, Vec<PreviewPoint>),
    /// All arms have run.
    Ended,
    /// It cannot be run in virtual time.
    Refused(String),
}

/// What can be taken out of a comparison.
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
    pub(in crate::tui) const ALL: [(Self, &'static str); 4] = [
        (Self::Report, "the report, report.html in the run's folder"),
        (Self::Picture, "the run over time, over-time.svg in the run's folder"),
        (Self::Table, "this table as Markdown, table.md in the run's folder; and to the clipboard"),
        (Self::Folder, "the folder's path, to the clipboard"),
    ];
}
