//! A small form for what a person changes in a live run: values are checked here, against what the target and the users take,
//! before anything is asked for.

use analysis::live::{Touch, value_in_words};
use controllers::{
    Entry, Place, Settings,
    catalogue::{PolicySpec, Setting},
};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};
use installed::catalogue;
use workloads::UserCommand;

use super::app::Line;

/// What is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Spike,
    Capacity,
    Latency,
    Impatience,
    Policy,
    Parameter,
}

/// The form of one change.
#[derive(Debug)]
pub(super) struct Form {
    pub change: Change,
    pub fields: Vec<Field>,
    /// Which field is written in.
    pub at: usize,
    /// What is wrong with what was written.
    pub problem: Option<String>,
    /// The policy in force.
    policy: PolicySpec,
}

#[derive(Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub about: &'static str,
    pub line: Line,
    /// What can be chosen with up and down; empty: anything is written.
    choices: Vec<&'static str>,
}

/// How it ended.
#[derive(Debug, PartialEq)]
pub(super) enum Filled {
    Asked(Touch),
    GivenUp,
}

impl Form {
    /// With what would do, to be changed. `policy`: the one in force.
    pub fn of(change: Change, policy: Option<&PolicySpec>) -> Self {
        let none = || PolicySpec { name: "none".to_owned(), place: None, settings: Settings::new() };
        let policy = policy.cloned().unwrap_or_else(none);
        let written = |name, about, text: &str| Field { name, about, line: Line::proposing(text), choices: Vec::new() };
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
            Change::Policy => {
                let choices: Vec<&str> = policies().map(|entry| entry.name).collect();
                let next = choices.iter().find(|name| **name != policy.name).copied().unwrap_or("none");
                let about = "up and down, or write; begins with its defaults";
                vec![Field { choices, ..written("policy", about, next) }]
            }
            Change::Parameter => {
                let choices =
                    entry_of(&policy).map_or_else(Vec::new, |entry| entry.params().iter().map(|p| p.name).collect());
                let first = choices.first().copied().unwrap_or_default();
                vec![
                    Field { choices, ..written("parameter", "up and down, or write", first) },
                    written("value", "", ""),
                ]
            }
        };
        let mut form = Self { change, fields, at: 0, problem: None, policy };
        form.show_value();
        form
    }

    pub fn title(&self) -> &'static str {
        match self.change {
            Change::Spike => "more users",
            Change::Capacity => "less capacity",
            Change::Latency => "a delay before the service",
            Change::Impatience => "more impatient users",
            Change::Policy => "another policy",
            Change::Parameter => "another value of a parameter",
        }
    }

    /// A line about what is written: of a policy or parameter, what the catalogue says.
    pub fn help(&self) -> String {
        let first = self.fields.first().map_or("", |field| field.line.text.trim());
        match self.change {
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

    /// What can be chosen in the first field, with what each is, and which of them is written there.
    pub fn choices(&self) -> (Vec<(&'static str, String)>, Option<usize>) {
        let Some(field) = self.fields.first() else { return (Vec::new(), None) };
        let about = |name: &'static str| match self.change {
            Change::Policy => catalogue().find(name).map_or_else(String::new, |entry| entry.about.to_owned()),
            _ => self.row(name).map_or_else(String::new, |row| row.about.to_owned()),
        };
        let listed = field.choices.iter().map(|name| (*name, about(name))).collect();
        (listed, field.choices.iter().position(|name| *name == field.line.text.trim()))
    }

    pub fn key(&mut self, key: KeyEvent) -> Option<Filled> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        match key.code {
            KeyCode::Esc => return Some(Filled::GivenUp),
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

    fn write(&mut self, write: impl FnOnce(&mut Line)) {
        self.problem = None;
        if let Some(field) = self.fields.get_mut(self.at) {
            write(&mut field.line);
        }
        if self.at == 0 {
            self.show_value();
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
        field.line.put(field.choices[next]);
        self.show_value();
    }

    /// The value that the parameter under the cursor has now.
    fn show_value(&mut self) {
        if self.change != Change::Parameter {
            return;
        }
        let name = self.fields[0].line.text.trim();
        let now = self.policy.settings.get(name).map(value_in_words).or_else(|| Some(self.row(name)?.default));
        if let (Some(now), Some(field)) = (now, self.fields.get_mut(1)) {
            field.line.put(now);
        }
    }

    fn row(&self, name: &str) -> Option<controllers::catalogue::ParamRow> {
        let entry = entry_of(&self.policy)?;
        let (_, settings) = catalogue().resolve(&self.policy.name, &self.policy.settings).ok()?;
        let preset = entry.preset(&settings).ok().flatten();
        entry.rows(preset).into_iter().find(|row| row.name == name)
    }

    /// What is asked for, or what is wrong with it.
    fn filled(&self) -> Result<Touch, String> {
        let text = |n: usize| self.fields.get(n).map_or("", |field| field.line.text.trim());
        let number = |n: usize, low: f64, high: f64| {
            let field = &self.fields[n];
            let value: Option<f64> = text(n).parse().ok();
            value.filter(|value| (low..=high).contains(value)).ok_or_else(|| format!("{}: {}", field.name, field.about))
        };
        let seconds = || number(1, f64::MIN_POSITIVE, UserCommand::LONGEST.as_secs_f64());
        Ok(match self.change {
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
            Change::Policy => checked(text(0), Settings::new())?,
            Change::Parameter => {
                let name = text(0);
                let Some(row) = self.row(name) else {
                    let known: Vec<&str> = self.fields[0].choices.clone();
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
                checked(&self.policy.name, settings)?
            }
        })
    }
}

/// Those that can sit in a target.
fn policies() -> impl Iterator<Item = &'static Entry> {
    let in_target = |entry: &&Entry| {
        entry.is_policy()
            && entry.places.iter().any(|place| matches!(place, Place::Accept | Place::Single | Place::Stage))
    };
    catalogue().entries().filter(in_target)
}

fn entry_of(policy: &PolicySpec) -> Option<&'static Entry> {
    catalogue().resolve(&policy.name, &policy.settings).ok().map(|(entry, _)| entry)
}

/// As the catalogue has it. The target checks again what depends on its stages.
fn checked(name: &str, settings: Settings) -> Result<Touch, String> {
    let unknown = || {
        let names: Vec<&str> = policies().map(|entry| entry.name).collect();
        let near = controllers::catalogue::nearest(name, names).map(|near| format!("; did you mean {near}?"));
        format!("there is no policy {name:?}{}", near.unwrap_or_default())
    };
    let known = catalogue().resolve(name, &Settings::new()).is_ok();
    let (entry, resolved) =
        catalogue().resolve(name, &settings).map_err(|problem| if known { problem.to_string() } else { unknown() })?;
    if !policies().any(|known| known.name == entry.name) {
        return Err(format!("{name} does not sit in a service: up and down show those that do"));
    }
    catalogue()
        .check(entry, &resolved)
        .map_err(|problems| problems.first().map_or_else(String::new, ToString::to_string))?;
    Ok(Touch::Policy { name: name.to_owned(), settings })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(form: &mut Form, code: KeyCode) -> Option<Filled> {
        form.key(KeyEvent::from(code))
    }

    /// Writes this in place of what stands in the field.
    fn write(form: &mut Form, text: &str) {
        for _ in 0..30 {
            press(form, KeyCode::Backspace);
        }
        for c in text.chars() {
            assert_eq!(press(form, KeyCode::Char(c)), None);
        }
    }

    fn codel() -> PolicySpec {
        PolicySpec {
            name: "codel".to_owned(),
            place: None,
            settings: Settings::from([("target".to_owned(), "7ms".into())]),
        }
    }

    #[test]
    fn what_stands_in_a_form_can_be_asked_for_as_it_is() {
        for (change, touch) in [
            (Change::Spike, Touch::Spike { users: 100, seconds: 10.0 }),
            (Change::Capacity, Touch::Capacity { share: 0.2, seconds: 10.0 }),
            (Change::Latency, Touch::Latency { by_ms: 100.0, seconds: 10.0 }),
            (Change::Impatience, Touch::Impatience { share: 0.25 }),
        ] {
            let mut form = Form::of(change, None);
            assert!(!form.help().is_empty() && !form.title().is_empty());
            assert_eq!(press(&mut form, KeyCode::Enter), Some(Filled::Asked(touch)));
        }
        assert_eq!(press(&mut Form::of(Change::Spike, None), KeyCode::Esc), Some(Filled::GivenUp));
    }

    #[test]
    fn values_out_of_range_are_not_taken_and_the_range_is_told() {
        for (change, field, text, hint) in [
            (Change::Spike, 0, "0", "1 to 10000"),
            (Change::Spike, 0, "10001", "1 to 10000"),
            (Change::Spike, 0, "2.5", "whole"),
            (Change::Spike, 1, "0", "over 0"),
            (Change::Capacity, 0, "0.5", "or 1 to 100"),
            (Change::Capacity, 0, "101", "or 1 to 100"),
            (Change::Capacity, 1, "4000", "3600"),
            (Change::Latency, 0, "-1", "0 to 60000"),
            (Change::Impatience, 0, "NaN", "1 to 100"),
            (Change::Policy, 0, "coddel", "codel"),
            (Change::Policy, 0, "retry-budget", "does not sit"),
        ] {
            let mut form = Form::of(change, None);
            if field == 1 {
                press(&mut form, KeyCode::Tab);
            }
            write(&mut form, text);
            assert_eq!(press(&mut form, KeyCode::Enter), None, "{text}");
            let problem = form.problem.as_deref().unwrap_or_default();
            assert!(problem.contains(hint), "{change:?} {text}: {problem}");
            // The next key takes the message away.
            press(&mut form, KeyCode::Backspace);
            assert_eq!(form.problem, None);
        }
    }

    #[test]
    fn policies_are_chosen_with_up_and_down() {
        let mut form = Form::of(Change::Policy, Some(&codel()));
        assert_ne!(form.fields[0].line.text, "codel", "another one than that in force");
        for _ in 0..100 {
            if form.fields[0].line.text == "seda" {
                break;
            }
            press(&mut form, KeyCode::Down);
        }
        press(&mut form, KeyCode::Down);
        press(&mut form, KeyCode::Up);
        let seda = Touch::Policy { name: "seda".to_owned(), settings: Settings::new() };
        assert_eq!(press(&mut form, KeyCode::Enter), Some(Filled::Asked(seda)));
    }

    #[test]
    fn one_parameter_is_changed_and_the_others_stay() {
        let mut form = Form::of(Change::Parameter, Some(&codel()));
        write(&mut form, "target");
        assert_eq!(form.fields[1].line.text, "7ms", "as it is now");
        assert!(form.help().contains("default"), "{}", form.help());
        press(&mut form, KeyCode::Tab);
        write(&mut form, "9ms");
        let settings = Settings::from([("target".to_owned(), "9ms".into())]);
        let touch = Touch::Policy { name: "codel".to_owned(), settings };
        assert_eq!(press(&mut form, KeyCode::Enter), Some(Filled::Asked(touch)));
        let mut back = Form::of(Change::Parameter, Some(&codel()));
        write(&mut back, "target");
        press(&mut back, KeyCode::Tab);
        write(&mut back, "5ms");
        let default = Touch::Policy { name: "codel".to_owned(), settings: Settings::new() };
        assert_eq!(press(&mut back, KeyCode::Enter), Some(Filled::Asked(default)), "back to the default");
        let mut wrong = Form::of(Change::Parameter, Some(&codel()));
        write(&mut wrong, "tarket");
        press(&mut wrong, KeyCode::Enter);
        assert!(wrong.problem.is_some_and(|problem| problem.contains("did you mean target?")));
        let mut far = Form::of(Change::Parameter, Some(&codel()));
        write(&mut far, "target");
        press(&mut far, KeyCode::Tab);
        write(&mut far, "90h");
        press(&mut far, KeyCode::Enter);
        assert!(far.problem.is_some_and(|problem| problem.contains("target")));
    }
}
