//! Experiments to choose from, and traces to look into.

use std::{
    path::PathBuf,
    sync::{Arc, LazyLock},
};

use experiment::{Changes, Experiment, Library, read};
use traces::trace::Header;

use super::{Setup, cursor::moved, preview::Previews};
use crate::{
    keymap::Action,
    messages::FolderContents,
    requests::ScreenJob,
    text_input::{Ended, TextInput},
};

/// The group of an experiment; the order is that of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    Start,
    /// Files of this folder.
    Own,
    Seda,
    Sre,
    Cataclysm,
    Webq,
    Defects,
    /// Single mechanisms, and the method itself.
    Others,
    /// Traces of this folder.
    Traces,
}

/// Experiments that show most of the field in the least time.
const START: [&str; 5] = ["flash-crowd", "metastable", "overload-sweep", "four-policies", "retry-stack"];
/// Experiments in which a policy of the literature fails.
const DEFECTS: [&str; 6] =
    ["gradient2-drifts", "lifo-starves", "aimd-climbs", "vegas-probes", "burst-or-overload", "cascade"];

impl Group {
    pub fn title(self) -> &'static str {
        match self {
            Self::Start => "start here",
            Self::Own => "yours",
            Self::Seda => "SEDA",
            Self::Sre => "Google SRE",
            Self::Cataclysm => "Cataclysm",
            Self::Webq => "WebQ",
            Self::Defects => "defects of policies",
            Self::Others => "mechanisms and method",
            Self::Traces => "traces",
        }
    }

    /// Sorts an experiment of the library: by its paper, or by the paper whose result it shows in a short form.
    fn of(entry: &Library) -> Self {
        if START.contains(&entry.id) {
            return Self::Start;
        }
        if DEFECTS.contains(&entry.id) {
            return Self::Defects;
        }
        let long = Library::all().iter().find(|long| long.short == Some(entry.id)).map_or(entry.id, |long| long.id);
        match long.split_once('-').map_or("", |(paper, _)| paper) {
            "seda" | "ew" => Self::Seda,
            "sre" => Self::Sre,
            "cat" => Self::Cataclysm,
            "webq" => Self::Webq,
            _ => Self::Others,
        }
    }
}

/// One line of the list.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub id: String,
    pub group: Group,
    /// A paper's result at its own length.
    pub atlas: bool,
    /// The experiment, or the problem with it.
    pub read: Result<Content, String>,
}

/// The content of a choice.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Experiment(Arc<Found>),
    Trace { path: PathBuf, header: Header },
}

/// An experiment with its file.
#[derive(Debug)]
pub(crate) struct Found {
    pub id: String,
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
pub(crate) struct Home {
    choices: Vec<Choice>,
    /// The index among those shown.
    pub at: usize,
    /// The words to look for.
    pub finding: Option<TextInput>,
    pub filter: String,
    /// The first line of the description that is shown.
    pub described_from: usize,
    pub previews: Previews,
}

/// The library in the list's order, read once.
static LIBRARY: LazyLock<Vec<Choice>> = LazyLock::new(|| {
    let read =
        |entry: &Library| Choice { atlas: entry.atlas, ..Choice::experiment(entry.id, entry.text, Group::of(entry)) };
    let mut choices: Vec<Choice> = Library::all().iter().map(read).collect();
    choices.sort_by_key(|choice| (choice.group, START.iter().position(|id| *id == choice.id)));
    choices
});

impl Default for Home {
    fn default() -> Self {
        let (finding, filter, previews) = (None, String::new(), Previews::default());
        Self { choices: LIBRARY.clone(), at: 0, finding, filter, described_from: 0, previews }
    }
}

impl Choice {
    fn experiment(id: &str, text: &str, group: Group) -> Self {
        let read = read(text, &Changes::default()).map_err(|problems| match problems.first() {
            Some(problem) => format!("{id}:{problem}"),
            None => format!("{id} cannot be read"),
        });
        let found = |experiment| Found { id: id.to_owned(), text: text.to_owned(), experiment };
        let read = read.map(|experiment| Content::Experiment(Arc::new(found(experiment))));
        Self { id: id.to_owned(), group, atlas: false, read }
    }

    fn trace((path, header): &(PathBuf, Result<Header, String>)) -> Self {
        let read = header.clone().map(|header| Content::Trace { path: path.clone(), header });
        Self { id: path.display().to_string(), group: Group::Traces, atlas: false, read }
    }

    /// The experiment, where it is one that could be read.
    pub fn found(&self) -> Option<&Found> {
        match &self.read {
            Ok(Content::Experiment(found)) => Some(found),
            _ => None,
        }
    }

    /// Searches its name, its description, its arms and its phases.
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
    /// Files and traces of this folder. The cursor stays on what it was on.
    pub fn add_own(&mut self, folder: &FolderContents) {
        let before = self.chosen().map(|choice| choice.id.clone());
        self.choices.retain(|choice| !matches!(choice.group, Group::Own | Group::Traces));
        self.choices.extend(folder.files.iter().map(|(name, text)| Choice::experiment(name, text, Group::Own)));
        self.choices.extend(folder.traces.iter().map(Choice::trace));
        self.choices.sort_by_key(|choice| choice.group);
        match before {
            Some(id) if self.point_at(&id) => {}
            _ => self.at = self.at.min(self.shown().count().saturating_sub(1)),
        }
    }

    /// Puts the cursor on this one: `false` if it is not there.
    pub fn point_at(&mut self, id: &str) -> bool {
        let at = self.shown().position(|choice| choice.id == id);
        self.at = at.unwrap_or(self.at);
        at.is_some()
    }

    /// Choices that match the search.
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
            Action::Find => self.finding = Some(TextInput::proposing(&*self.filter)),
            Action::Describe(by) => {
                let by = isize::from(by) * DESCRIBED;
                self.described_from = self.described_from.saturating_add_signed(by);
                return;
            }
            _ => self.at = moved(self.at, self.shown().count(), action).unwrap_or(self.at),
        }
        if action == Action::Find {
            self.at = 0;
        }
        self.described_from = 0;
    }

    /// The order to the command about previews, if one is due. `here`: the list is on the screen.
    pub fn preview_wanted(&mut self, here: bool) -> Option<ScreenJob> {
        let found = self.chosen().and_then(Choice::found).filter(|_| here);
        let found = found.map(|found| (found.id.clone(), found.text.clone()));
        self.previews.wanted(found)
    }

    /// Ends the search, back to all: `false` if all are there.
    pub fn back(&mut self) -> bool {
        let at = self.chosen().map(|choice| choice.id.clone());
        let was_filtered = !std::mem::take(&mut self.filter).is_empty();
        if let Some(id) = at.filter(|_| was_filtered) {
            self.point_at(&id);
        }
        was_filtered
    }

    pub fn found(&mut self, written: Ended) {
        self.filter = match written {
            Ended::Taken(text) => text,
            Ended::GivenUp => String::new(),
        };
        (self.finding, self.at, self.described_from) = (None, 0, 0);
    }
}

/// Lines that the description moves at once.
const DESCRIBED: isize = 5;
