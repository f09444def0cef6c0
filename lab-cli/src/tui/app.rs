//! The whole program on a terminal: screens, and the jobs that the command carries out for them.
//!
//! Nothing here reads a file or runs anything: [`ScreenJob`]s go out, [`Told`] comes in.

use std::{collections::BTreeMap, path::PathBuf};

use analysis::{
    live::{LiveEvent, Shape, TimelineSecond},
    summary::RunSummary,
};
use crossterm::event::KeyEvent;
use experiment::Changes;
use traces::trace::Header;

use super::{
    Ask,
    keymap::{self, Action},
    panel::Screen,
    state::State,
    update,
};

mod compare;
mod cursor;
mod home;
mod line;
mod past;
mod setup;
mod trace;

pub(super) use compare::{Column, Compare, Course};
pub(super) use home::{Content, Home, Kind};
pub(super) use line::Line;
pub(super) use past::Past;
pub(super) use setup::{Pane, Setup, live_time};
pub use trace::OpenTrace;
pub(super) use trace::Trace;

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
    /// The result.
    pub summary: RunSummary,
    /// Second by second.
    pub timeline: Vec<TimelineSecond>,
    /// What was meant to happen.
    pub shape: Option<Shape>,
    /// How it was made, in lines: seed, repetitions, settings.
    pub made: Vec<String>,
    /// How long it took, if it was run just now.
    pub took: Option<std::time::Duration>,
}

impl OpenRun {
    /// How often every arm ran.
    pub(super) fn blocks(&self) -> u32 {
        self.summary.arms.iter().map(|arm| arm.block).max().unwrap_or(1)
    }
}

/// What the person's keys lead to.
#[derive(Debug)]
pub(super) enum Effect {
    /// Of the run that goes on.
    Ask(Ask),
    /// Something to do.
    Job(ScreenJob),
    /// Leave.
    Quit,
}

/// What the program was started for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Shows {
    /// Everything that the program can do.
    #[default]
    All,
    /// One run (`lab run`): there is nothing before it and nothing after it.
    OneRun,
    /// One trace (`lab trace inspect`): there is nothing behind it.
    OneTrace,
}

/// Everything that is shown.
#[derive(Debug, Default)]
pub(super) struct App {
    pub shows: Shows,
    pub screen: Screen,
    pub home: Home,
    pub setup: Option<Setup>,
    /// Setups that the user has left, kept for the next visit.
    left: BTreeMap<String, Setup>,
    pub live: State,
    pub past: Past,
    pub compare: Compare,
    /// What was looked into last.
    pub trace: Option<Trace>,
    /// The comparison was opened from the past runs: that is where it leads back to.
    pub of_the_past: bool,
    pub help: bool,
    /// A line for the person: what went wrong.
    pub said: Option<String>,
}

impl App {
    /// `lab run` on a terminal.
    pub fn of_one_run() -> Self {
        Self { shows: Shows::OneRun, screen: Screen::Live, ..Self::default() }
    }

    /// `lab trace inspect` on a terminal.
    pub fn of_a_trace(trace: OpenTrace) -> Self {
        Self { shows: Shows::OneTrace, screen: Screen::Trace, trace: Some(Trace::new(trace)), ..Self::default() }
    }

    /// Nothing is left to show.
    pub fn is_over(&self) -> bool {
        self.shows == Shows::OneRun && self.live.over
    }

    pub fn told(&mut self, told: Told) {
        match told {
            Told::Event(event) => update::happened(&mut self.live, *event),
            Told::Found(folder) => {
                self.home.add_own(&folder);
                self.past.set(folder.runs);
            }
            // A user who has moved on to another screen is not called back.
            Told::Trace(trace) if self.screen == Screen::Home => {
                self.said = None;
                self.trace = Some(Trace::new(*trace));
                self.go(Screen::Trace);
            }
            Told::Trace(_) => {}
            Told::Opened(runs) if runs.is_empty() => {}
            Told::Opened(runs) => {
                self.compare = Compare::of(runs);
                self.of_the_past = self.screen == Screen::Past;
                self.go(Screen::Compare);
            }
            Told::Failed(message) => {
                if self.screen == Screen::Live {
                    self.live.form = None;
                    self.go(Screen::Setup);
                }
                self.said = Some(message);
            }
        }
    }

    pub fn key(&mut self, key: KeyEvent) -> Option<Effect> {
        let ctrl = key.modifiers.contains(crossterm::event::KeyModifiers::CONTROL);
        if self.screen == Screen::Live && self.live.form.is_some() && !ctrl {
            return update::typed(&mut self.live, key).map(Effect::Ask);
        }
        if let Some(line) = self.line().filter(|_| !ctrl) {
            if let Some(written) = line.key(key) {
                self.written(written);
            }
            return None;
        }
        let action = keymap::action(key, self.screen)?;
        self.said = None;
        self.live.said = None;
        match action {
            Action::Help => self.help = !self.help,
            Action::Back if self.help => self.help = false,
            _ if self.screen == Screen::Live => return update::pressed(&mut self.live, action).map(Effect::Ask),
            Action::Stop => return Some(Effect::Quit),
            Action::Back => return self.back(),
            _ => return self.pressed(action),
        }
        None
    }

    /// Pasted text is never keys: what is being written takes it in, and nothing else does.
    pub fn pasted(&mut self, text: &str) {
        if let Some(form) = self.live.form.as_mut().filter(|_| self.screen == Screen::Live) {
            form.pasted(text);
        } else if let Some(line) = self.line() {
            line.pasted(text);
        }
    }

    /// The line that is being written, if one is.
    fn line(&mut self) -> Option<&mut Line> {
        match self.screen {
            Screen::Home => self.home.finding.as_mut(),
            Screen::Setup => self.setup.as_mut()?.editing.as_mut(),
            Screen::Live | Screen::Past | Screen::Compare | Screen::Trace => None,
        }
    }

    /// A line was ended: taken, or given up.
    fn written(&mut self, written: line::Ended) {
        match (self.screen, &mut self.setup) {
            (Screen::Home, _) => self.home.found(written),
            (Screen::Setup, Some(setup)) => setup.edited(written),
            _ => {}
        }
    }

    fn pressed(&mut self, action: Action) -> Option<Effect> {
        match self.screen {
            Screen::Home => match action {
                Action::Choose => match &self.home.chosen()?.read {
                    Ok(Content::Experiment(found)) => {
                        let fresh = found.setup();
                        self.left.extend(self.setup.take().map(|last| (last.name.clone(), last)));
                        let before = self.left.remove(&fresh.name).filter(|before| before.is_of(&fresh));
                        self.setup = Some(before.unwrap_or(fresh));
                        self.go(Screen::Setup);
                    }
                    Ok(Content::Trace { path, .. }) => {
                        let path = path.clone();
                        self.said = Some(format!("reading {} ...", path.display()));
                        return Some(Effect::Job(ScreenJob::Inspect(path)));
                    }
                    Err(problem) => self.said = Some(problem.clone()),
                },
                Action::Past => {
                    self.go(Screen::Past);
                    return Some(Effect::Job(ScreenJob::Look));
                }
                _ => self.home.pressed(action),
            },
            Screen::Setup => {
                let setup = self.setup.as_mut()?;
                if action == Action::Choose && setup.pane != Pane::Parameters {
                    match setup.order() {
                        Ok(order) => {
                            self.live = State::default();
                            self.go(Screen::Live);
                            return Some(Effect::Job(ScreenJob::Run(Box::new(order))));
                        }
                        Err(problem) => self.said = Some(problem),
                    }
                } else {
                    setup.pressed(action);
                }
            }
            Screen::Past => {
                if action == Action::Choose {
                    let folders = self.past.chosen();
                    return (!folders.is_empty()).then_some(Effect::Job(ScreenJob::Open(folders)));
                }
                self.past.pressed(action);
            }
            Screen::Compare => self.compare.pressed(action),
            Screen::Trace => self.trace.as_mut()?.pressed(action),
            Screen::Live => {}
        }
        None
    }

    fn go(&mut self, screen: Screen) {
        self.screen = screen;
        self.help = false;
    }

    fn back(&mut self) -> Option<Effect> {
        let to = match self.screen {
            Screen::Trace if self.trace.as_mut()?.back() => return None,
            Screen::Compare if self.compare.back() => return None,
            Screen::Setup if self.setup.as_mut().is_some_and(Setup::back) => return None,
            Screen::Trace if self.shows == Shows::OneTrace => return Some(Effect::Quit),
            Screen::Home | Screen::Setup | Screen::Past | Screen::Live | Screen::Trace => Screen::Home,
            Screen::Compare if self.of_the_past || self.setup.is_none() => Screen::Past,
            Screen::Compare => Screen::Setup,
        };
        self.go(to);
        None
    }
}
