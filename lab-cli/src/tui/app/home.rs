//! Experiments to choose from.

use std::time::Duration;

use super::{Line, Setup, line::Ended};
use crate::{
    spec::{Changes, Experiment, Library, read},
    tui::keymap::Action,
};

/// Where an experiment comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tui) enum Kind {
    /// A file of this folder.
    Own,
    /// Short enough to run live.
    Short,
    /// A paper's result at its own length.
    Atlas,
}

/// One experiment.
#[derive(Debug)]
pub(in crate::tui) struct Choice {
    pub id: String,
    pub text: String,
    pub kind: Kind,
    /// As read, or what is wrong with it.
    pub read: Result<Experiment, String>,
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
        let choices = Library::all().iter().map(|entry| Choice::new(entry.id, entry.text, kind(entry)));
        Self { choices: choices.collect(), at: 0, finding: None, filter: String::new() }
    }
}

impl Choice {
    fn new(id: &str, text: &str, kind: Kind) -> Self {
        let read = read(text, &Changes::default()).map_err(|problems| match problems.first() {
            Some(problem) => format!("{id}:{problem}"),
            None => format!("{id} cannot be read"),
        });
        Self { id: id.to_owned(), text: text.to_owned(), kind, read }
    }

    /// It with its arms, to be changed and run.
    pub fn setup(&self) -> Result<Setup, String> {
        let experiment = self.read.as_ref().map_err(Clone::clone)?;
        Ok(Setup::new(&self.id, &self.text, experiment))
    }
}

impl Home {
    /// Files of this folder, which come first.
    pub fn add_own(&mut self, files: &[(String, String)]) {
        self.choices.retain(|choice| choice.kind != Kind::Own);
        self.choices.splice(0..0, files.iter().map(|(name, text)| Choice::new(name, text, Kind::Own)));
        self.at = self.at.min(self.shown().count().saturating_sub(1));
    }

    /// Those that are looked for.
    pub fn shown(&self) -> impl Iterator<Item = &Choice> {
        let wanted = self.finding.as_ref().map_or(&self.filter, |line| &line.text).to_lowercase();
        self.choices.iter().filter(move |choice| {
            let about = choice.read.as_ref().map_or("", |experiment| experiment.about.as_str());
            choice.id.to_lowercase().contains(&wanted) || about.to_lowercase().contains(&wanted)
        })
    }

    pub fn chosen(&self) -> Option<&Choice> {
        let last = self.shown().count().checked_sub(1)?;
        self.shown().nth(self.at.min(last))
    }

    pub fn pressed(&mut self, action: Action) {
        match action {
            Action::Up => self.at = self.at.saturating_sub(1),
            Action::Down => self.at = (self.at + 1).min(self.shown().count().saturating_sub(1)),
            Action::Find => (self.finding, self.at) = (Some(Line { text: self.filter.clone() }), 0),
            _ => {}
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

/// How long a live run takes, about: each arm with its start and its end.
pub(in crate::tui) fn live_time(experiment: &Experiment, arms: usize, repeat: u32) -> Duration {
    const START_AND_END: Duration = Duration::from_secs(5);
    let phases: Duration = experiment.users.phases.iter().map(|phase| phase.duration).sum();
    (phases + START_AND_END) * u32::try_from(arms).unwrap_or(u32::MAX) * repeat
}
