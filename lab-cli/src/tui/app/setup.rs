//! What to run of an experiment: arms, parameters, repetitions, world.

use std::{collections::BTreeMap, time::Duration};

use analysis::live::value_in_words;
use controllers::{Entry, Place, Settings, catalogue::ParamRow};
use experiment::{Changes, Experiment, Repeat, arms::keys_of_arms, plan::AppPlan, read};
use installed::catalogue;

use super::{Line, RunOrder, cursor::moved, line::Ended};
use crate::tui::keymap::Action;

/// Which list the keys move in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::tui) enum Pane {
    #[default]
    Arms,
    Parameters,
}

/// One that can be ticked.
#[derive(Debug)]
pub(in crate::tui) struct Candidate {
    pub label: String,
    /// Where it stands in the file, and by which key; `None`: it does not, and is added.
    in_file: Option<(usize, String)>,
    pub entry: Option<&'static Entry>,
    /// As the file has them.
    settings: Settings,
    /// As changed here.
    pub edits: BTreeMap<&'static str, String>,
    pub on: bool,
}

/// A parameter of the candidate under the cursor.
#[derive(Debug)]
pub(in crate::tui) struct Parameter {
    pub row: ParamRow,
    /// What it is set to.
    pub value: String,
    /// It was changed here.
    pub edited: bool,
}

#[derive(Debug)]
pub(in crate::tui) struct Setup {
    pub name: String,
    text: String,
    pub experiment: Experiment,
    pub candidates: Vec<Candidate>,
    pub pane: Pane,
    pub at: usize,
    pub parameter: usize,
    pub editing: Option<Line>,
    /// Why the value that was just written was not taken.
    pub refused: Option<String>,
    pub virtual_time: bool,
    /// It cannot be run live.
    pub only_virtual: bool,
    pub repeat: u32,
}

const MOST_REPEATS: u32 = 1000;

impl Setup {
    pub fn new(name: &str, text: &str, experiment: &Experiment) -> Self {
        let keys = keys_of_arms(text);
        let mut candidates: Vec<Candidate> = experiment
            .arms
            .iter()
            .enumerate()
            .map(|(n, arm)| Candidate {
                label: arm.label.clone(),
                in_file: Some((n, keys.get(n).cloned().unwrap_or_else(|| arm.policy.name.clone()))),
                entry: catalogue().find(&arm.policy.name).filter(|_| arm.hindsight.is_none()),
                settings: arm.policy.settings.clone(),
                edits: BTreeMap::new(),
                on: true,
            })
            .collect();
        let known = |name: &str| experiment.arms.iter().any(|arm| arm.label == name);
        let others = catalogue().entries().filter(|entry| !known(entry.name) && fits(entry, experiment));
        candidates.extend(others.map(|entry| Candidate::beside_the_file(entry.name, Some(entry))));
        if !matches!(experiment.target.app, AppPlan::Tree(_)) {
            let bounds = catalogue().bounds().map(|(entry, _)| entry).filter(|entry| !known(entry.name));
            candidates.extend(bounds.map(|entry| Candidate::beside_the_file(entry.name, Some(entry))));
        }
        let only_virtual = experiment.simulation.only;
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            experiment: experiment.clone(),
            candidates,
            pane: Pane::Arms,
            at: 0,
            parameter: 0,
            editing: None,
            refused: None,
            // Seconds first: who wants the real thing presses one key.
            virtual_time: !has_no_plant(experiment),
            only_virtual,
            repeat: experiment.repeat,
        }
    }

    pub fn ticked(&self) -> usize {
        self.candidates.iter().filter(|candidate| candidate.on).count()
    }

    /// About how long it takes live.
    pub fn live_time(&self) -> Duration {
        live_time(&self.experiment, self.ticked(), self.repeat)
    }

    pub fn candidate(&self) -> Option<&Candidate> {
        self.candidates.get(self.at)
    }

    /// Those of the candidate under the cursor.
    pub fn parameters(&self) -> Vec<Parameter> {
        let Some(candidate) = self.candidate() else { return Vec::new() };
        let Some(entry) = candidate.entry else { return Vec::new() };
        let preset = entry.preset(&candidate.settings).ok().flatten();
        let parameter = |row: ParamRow| {
            let edited = candidate.edits.get(row.name);
            let written = candidate.settings.get(row.name).map(value_in_words);
            let value = edited.cloned().or(written).unwrap_or_else(|| row.default.clone());
            Parameter { value, edited: edited.is_some(), row }
        };
        entry.rows(preset).into_iter().map(parameter).collect()
    }

    pub fn pressed(&mut self, action: Action) {
        let count = match self.pane {
            Pane::Arms => self.candidates.len(),
            Pane::Parameters => self.parameters().len(),
        };
        let at = match self.pane {
            Pane::Arms => &mut self.at,
            Pane::Parameters => &mut self.parameter,
        };
        if let Some(to) = moved(*at, count, action) {
            *at = to;
        }
        match action {
            Action::Tick => {
                if let Some(candidate) = self.candidates.get_mut(self.at) {
                    candidate.on = !candidate.on;
                }
            }
            Action::NextPane => self.next_pane(),
            Action::World => self.virtual_time = self.only_virtual || !self.virtual_time,
            Action::More => self.repeat = (self.repeat + 1).min(MOST_REPEATS),
            Action::Fewer => self.repeat = (self.repeat - 1).max(1),
            Action::Choose if self.pane == Pane::Parameters => {
                if let Some(parameter) = self.parameters().get(self.parameter) {
                    self.editing = Some(Line::proposing(&*parameter.value));
                }
            }
            _ => {}
        }
        if self.pane == Pane::Arms {
            self.parameter = 0;
        }
    }

    fn next_pane(&mut self) {
        self.pane = match self.pane {
            Pane::Arms if !self.parameters().is_empty() => Pane::Parameters,
            Pane::Arms | Pane::Parameters => Pane::Arms,
        };
    }

    /// Both are made from one file.
    pub fn is_of(&self, other: &Self) -> bool {
        self.text == other.text
    }

    /// From the parameters back to the arms: `false` if that is where the keys are.
    pub fn back(&mut self) -> bool {
        self.pane == Pane::Parameters && {
            self.pane = Pane::Arms;
            true
        }
    }

    /// Takes a new value (an empty one: that of the file again), or says what is wrong with it and leaves it to be mended.
    pub fn edited(&mut self, written: Ended) {
        (self.editing, self.refused) = (None, None);
        let Ended::Taken(value) = written else { return };
        let parameters = self.parameters();
        let Some(parameter) = parameters.get(self.parameter).filter(|parameter| parameter.value != value) else {
            return;
        };
        let name = parameter.row.name;
        let Some(candidate) = self.candidates.get_mut(self.at) else { return };
        if value.trim().is_empty() {
            candidate.edits.remove(name);
            return;
        }
        let before = candidate.edits.insert(name, value.trim().to_owned());
        let was_on = std::mem::replace(&mut candidate.on, true);
        // This value does not say whether all that is ticked can run in this world: starting it does.
        let Err(problem) = read(&self.text, &self.changes()) else { return };
        let candidate = &mut self.candidates[self.at];
        candidate.on = was_on;
        match before {
            Some(before) => candidate.edits.insert(name, before),
            None => candidate.edits.remove(name),
        };
        // Where it stands is plain: it has just been typed.
        let told = problem.first().map(|problem| match &problem.hint {
            Some(hint) => format!("{}; {hint}", problem.message),
            None => problem.message.clone(),
        });
        (self.editing, self.refused) = (Some(Line::proposing(value)), told);
    }

    /// What was set up, checked, to be run in the world that was chosen.
    pub fn order(&self) -> Result<RunOrder, String> {
        if self.ticked() == 0 {
            return Err("tick an arm (space)".to_owned());
        }
        let changes = self.changes();
        let experiment = read(&self.text, &changes)
            .map_err(|problems| problems.first().map_or_else(String::new, ToString::to_string))?;
        let bound = experiment.arms.iter().find(|arm| arm.hindsight.is_some());
        if let Some(arm) = bound.filter(|_| !self.virtual_time) {
            return Err(format!("{} needs virtual time (v)", arm.label));
        }
        Ok(RunOrder { name: self.name.clone(), text: self.text.clone(), changes, virtual_time: self.virtual_time })
    }

    /// What was changed here, of the arms that are ticked.
    fn changes(&self) -> Changes {
        let on = || self.candidates.iter().filter(|candidate| candidate.on);
        let set = on().flat_map(Candidate::settings_flags).collect();
        let policies = on().map(|candidate| candidate.label.clone()).collect();
        // What the file says of it holds until it is changed here: it may be no number.
        let repeat = (self.repeat != self.experiment.repeat).then_some(Repeat::Times(self.repeat));
        Changes { set, policies, repeat, ..Changes::default() }
    }
}

impl Candidate {
    /// One that the file does not have.
    fn beside_the_file(name: &str, entry: Option<&'static Entry>) -> Self {
        let (label, settings, edits) = (name.to_owned(), Settings::new(), BTreeMap::new());
        Self { label, in_file: None, entry, settings, edits, on: false }
    }

    /// `--set` for what was changed.
    fn settings_flags(&self) -> Vec<String> {
        match &self.in_file {
            Some((index, key)) => {
                let flag = |(name, value): (&&str, &String)| format!("arms.{index}.{key}.{name}={value}");
                self.edits.iter().map(flag).collect()
            }
            None if self.edits.is_empty() => Vec::new(),
            None => {
                let settings: Vec<String> = self.edits.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                vec![format!("arms.+={{{}: {{{}}}}}", self.label, settings.join(", "))]
            }
        }
    }
}

/// Nothing is known of what requests cost a service of one's own: there is nothing to simulate.
fn has_no_plant(experiment: &Experiment) -> bool {
    matches!(experiment.target.app, AppPlan::Own(_)) && experiment.simulation.costs.service.is_none()
}

/// A policy that can sit in this target.
fn fits(entry: &Entry, experiment: &Experiment) -> bool {
    let before = matches!(experiment.target.app, AppPlan::Own(_));
    let in_target = entry.places.iter().any(|place| match place {
        Place::Single => true,
        Place::Accept | Place::Stage => !before,
        Place::Proxy => before,
        Place::Client => false,
    });
    entry.is_policy() && in_target && !matches!(experiment.target.app, AppPlan::Tree(_))
}

/// How long a live run takes, about: each arm with its start and its end.
pub(in crate::tui) fn live_time(experiment: &Experiment, arms: usize, repeat: u32) -> Duration {
    const START_AND_END: Duration = Duration::from_secs(5);
    let phases: Duration = experiment.users.phases.iter().map(|phase| phase.duration).sum();
    (phases + START_AND_END) * u32::try_from(arms).unwrap_or(u32::MAX) * repeat
}
