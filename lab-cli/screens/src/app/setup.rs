//! Setup of an experiment: arms, parameters, keys of the file, repetitions, world.

use std::{collections::BTreeMap, time::Duration};

use analysis::text::counted;
use crossterm::event::KeyEvent;
use experiment::{Changes, Experiment, Repeat, read, written};

use super::cursor::{ListWindow, moved};
use crate::{
    form::{Change, Filled, Form, InForce},
    keymap::Action,
    requests::RunOrder,
    text_input::{Ended, TextInput},
};

mod candidate;
mod command;
mod edit;
mod file;

pub(crate) use candidate::{Candidate, Parameter};
use file::{flags, in_words, in_world, keys_of, without_brackets};

/// The list that the keys move in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Pane {
    #[default]
    Arms,
    Parameters,
    /// Keys of the experiment: who sends, what is measured, what goes wrong.
    Keys,
}

/// A line that is written, and what it is for.
#[derive(Debug)]
pub(crate) enum Writing {
    Value(TextInput),
    Find(TextInput),
}

/// The world, and the number of repetitions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    pub virtual_time: bool,
    /// It cannot be run live.
    pub only_virtual: bool,
    /// Repetitions of every arm, where they were chosen here; `None`: as the file has it.
    pub repeat: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Setup {
    pub name: String,
    text: String,
    /// The file's experiment, with the keys that were changed here.
    pub experiment: Experiment,
    pub candidates: Vec<Candidate>,
    /// Keys of the file that were changed here.
    pub changed_keys: BTreeMap<String, String>,
    /// All keys of the file, with their values: reading them from its text takes too long for every frame.
    all_keys: Vec<Parameter>,
    pub pane: Pane,
    /// The row of each pane, in the order of the panes.
    rows: [usize; 3],
    windows: [ListWindow; 3],
    pub writing: Option<Writing>,
    /// The form of a fault.
    pub form: Option<Form>,
    /// The words to look for among parameters and keys.
    pub filter: String,
    /// The reason why the value that was just written was not taken.
    pub refused: Option<String>,
    pub how: How,
    /// The command line of what was last written as a file, or run.
    pub kept: Option<String>,
}

const MOST_REPEATS: u32 = 1000;

impl Setup {
    pub fn new(name: &str, text: &str, experiment: &Experiment) -> Self {
        // Seconds first: who wants the real thing presses one key.
        let virtual_time = !experiment.has_no_plant();
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            experiment: in_world(text, &BTreeMap::new(), virtual_time).unwrap_or_else(|_| experiment.clone()),
            candidates: candidate::candidates(text, experiment),
            changed_keys: BTreeMap::new(),
            all_keys: keys_of(text, &BTreeMap::new()),
            pane: Pane::Arms,
            rows: [0; 3],
            windows: Default::default(),
            writing: None,
            form: None,
            filter: String::new(),
            refused: None,
            how: How { virtual_time, only_virtual: experiment.simulation.only, repeat: None },
            kept: None,
        }
    }

    /// Drops all changes. The cursor stays where it is, as far as it can.
    pub fn reset(&mut self) {
        let Ok(experiment) = read(&self.text, &Changes::default()) else { return };
        let (pane, rows) = (self.pane, self.rows);
        *self = Self { pane, rows, ..Self::new(&self.name, &self.text, &experiment) };
        for pane in [Pane::Arms, Pane::Parameters, Pane::Keys] {
            let last = self.count(pane).saturating_sub(1);
            self.rows[pane as usize] = self.rows[pane as usize].min(last);
        }
    }

    pub fn is_changed(&self) -> bool {
        !self.changed_keys.is_empty()
            || self.how.repeat.is_some()
            || self.candidates.iter().any(|arm| !arm.edits.is_empty() || arm.on != arm.is_in_file())
    }

    /// Arms and blocks that run in place of the file's; `None`: nothing is changed.
    pub fn changed_in_words(&self) -> Option<String> {
        let arms: Vec<&str> = self.candidates.iter().filter(|arm| arm.on).map(|arm| arm.label.as_str()).collect();
        let blocks = counted(self.repeat() as usize, "block");
        self.is_changed().then(|| format!("{}; {blocks} (Tab, then u: as in the file)", arms.join(", ")))
    }

    pub fn ticked(&self) -> usize {
        self.candidates.iter().filter(|candidate| candidate.on).count()
    }

    /// Repetitions of every arm; where they go on until the comparison is decided, at most.
    pub fn repeat(&self) -> u32 {
        self.how.repeat.unwrap_or(self.experiment.repeat)
    }

    /// It runs until its comparison is decided: the file says so, or, in virtual time, that it is there to decide.
    pub fn until_decided(&self) -> bool {
        self.how.repeat.is_none() && self.experiment.compare.until_decided.is_some()
    }

    /// About how long it takes live; at most, where it runs until it is decided.
    pub fn live_time(&self) -> Duration {
        live_time(&self.experiment, self.ticked(), self.repeat())
    }

    /// The arm under the cursor.
    pub fn at(&self) -> usize {
        self.rows[Pane::Arms as usize]
    }

    /// The row of this pane.
    pub fn row(&self, pane: Pane) -> usize {
        self.rows[pane as usize]
    }

    /// The first row of this pane that is shown, of so many that have room.
    pub fn first(&self, pane: Pane, count: usize, room: usize) -> usize {
        self.windows[pane as usize].first(self.row(pane), count, room)
    }

    /// A row of the pane that the keys are in is pointed at.
    pub fn point(&mut self, pane: Pane, row: usize) {
        self.pane = pane;
        self.rows[pane as usize] = row.min(self.count(pane).saturating_sub(1));
        if pane == Pane::Arms {
            self.rows[Pane::Parameters as usize] = 0;
        }
    }

    pub fn candidate(&self) -> Option<&Candidate> {
        self.candidates.get(self.at())
    }

    /// Parameters of the candidate under the cursor that match the search.
    pub fn parameters(&self) -> Vec<Parameter> {
        let all = self.candidate().map_or_else(Vec::new, Candidate::parameters);
        all.into_iter().filter(|parameter| self.is_wanted(Pane::Parameters, parameter)).collect()
    }

    /// Keys of the file that are looked for.
    pub fn keys(&self) -> Vec<Parameter> {
        self.all_keys.iter().filter(|key| self.is_wanted(Pane::Keys, key)).cloned().collect()
    }

    fn is_wanted(&self, pane: Pane, parameter: &Parameter) -> bool {
        let wanted = match (&self.writing, self.pane) {
            // The pane that nobody looks in is whole.
            (_, here) if here != pane => return true,
            (Some(Writing::Find(line)), _) => &line.text,
            _ => &self.filter,
        };
        let within = |text: &str| text.to_lowercase().contains(&wanted.to_lowercase());
        within(&parameter.name) || within(&parameter.about)
    }

    /// Rows of this pane.
    pub fn listed(&self, pane: Pane) -> Vec<Parameter> {
        match pane {
            Pane::Arms => Vec::new(),
            Pane::Parameters => self.parameters(),
            Pane::Keys => self.keys(),
        }
    }

    fn count(&self, pane: Pane) -> usize {
        if pane == Pane::Arms { self.candidates.len() } else { self.listed(pane).len() }
    }

    pub fn pressed(&mut self, action: Action) {
        let row = self.rows[self.pane as usize];
        if let Some(to) = moved(row, self.count(self.pane), action) {
            self.point(self.pane, to);
        }
        match action {
            Action::Tick => {
                let at = self.at();
                if let Some(candidate) = self.candidates.get_mut(at) {
                    candidate.on = !candidate.on;
                }
            }
            Action::TickAll => {
                let all = self.candidates.iter().filter(|arm| arm.is_in_file()).all(|arm| arm.on);
                self.candidates.iter_mut().for_each(|arm| arm.on = !all && arm.is_in_file());
            }
            Action::NextPane => self.next_pane(&[Pane::Arms, Pane::Parameters, Pane::Keys]),
            Action::PreviousPane => self.next_pane(&[Pane::Keys, Pane::Parameters, Pane::Arms]),
            Action::World => self.change_world(),
            Action::More => self.choose_repeat(|now| now + 1),
            Action::Fewer => self.choose_repeat(|now| now - 1),
            Action::Duplicate => _ = self.duplicate("2"),
            Action::Reset => self.reset(),
            Action::Find if self.pane != Pane::Arms => {
                self.writing = Some(Writing::Find(TextInput::proposing(&*self.filter)));
                self.rows[self.pane as usize] = 0;
            }
            Action::Choose if self.chosen_key().is_some_and(|key| key.name == FAULTS) => {
                self.form = Some(Form::of(Change::Fault, InForce::default()));
            }
            Action::Choose => {
                let row = self.rows[self.pane as usize];
                let value = self.listed(self.pane).get(row).map(|parameter| parameter.value.clone());
                self.writing = value.map(|value| Writing::Value(TextInput::proposing(value)));
            }
            _ => {}
        }
    }

    /// Chooses the world.
    ///
    /// # Errors
    /// It cannot be run in it.
    pub fn choose_world(&mut self, virtual_time: bool) -> Result<(), String> {
        if virtual_time && self.experiment.has_no_plant() {
            return Err("what its requests cost is not known: m measures it (lab calibrate), L runs it live".to_owned());
        }
        if !virtual_time && self.how.only_virtual {
            return Err("it runs in virtual time alone (Enter)".to_owned());
        }
        if virtual_time != self.how.virtual_time {
            self.change_world();
        }
        Ok(())
    }

    /// Its changes, where they are neither in its file nor in another one.
    pub fn is_unwritten(&self) -> bool {
        self.is_changed() && self.kept.as_ref() != Some(&self.command())
    }

    /// The key under the cursor, in the pane of keys.
    fn chosen_key(&self) -> Option<Parameter> {
        let row = self.rows[Pane::Keys as usize];
        self.keys().into_iter().nth(row).filter(|_| self.pane == Pane::Keys)
    }

    /// A key while the form of a fault is filled in: the fault is added to the others.
    pub fn typed(&mut self, key: KeyEvent) {
        let Some(filled) = self.form.as_mut().and_then(|form| form.key(key)) else { return };
        let Filled::Fault(fault) = filled else {
            self.form = None;
            return;
        };
        let now = self.chosen_key().map_or_else(String::new, |key| key.value);
        let others = without_brackets(&now);
        let value = fault.map_or_else(
            || "[]".to_owned(),
            |fault| if others.is_empty() { format!("[{fault}]") } else { format!("[{others}, {fault}]") },
        );
        match (self.change_key(FAULTS, &value), &mut self.form) {
            (Err(why), Some(form)) => form.problem = Some(why),
            _ => self.form = None,
        }
    }

    /// Changes the world, if it can be run in the other one. The number of repetitions may be another there.
    fn change_world(&mut self) {
        let virtual_time = self.how.only_virtual || !self.how.virtual_time;
        if let Ok(experiment) = in_world(&self.text, &self.changed_keys, virtual_time) {
            (self.experiment, self.how.virtual_time) = (experiment, virtual_time);
        }
    }

    /// Another number of repetitions. Of a run until it is decided the first step leads to a fixed one.
    fn choose_repeat(&mut self, to: impl Fn(u32) -> u32) {
        let now = if self.until_decided() { 1 } else { self.repeat() };
        let to = to(now).clamp(1, MOST_REPEATS);
        let as_in_file = self.experiment.compare.until_decided.is_none() && to == self.experiment.repeat;
        self.how.repeat = (!as_in_file).then_some(to);
    }

    fn next_pane(&mut self, order: &[Pane; 3]) {
        self.filter.clear();
        let at = order.iter().position(|pane| *pane == self.pane).unwrap_or(0);
        let following = (1..=order.len()).map(|n| order[(at + n) % order.len()]);
        self.pane = following.into_iter().find(|pane| self.count(*pane) > 0).unwrap_or(Pane::Arms);
    }

    /// Both are made from one file.
    pub fn is_of(&self, other: &Self) -> bool {
        self.text == other.text
    }

    /// Ends the search, or leaves the other panes for the arms: `false` if that is where the keys are.
    pub fn back(&mut self) -> bool {
        if !std::mem::take(&mut self.filter).is_empty() {
            return true;
        }
        self.pane != Pane::Arms && {
            self.pane = Pane::Arms;
            true
        }
    }

    /// The line that is written, if one is.
    pub fn line(&mut self) -> Option<&mut TextInput> {
        self.writing.as_mut().map(|(Writing::Value(line) | Writing::Find(line))| line)
    }

    /// A line was ended.
    pub fn written(&mut self, ended: Ended) {
        match self.writing.take() {
            Some(Writing::Find(_)) => {
                self.filter = if let Ended::Taken(text) = ended { text } else { String::new() };
                self.rows[self.pane as usize] = 0;
            }
            _ => self.edited(ended),
        }
    }

    /// The order to run what was set up, checked, in the world that was chosen.
    pub fn order(&self) -> Result<RunOrder, String> {
        if self.ticked() == 0 {
            return Err("tick an arm (space)".to_owned());
        }
        let changes = self.changes();
        let experiment = read(&self.text, &changes).map_err(|problems| in_words(&problems))?;
        let bound = experiment.arms.iter().find(|arm| arm.hindsight.is_some());
        if let Some(arm) = bound.filter(|_| !self.how.virtual_time) {
            return Err(format!("{} needs virtual time (v)", arm.label));
        }
        Ok(RunOrder { name: self.name.clone(), text: self.text.clone(), changes, virtual_time: self.how.virtual_time })
    }

    /// The setup as a file.
    pub fn as_file(&self) -> Result<String, String> {
        if self.ticked() == 0 {
            return Err("tick an arm (space)".to_owned());
        }
        written(&self.text, &self.changes()).map_err(|problems| in_words(&problems))
    }

    fn key_flags(&self) -> Vec<String> {
        flags(&self.changed_keys)
    }

    /// Changes to the file and to the arms that are ticked.
    fn changes(&self) -> Changes {
        let on = || self.candidates.iter().filter(|candidate| candidate.on);
        let set = self.key_flags().into_iter().chain(on().flat_map(Candidate::settings_flags)).collect();
        let policies = on().map(|candidate| candidate.edits.get("as").unwrap_or(&candidate.label).clone()).collect();
        // What the file says of it holds until it is changed here: it may be no number.
        let repeat = self.how.repeat.map(Repeat::Times);
        Changes { set, policies, repeat, virtual_time: self.how.virtual_time, ..Changes::default() }
    }
}

/// The key of faults.
const FAULTS: &str = "virtual.faults";

/// The length of a live run, about: each arm with its start and its end.
pub(crate) fn live_time(experiment: &Experiment, arms: usize, repeat: u32) -> Duration {
    const START_AND_END: Duration = Duration::from_secs(5);
    let phases: Duration = experiment.users.phases.iter().map(|phase| phase.duration).sum();
    (phases + START_AND_END) * u32::try_from(arms).unwrap_or(u32::MAX) * repeat
}
