//! A small form for what a person changes in a live run: values are checked here, against what the target and the users take,
//! before anything is asked for.

use analysis::live::{Touch, value_in_words};
use controllers::{
    Entry, Settings,
    catalogue::{PolicySpec, Setting},
};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};
use installed::catalogue;
use workloads::UserCommand;

use super::text_input::TextInput;
use choices::{checked, checked_machines, entry_of, machines, of_place, offered, place, policies};

mod choices;

#[cfg(test)]
mod tests;

/// The subject of a form: the intervention that it makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Spike,
    Capacity,
    Latency,
    Impatience,
    Policy,
    Machines,
    Parameter,
    /// A fault of an experiment, at a set time.
    Fault,
}

/// The state in which a form begins.
#[derive(Debug, Clone, Default)]
pub(super) struct InForce {
    /// The policy that was chosen last, or the arm's own.
    pub policy: Option<PolicySpec>,
    /// The place where a person put it.
    pub at: Option<String>,
    /// The stages and services that the screen shows.
    pub spots: Vec<String>,
}

/// The form of one change.
#[derive(Debug)]
pub(super) struct Form {
    pub change: Change,
    pub fields: Vec<Field>,
    /// The index of the field that is written in.
    pub at: usize,
    /// The problem with what was written.
    pub problem: Option<String>,
    /// The policy in force.
    policy: PolicySpec,
    in_force: InForce,
}

#[derive(Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub about: &'static str,
    pub line: TextInput,
    /// Choices, for up and down; empty: anything is written.
    choices: Vec<String>,
}

/// The end of a form.
#[derive(Debug, PartialEq)]
pub(super) enum Filled {
    Asked(Touch),
    /// A fault as files have it; `None`: no faults.
    Fault(Option<String>),
    GivenUp,
}

/// Faults with a value that would do, and what each is.
const FAULTS: [(&str, &str, &str); 6] = [
    ("capacity", "0.2", "its cores work at a share of their speed (0: a pause)"),
    ("ramp", "{from: 0.3, to: 1}", "this share changes along a line"),
    ("latency", "100ms", "every request takes longer, without any work"),
    ("errors", "0.3", "a share of requests fails at once"),
    ("crash", "true", "the process dies, and is back when the fault is over"),
    (NO_FAULTS, "", "none of those in the file"),
];
const NO_FAULTS: &str = "no faults";

impl Form {
    /// Opens a form with values that would do, to be changed.
    pub fn of(change: Change, in_force: InForce) -> Self {
        let none = || PolicySpec { name: "none".to_owned(), place: None, settings: Settings::new() };
        let policy = in_force.policy.clone().unwrap_or_else(none);
        let written =
            |name, about, text: &str| Field { name, about, line: TextInput::proposing(text), choices: Vec::new() };
        let lasting = || written("seconds", "how long: over 0, to 3600", "10");
        let fields = match change {
            Change::Spike => vec![written("users", "how many more: 1 to 10000", "100"), lasting()],
            Change::Capacity => {
                vec![
                    written("percent", "of its capacity that is left: 0 (workers stand still), or 1 to 100", "20"),
                    lasting(),
                ]
            }
            Change::Latency => vec![written("ms", "before every request: 0 to 60000", "100"), lasting()],
            Change::Impatience => {
                vec![written("percent", "of their time-out and patience that users wait: 1 to 100 (as planned)", "25")]
            }
            Change::Fault => {
                let choices = FAULTS.map(|(name, ..)| name.to_owned()).to_vec();
                vec![
                    Field { choices, ..written("what", "up and down, or write", FAULTS[0].0) },
                    written("how much", "a share from 0 to 1, or a time", ""),
                    written("at", "when it begins, from the start of an arm: 10s", "10s"),
                    written("for", "how long: 10s", "10s"),
                    written("service", "of several, the one that it hits; nothing: all", ""),
                ]
            }
            Change::Policy => {
                let choices: Vec<String> = policies().map(|entry| entry.name.to_owned()).collect();
                let next = choices.iter().find(|name| **name != policy.name).map_or("none", String::as_str);
                let field = written("policy", "up and down, or write; begins with its defaults", next);
                vec![Field { choices, ..field }, written("at", "", "")]
            }
            Change::Machines => {
                let choices: Vec<String> = machines().map(|entry| entry.name.to_owned()).collect();
                let first = choices.first().cloned().unwrap_or_default();
                let about = "up and down, or write: several with commas, with settings {thread-pool: {max: 8}}; nothing: no machines";
                let field = written("machines", about, &first);
                vec![Field { choices, ..field }, written("at", "", "")]
            }
            Change::Parameter => {
                let params = entry_of(&policy).map_or_else(Vec::new, Entry::params);
                let choices: Vec<String> = params.iter().map(|param| param.name.to_owned()).collect();
                let first = choices.first().cloned().unwrap_or_default();
                vec![
                    Field { choices, ..written("parameter", "up and down, or write", &first) },
                    written("value", "", ""),
                ]
            }
        };
        let mut form = Self { change, fields, at: 0, problem: None, policy, in_force };
        form.show_second();
        form
    }

    pub fn title(&self) -> &'static str {
        match self.change {
            Change::Spike => "more users",
            Change::Capacity => "less capacity",
            Change::Latency => "a delay before the service",
            Change::Impatience => "more impatient users",
            Change::Policy => "another policy",
            Change::Machines => "other machines",
            Change::Parameter => "another value of a parameter",
            Change::Fault => "a fault, in virtual time",
        }
    }

    /// A line about what is written: of a policy or parameter, what the catalogue says.
    pub fn help(&self) -> String {
        let first = self.fields.first().map_or("", |field| field.line.text.trim());
        match self.change {
            Change::Policy | Change::Machines if self.at == 1 => self.place_help().to_owned(),
            Change::Policy => {
                catalogue().resolve(first, &Settings::new()).map_or(String::new(), |(entry, _)| entry.about.to_owned())
            }
            Change::Parameter => self.row(first).map_or_else(
                || format!("{} has no parameters", self.policy.name),
                |row| format!("{} {} ({}; default {})", row.about, row.unit, row.range, row.default),
            ),
            _ => self.fields.get(self.at).map_or(String::new(), |field| field.about.to_owned()),
        }
    }

    /// Choices of the field that is written in, else of the first, each with its description, and the index of the one
    /// that is written there.
    pub fn choices(&self) -> (Vec<(&str, String)>, Option<usize>) {
        let here = self.fields.get(self.at).filter(|field| !field.choices.is_empty());
        let Some(field) = here.or(self.fields.first()) else { return (Vec::new(), None) };
        let about = |name: &str| match self.change {
            Change::Fault => {
                FAULTS.iter().find(|fault| fault.0 == name).map_or_else(String::new, |fault| fault.2.to_owned())
            }
            _ if field.name == "at" => of_place(name).to_owned(),
            Change::Policy | Change::Machines => {
                catalogue().find(name).map_or_else(String::new, |entry| entry.about.to_owned())
            }
            _ => self.row(name).map_or_else(String::new, |row| row.about.to_owned()),
        };
        let listed = field.choices.iter().map(|name| (name.as_str(), about(name))).collect();
        (listed, field.choices.iter().position(|name| *name == field.line.text.trim()))
    }

    pub fn key(&mut self, key: KeyEvent) -> Option<Filled> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        match key.code {
            KeyCode::Esc => return Some(Filled::GivenUp),
            KeyCode::Enter if self.change == Change::Fault => return Some(Filled::Fault(self.fault())),
            KeyCode::Enter => match self.filled() {
                Ok(touch) => return Some(Filled::Asked(touch)),
                Err(problem) => self.problem = Some(problem),
            },
            KeyCode::Tab | KeyCode::BackTab => self.at = (self.at + 1) % self.fields.len().max(1),
            KeyCode::Up | KeyCode::Down => self.choose(key.code == KeyCode::Down),
            // Enter and Esc are dealt with: nothing ends the line here.
            _ => self.write(|line| _ = line.key(key)),
        }
        None
    }

    /// Text from elsewhere, into the field that is written in.
    pub fn pasted(&mut self, text: &str) {
        self.write(|line| line.pasted(text));
    }

    fn write(&mut self, write: impl FnOnce(&mut TextInput)) {
        self.problem = None;
        if let Some(field) = self.fields.get_mut(self.at) {
            write(&mut field.line);
        }
        if self.at == 0 {
            self.show_second();
        }
    }

    /// The next choice, or the next field where there is nothing to choose from.
    fn choose(&mut self, down: bool) {
        self.problem = None;
        let count = self.fields.len().max(1);
        let Some(field) = self.fields.get_mut(self.at) else { return };
        if field.choices.is_empty() {
            self.at = (self.at + if down { 1 } else { count - 1 }) % count;
            return;
        }
        let (at, count) = (field.choices.iter().position(|choice| *choice == field.line.text), field.choices.len());
        let next = at.map_or(0, |at| (at + if down { 1 } else { count - 1 }) % count);
        field.line.put(&field.choices[next]);
        if self.at == 0 {
            self.show_second();
        }
    }

    /// Fills the second field, which follows from the first.
    fn show_second(&mut self) {
        match self.change {
            Change::Parameter => self.show_value(),
            Change::Policy | Change::Machines => self.show_places(),
            Change::Fault => {
                let what = self.fields[0].line.text.trim();
                if let Some((_, much, _)) = FAULTS.iter().find(|(name, ..)| *name == what) {
                    self.fields[1].line.put(*much);
                }
            }
            _ => {}
        }
    }

    /// Offers places of the policy or machine: as usual, at another place, at a stage or service. What a person has
    /// written stays.
    fn show_places(&mut self) {
        let name = self.fields[0].line.text.trim();
        let entry = catalogue().find(name).filter(|_| self.change == Change::Policy);
        let field = &self.fields[1];
        if self.change == Change::Policy && entry.is_none() && !field.choices.is_empty() {
            return; // a name that is being written
        }
        let choices = offered(entry, &self.in_force.spots);
        let before = &field.line.text;
        let proposed = field.choices.first().map_or("", String::as_str);
        let text = if before == proposed { choices[0].clone() } else { before.clone() };
        let field = &mut self.fields[1];
        field.line.put(text);
        field.choices = choices;
    }

    fn place_help(&self) -> &'static str {
        match of_place(self.fields[1].line.text.trim()) {
            "" => "this stage or service alone; up and down, or write",
            about => about,
        }
    }

    /// The value that the parameter under the cursor has now.
    fn show_value(&mut self) {
        let name = self.fields[0].line.text.trim();
        let now = self.policy.settings.get(name).map(value_in_words).or_else(|| Some(self.row(name)?.default));
        if let (Some(now), Some(field)) = (now, self.fields.get_mut(1)) {
            field.line.put(&now);
        }
    }

    fn row(&self, name: &str) -> Option<controllers::catalogue::ParamRow> {
        let entry = entry_of(&self.policy)?;
        let (_, settings) = catalogue().resolve(&self.policy.name, &self.policy.settings).ok()?;
        let preset = entry.preset(&settings).ok().flatten();
        entry.rows(preset).into_iter().find(|row| row.name == name)
    }

    /// The fault as a file has it.
    fn fault(&self) -> Option<String> {
        let [what, much, at, lasts, service] =
            [0, 1, 2, 3, 4].map(|n| self.fields.get(n).map_or("", |field| field.line.text.trim()));
        let service = if service.is_empty() { String::new() } else { format!(", service: {service}") };
        (what != NO_FAULTS).then(|| format!("{{at: {at}, for: {lasts}, {what}: {much}{service}}}"))
    }

    /// The intervention, or the problem with a field.
    fn filled(&self) -> Result<Touch, String> {
        let text = |n: usize| self.fields.get(n).map_or("", |field| field.line.text.trim());
        let number = |n: usize, low: f64, high: f64| {
            let field = &self.fields[n];
            let value: Option<f64> = text(n).parse().ok();
            value.filter(|value| (low..=high).contains(value)).ok_or_else(|| format!("{}: {}", field.name, field.about))
        };
        let seconds = || number(1, f64::MIN_POSITIVE, UserCommand::LONGEST.as_secs_f64());
        Ok(match self.change {
            Change::Fault => return Err(self.title().to_owned()),
            Change::Spike => {
                let users = number(0, 1.0, f64::from(UserCommand::MOST_USERS))?;
                if users.fract() != 0.0 {
                    return Err("users: a whole number".to_owned());
                }
                Touch::Spike { users: users as u32, seconds: seconds()? }
            }
            Change::Capacity => {
                let percent = number(0, 0.0, 100.0)?;
                if percent > 0.0 && percent < 1.0 {
                    return Err(format!("percent: {}", self.fields[0].about));
                }
                Touch::Capacity { share: percent / 100.0, seconds: seconds()? }
            }
            Change::Latency => Touch::Latency { by_ms: number(0, 0.0, 60_000.0)?, seconds: seconds()? },
            Change::Impatience => Touch::Impatience { share: number(0, 1.0, 100.0)? / 100.0 },
            Change::Policy => checked(text(0), Settings::new(), place(text(1)))?,
            Change::Machines => Touch::Machines { machines: checked_machines(text(0))?, at: place(text(1)) },
            Change::Parameter => {
                let name = text(0);
                let Some(row) = self.row(name) else {
                    let known: Vec<&str> = self.fields[0].choices.iter().map(String::as_str).collect();
                    return Err(format!(
                        "{} has no parameter {name:?}; {}",
                        self.policy.name,
                        analysis::text::suggestion(name, &known)
                    ));
                };
                let mut settings = self.policy.settings.clone();
                // Some defaults are no values: `the objective's`.
                if text(1) == row.default {
                    settings.remove(name);
                } else {
                    let value: Setting =
                        serde_yaml::from_str(text(1)).map_err(|_| format!("{name}: a value like 20, 5ms or true"))?;
                    settings.insert(name.to_owned(), value);
                }
                checked(&self.policy.name, settings, self.in_force.at.clone())?
            }
        })
    }
}
