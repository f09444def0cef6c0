//! Messages to the screen: what happens in a run, and the answers to its requests.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use analysis::{
    judge::compare::Across,
    live::{AgentSecond, LiveEvent, Shape, TimelineSecond},
    series::value::Value,
    summary::RunSummary,
};
use measure::Window;
use traces::{inspect::Inspected, trace::Header};

/// A message to the screen.
#[derive(Debug)]
pub enum ScreenMessage {
    /// Something happened in a run.
    Event(Box<LiveEvent>),
    /// A second of a load is over; agents that sent it, where agents did.
    Window(Box<Window>, Vec<AgentSecond>),
    /// A line on a load.
    LoadNote(String),
    /// The contents of the folder.
    Found(FolderContents),
    /// A trace that was opened.
    Trace(Box<OpenTrace>),
    /// Runs that were asked for, or the one that has just ended.
    Opened(Vec<OpenRun>),
    /// One of two runs that were opened against the other.
    Compared(Box<RunsCompared>),
    /// News of a preview.
    Preview(Box<PreviewNews>),
    /// An experiment file was written.
    Written {
        path: PathBuf,
        /// It is to be edited.
        and_edit: bool,
        /// For the person: what was found, or what runs it.
        said: String,
    },
    /// What requests cost a service was measured.
    Calibrated {
        /// Its experiment file.
        file: PathBuf,
        /// What was found, and in short.
        plant: PathBuf,
        said: String,
    },
    /// It was done: a line for the person.
    Done(String),
    /// It could not be done.
    Failed(String),
}

/// The contents of a folder, as far as the program shows them.
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
    pub folder: PathBuf,
    /// The summary in a line; `None`: it was killed before it had one.
    pub summary: Option<PastSummary>,
}

/// A run in a line.
#[derive(Debug, Clone, PartialEq)]
pub struct PastSummary {
    /// The experiment.
    pub experiment: String,
    /// The world: virtual time instead of live.
    pub virtual_time: bool,
    /// The beginning of the run, in UTC.
    pub began: String,
    /// The arm to deploy, where one can be named.
    pub winner: String,
    /// The verdict, and whether the run was broken off.
    pub verdict: String,
    pub arms: Vec<String>,
    /// The origin of the run, in lines: seed, repetitions, settings.
    pub made: Vec<String>,
}

/// A run to compare.
#[derive(Debug, Clone)]
pub struct OpenRun {
    /// The name on the screen.
    pub name: String,
    pub folder: PathBuf,
    /// The result.
    pub summary: RunSummary,
    /// Second by second.
    pub timeline: Vec<TimelineSecond>,
    /// Events between the seconds.
    pub events: Vec<LiveEvent>,
    /// The plan of the run.
    pub shape: Option<Shape>,
    /// The origin of the run, in lines: seed, repetitions, settings.
    pub made: Vec<String>,
    /// The duration, if it was run just now.
    pub took: Option<Duration>,
}

impl OpenRun {
    /// The number of blocks.
    pub(super) fn blocks(&self) -> u32 {
        self.summary.arms.iter().map(|arm| arm.block).max().unwrap_or(1)
    }
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

/// News of a preview.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviewNews {
    /// The id of the experiment.
    pub id: String,
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

/// A trace to show.
#[derive(Debug)]
pub struct OpenTrace {
    /// The figures of the trace.
    pub seen: Inspected,
    /// The account of its import, line by line; empty if it was not imported.
    pub account: String,
}

/// A comparison of two runs.
#[derive(Debug, Clone, Default)]
pub struct RunsCompared {
    /// Folders of the runs. The first is what the second is held against.
    pub folders: [PathBuf; 2],
    /// Every arm of the second against its like in the first, by phase, in all metrics; empty where they cannot be compared.
    pub phases: BTreeMap<String, Vec<Across>>,
    /// Notes: what was left out, and what a reader should know, such as why they cannot be compared.
    pub notes: Vec<String>,
}
