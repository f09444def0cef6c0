//! Experiments to choose from, and traces to look into.

use std::path::PathBuf;

use experiment::{Changes, Experiment, Library, read};
use traces::trace::Header;

use super::{FolderContents, Line, Setup, cursor::moved, line::Ended};
use crate::tui::keymap::Action;

/// Where an experiment comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tui) enum Kind {
    /// A file of this folder.
    Own,
    /// Short enough to run live.
    Short,
    /// A paper's result at its own length.
    Atlas,
    /// A trace of this folder.
    Trace,
}

/// One line of the list.
#[derive(Debug)]
pub(in crate::tui) struct Choice {
    pub id: String,
    pub kind: Kind,
    /// As read, or what is wrong with it.
    pub read: Result<Content, String>,
}

/// What can be chosen.
#[derive(Debug)]
pub(in crate::tui) enum Content {
    Experiment(Box<Found>),
    Trace { path: PathBuf, header: Header },
}

/// An experiment with its file.
#[derive(Debug)]
pub(in crate::tui) struct Found {
    id: String,
    pub text: String,
    pub experiment: Experiment,
}

impl Found {
    /// It with its arms, to be changed and run.
    pub fn setup(&self) -> Setup {
        Setup::new(&self.id, &self.text, &self.experiment)
    }
}

/// The list.
#[derive(Debug)]
pub(in crate::tui) struct Home {
    choices: Vec<Choice>,
    /// Which of those shown.
    pub at: usize,
    /// What is being looked for.
    pub finding: Option<Line>,
    pub filter: String,
}

impl Default for Home {
    fn default() -> Self {
        let kind = |entry: &Library| if entry.atlas { Kind::Atlas } else { Kind::Short };
        let choices = Library::all().iter().map(|entry| Choice::experiment(entry.id, entry.text, kind(entry)));
        Self { choices: choices.collect(), at: 0, finding: None, filter: String::new() }
    }
}

impl Choice {
    fn experiment(id: &str, text: &str, kind: Kind) -> Self {
        let read = read(text, &Changes::default()).map_err(|problems| match problems.first() {
            Some(problem) => format!("{id}:{problem}"),
            None => format!("{id} cannot be read"),
        });
        let found = |experiment| Found { id: id.to_owned(), text: text.to_owned(), experiment };
        Self { id: id.to_owned(), kind, read: read.map(|experiment| Content::Experiment(Box::new(found(experiment)))) }
    }

    fn trace((path, header): &(PathBuf, Result<Header, String>)) -> Self {
        let read = header.clone().map(|header| Content::Trace { path: path.clone(), header });
        Self { id: path.display().to_string(), kind: Kind::Trace, read }
    }

    /// By its name, what it is about, an arm, or a phase.
    fn has(&self, wanted: &str) -> bool {
        let within = |text: &str| text.to_lowercase().contains(wanted);
        within(&self.id)
            || match &self.read {
                Ok(Content::Experiment(found)) => {
                    let Experiment { about, arms, users, .. } = &found.experiment;
                    within(about)
                        || arms.iter().any(|arm| within(&arm.label))
                        || users.phases.iter().any(|phase| within(&phase.name))
                }
                Ok(Content::Trace { header, .. }) => within(&header.source),
                Err(_) => false,
            }
    }
}

impl Home {
    /// Files of this folder, which come first; traces come last.
    pub fn add_own(&mut self, folder: &FolderContents) {
        self.choices.retain(|choice| !matches!(choice.kind, Kind::Own | Kind::Trace));
        let own = folder.files.iter().map(|(name, text)| Choice::experiment(name, text, Kind::Own));
        self.choices.splice(0..0, own);
        self.choices.extend(folder.traces.iter().map(Choice::trace));
        self.at = self.at.min(self.shown().count().saturating_sub(1));
    }

    /// Those that are looked for.
    pub fn shown(&self) -> impl Iterator<Item = &Choice> {
        let wanted = self.finding.as_ref().map_or(&self.filter, |line| &line.text).to_lowercase();
        self.choices.iter().filter(move |choice| choice.has(&wanted))
    }

    pub fn chosen(&self) -> Option<&Choice> {
        let last = self.shown().count().checked_sub(1)?;
        self.shown().nth(self.at.min(last))
    }

    pub fn pressed(&mut self, action: Action) {
        match action {
            Action::Find => (self.finding, self.at) = (Some(Line::proposing(&*self.filter)), 0),
            _ => self.at = moved(self.at, self.shown().count(), action).unwrap_or(self.at),
        }
    }

    pub fn found(&mut self, written: Ended) {
        self.filter = match written {
            Ended::Taken(text) => text,
            Ended::GivenUp => String::new(),
        };
        (self.finding, self.at) = (None, 0);
    }
}
