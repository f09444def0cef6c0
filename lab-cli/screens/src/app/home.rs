//! Experiments to choose from, and traces to look into.

use std::{
    path::PathBuf,
    sync::{Arc, LazyLock},
};

use experiment::{Changes, Experiment, Library, read};
use traces::trace::Header;

use super::{
    Setup,
    cursor::{ListWindow, moved},
    preview::Previews,
};
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
    Retries,
    Shed,
    Crowds,
    Worse,
    Place,
    Signals,
    Failures,
    Defects,
    /// The method itself.
    Others,
    Seda,
    Sre,
    Cataclysm,
    Webq,
    /// Traces of this folder.
    Traces,
}

/// Groups with their titles, and the experiments that answer a question; those that show most of the field in the least time come first.
const GROUPS: [(Group, &str, &str); 16] = [
    (Group::Start, "start here", "flash-crowd metastable overload-sweep four-policies retry-stack"),
    (Group::Own, "yours", ""),
    (Group::Retries, "do retries make it worse?", "retry-budget attempts self-throttle server-and-client break-even"),
    (
        Group::Shed,
        "who is shed first?",
        "classes class-queues gold-first paying-first greedy-customer four-levels \
         limits-per-criticality dagor subrequests compose",
    ),
    (
        Group::Crowds,
        "how is a crowd let in?",
        "front-doors room-bursts threshold-first sentry-switch sentry-cpu more-sentries \
         two-applications batch-proxy ten-times",
    ),
    (Group::Worse, "a worse answer, or none?", "degrade partial-search harvest refusals"),
    (
        Group::Place,
        "where should control sit?",
        "per-stage-or-single upstream user-ramp per-type spike-at-one-stage pools batching",
    ),
    (Group::Signals, "what tells an overload?", "memory-signal combined-signals monitor power-peak"),
    (Group::Failures, "what if a part fails?", "cascade lost-task one-slow-task balancers"),
    (
        Group::Defects,
        "where do policies fail?",
        "gradient2-drifts lifo-starves aimd-climbs vegas-probes burst-or-overload \
         earlier-controller older-policies",
    ),
    (Group::Others, "can the figures be trusted?", ""),
    (Group::Seda, "figures of SEDA", ""),
    (Group::Sre, "figures of Google SRE", ""),
    (Group::Cataclysm, "figures of Cataclysm", ""),
    (Group::Webq, "figures of WebQ", ""),
    (Group::Traces, "traces", ""),
];

impl Group {
    pub fn title(self) -> &'static str {
        GROUPS.iter().find(|(group, ..)| *group == self).map_or("", |(_, title, _)| title)
    }

    /// Sorts an experiment of the library: by its question, else by its paper; and its place in the group.
    fn of(entry: &Library) -> (Self, usize) {
        let by_paper = || match entry.id.split_once('-').map_or("", |(paper, _)| paper) {
            "seda" | "ew" => Self::Seda,
            "sre" => Self::Sre,
            "cat" => Self::Cataclysm,
            "webq" => Self::Webq,
            _ => Self::Others,
        };
        let place = |ids: &str| ids.split(' ').position(|id| id == entry.id);
        let asked = GROUPS.iter().find_map(|(group, _, ids)| Some((*group, place(ids)?)));
        asked.unwrap_or_else(|| (by_paper(), usize::MAX))
    }
}

/// One line of the list.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub id: String,
    pub group: Group,
    /// What is searched: its name and its whole file, in small letters.
    searched: Arc<str>,
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
    pub window: ListWindow,
    /// The words to look for.
    pub finding: Option<TextInput>,
    pub filter: String,
    /// The first line of the description that is shown.
    pub described_from: usize,
    pub previews: Previews,
}

/// The library in the list's order, read once.
static LIBRARY: LazyLock<Vec<Choice>> = LazyLock::new(|| {
    let mut entries: Vec<&Library> = Library::all().iter().collect();
    entries.sort_by_key(|entry| Group::of(entry));
    entries.into_iter().map(|entry| Choice::experiment(entry.id, entry.text, Group::of(entry).0)).collect()
});

impl Default for Home {
    fn default() -> Self {
        let (finding, filter, previews) = (None, String::new(), Previews::default());
        Self {
            choices: LIBRARY.clone(),
            at: 0,
            window: ListWindow::default(),
            finding,
            filter,
            described_from: 0,
            previews,
        }
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
        let searched = format!("{id}\n{text}").to_lowercase().into();
        Self { id: id.to_owned(), group, searched, read }
    }

    fn trace((path, header): &(PathBuf, Result<Header, String>)) -> Self {
        let read = header.clone().map(|header| Content::Trace { path: path.clone(), header });
        let id = path.display().to_string();
        let source = header.as_ref().map_or("", |header| &header.source);
        let searched = format!("{id}\n{source}").to_lowercase().into();
        Self { id, group: Group::Traces, searched, read }
    }

    /// The experiment, where it is one that could be read.
    pub fn found(&self) -> Option<&Found> {
        match &self.read {
            Ok(Content::Experiment(found)) => Some(found),
            _ => None,
        }
    }

    /// It has all of these words, in small letters.
    fn has(&self, wanted: &str) -> bool {
        wanted.split_whitespace().all(|word| self.searched.contains(word))
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

    /// Choices that match the search: those by their names first, then those with its words beside each other; if none has
    /// all of the words, those that have any.
    pub fn shown(&self) -> impl Iterator<Item = &Choice> {
        let wanted = self.finding.as_ref().map_or(&self.filter, |line| &line.text).to_lowercase();
        let mut found: Vec<&Choice> = self.choices.iter().filter(|choice| choice.has(&wanted)).collect();
        if found.is_empty() {
            let any = |choice: &&Choice| wanted.split_whitespace().any(|word| choice.has(word));
            found = self.choices.iter().filter(any).collect();
        }
        let named = |choice: &Choice| wanted.split_whitespace().all(|word| choice.id.to_lowercase().contains(word));
        found.sort_by_key(|choice| (!named(choice), !choice.searched.contains(&wanted)));
        found.into_iter()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_that_is_named_by_a_question_is_there() {
        for id in GROUPS.iter().flat_map(|(.., ids)| ids.split_whitespace()) {
            assert!(Library::find(id).is_some(), "{id}");
        }
    }
}
