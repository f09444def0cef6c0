//! Values that a person gives keys of the file and parameters of arms, and arms that are made of them.

use experiment::read;

use super::{
    Pane, Setup, Writing,
    file::{in_words, in_world, keys_of, without_brackets},
};
use crate::text_input::{Ended, TextInput};

/// A list of more values is a slip.
const MOST_VALUES: usize = 20;

impl Setup {
    /// Takes a new value (an empty one: that of the file again), or says what is wrong with it and leaves it to be mended.
    pub(super) fn edited(&mut self, ended: Ended) {
        self.refused = None;
        let Ended::Taken(value) = ended else { return };
        let listed = self.listed(self.pane);
        let row = self.rows[self.pane as usize];
        let Some(parameter) = listed.get(row).filter(|parameter| parameter.value != value) else { return };
        let value = value.trim();
        let taken = match self.pane {
            Pane::Keys => self.change_key(&parameter.name, value),
            _ => self.change_arm(&parameter.name, value),
        };
        if let Err(problem) = taken {
            (self.writing, self.refused) = (Some(Writing::Value(TextInput::proposing(value))), Some(problem));
        }
    }

    pub fn change_key(&mut self, key: &str, value: &str) -> Result<(), String> {
        let before = self.changed_keys.clone();
        if value.is_empty() {
            self.changed_keys.remove(key);
        } else {
            self.changed_keys.insert(key.to_owned(), value.to_owned());
        }
        match in_world(&self.text, &self.changed_keys, self.how.virtual_time) {
            Ok(experiment) => {
                self.experiment = experiment;
                self.all_keys = keys_of(&self.text, &self.changed_keys);
                Ok(())
            }
            Err(problems) => {
                self.changed_keys = before;
                Err(in_words(&problems))
            }
        }
    }

    fn change_arm(&mut self, name: &str, value: &str) -> Result<(), String> {
        let at = self.at();
        let Some(candidate) = self.candidates.get_mut(at) else { return Ok(()) };
        if value.is_empty() {
            candidate.edits.remove(name);
            return Ok(());
        }
        let before = candidate.clone();
        candidate.edits.insert(name.to_owned(), value.to_owned());
        candidate.on = true;
        // This value does not say whether all that is ticked can run in this world: starting it does.
        let Err(problems) = read(&self.text, &self.changes()) else { return Ok(()) };
        self.candidates[at] = before;
        let values = listed_values(value);
        if values.len() < 2 { Err(in_words(&problems)) } else { self.make_arms(name, &values) }
    }

    /// An arm for each of these values, in place of the one under the cursor.
    fn make_arms(&mut self, name: &str, values: &[&str]) -> Result<(), String> {
        if values.len() > MOST_VALUES {
            return Err(format!("{} values are too many: {MOST_VALUES} at most", values.len()));
        }
        let (at, before) = (self.at(), self.candidates.clone());
        for value in values.iter().rev() {
            self.rows[Pane::Arms as usize] = at;
            self.duplicate(&format!("{name}-{value}"));
            let made = at + 1;
            self.candidates[made].edits.insert(name.to_owned(), (*value).to_owned());
            if let Err(problems) = read(&self.text, &self.changes()) {
                self.candidates = before;
                self.rows[Pane::Arms as usize] = at;
                return Err(format!("{value}: {}", in_words(&problems)));
            }
        }
        self.candidates[at].on = false;
        self.rows[Pane::Arms as usize] = at + 1;
        Ok(())
    }

    /// The arm under the cursor again, below it; the cursor goes to the copy. `mark`: what tells the copy apart.
    pub(super) fn duplicate(&mut self, mark: &str) -> bool {
        let at = self.at();
        let Some(candidate) = self.candidates.get(at) else { return false };
        if candidate.entry.is_none() {
            return false;
        }
        let label = self.free_label(&candidate.label, mark);
        let copy = candidate.copy(label);
        self.candidates.insert(at + 1, copy);
        self.rows[Pane::Arms as usize] = at + 1;
        true
    }

    /// `seda-2`, or what comes after it: no two arms have one label.
    fn free_label(&self, label: &str, mark: &str) -> String {
        let can_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let mark: String = mark.chars().map(|c| if can_name(c) { c } else { '_' }).collect();
        let taken = |label: &str| self.candidates.iter().any(|other| other.label == label);
        let first = format!("{label}-{mark}");
        let more = (2..).map(|n| if mark == "2" { format!("{label}-{}", n + 1) } else { format!("{first}-{n}") });
        std::iter::once(first.clone()).chain(more).find(|label| !taken(label)).unwrap_or(first)
    }
}

/// `32, 64, 128`, or the same in brackets.
fn listed_values(text: &str) -> Vec<&str> {
    without_brackets(text).split(',').map(str::trim).filter(|value| !value.is_empty()).collect()
}
