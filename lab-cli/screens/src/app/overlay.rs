//! Overlay of every screen: a line that is asked for, a menu, what is to be done next, and setups that were left.

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
};

use super::{Setup, cursor::moved};
use crate::{
    keymap::Action,
    requests::{Effect, Export, ScreenJob},
    text_input::{Ended, TextInput},
};

/// A file's name that is asked for.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub label: &'static str,
    pub line: TextInput,
    /// The text of the file.
    text: String,
    /// The world of a setup that is written; `None`: a new experiment, which is opened in the editor.
    virtual_time: Option<bool>,
}

#[derive(Debug, Default)]
pub(crate) struct Overlay {
    pub prompt: Option<Prompt>,
    /// The row of the menu, while it is open.
    pub menu: Option<usize>,
    /// Effects to come, beside those that keys lead to.
    pub queue: VecDeque<Effect>,
    /// Setups that the person has left, kept for the next visit.
    pub left: BTreeMap<String, Setup>,
    /// This file was edited: what is set up of it is read anew.
    pub edited: Option<PathBuf>,
}

impl Overlay {
    /// Asks where a new experiment goes. `id`: that of the one that it begins as.
    pub fn ask_for_new(&mut self, id: &str, text: String) {
        let stem = id.rsplit('/').next().unwrap_or(id).trim_end_matches(".yaml").trim_end_matches(".yml");
        let line = TextInput::proposing(format!("my-{}.yaml", stem.trim_start_matches("my-")));
        let label = "new: URL, command or file";
        self.prompt = Some(Prompt { label, line, text, virtual_time: None });
    }

    /// Asks where a setup goes.
    pub fn ask_for_written(&mut self, setup: &Setup, text: String) {
        self.ask_for_new(&setup.name, text);
        if let Some(prompt) = &mut self.prompt {
            (prompt.label, prompt.virtual_time) = ("write the setup as", Some(setup.how.virtual_time));
        }
    }

    /// The line that was asked for has ended.
    pub fn prompted(&mut self, ended: Ended) {
        let (Some(Prompt { text, virtual_time, .. }), Ended::Taken(name)) = (self.prompt.take(), ended) else { return };
        let name = name.trim();
        if name.is_empty() {
            return;
        }
        if virtual_time.is_none() && is_service(name) {
            self.queue.push_back(Effect::Job(ScreenJob::Init(name.to_owned())));
            return;
        }
        let has_ending = name.ends_with(".yaml") || name.ends_with(".yml");
        let path = PathBuf::from(if has_ending { name.to_owned() } else { format!("{name}.yaml") });
        let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let world = virtual_time.map(|virtual_time| if virtual_time { " --virtual" } else { "" });
        let how = world.map_or_else(String::new, |world| format!(": lab run {}{world}", path.display()));
        let said = format!("wrote {}{how}", path.display());
        let (text, and_edit) = (named(&text, &stem), virtual_time.is_none());
        self.queue.push_back(Effect::Job(ScreenJob::Write { path, text, and_edit, said }));
    }

    /// A key while the menu is open: what was chosen of it.
    pub fn chosen(&mut self, action: Action) -> Option<Export> {
        let at = self.menu?;
        match action {
            Action::Choose => {
                self.menu = None;
                return Some(Export::ALL[at].0);
            }
            Action::Back | Action::Export => self.menu = None,
            _ => self.menu = Some(moved(at, Export::ALL.len(), action).unwrap_or(at)),
        }
        None
    }
}

/// True of a URL, an address, or a command with its arguments; false of a file.
fn is_service(text: &str) -> bool {
    let is_file = text.ends_with(".yaml") || text.ends_with(".yml");
    text.contains("://") || text.contains(char::is_whitespace) || (!is_file && text.contains(['/', ':']))
}

/// The experiment by the name of its file, where that can name one: results are found by it.
fn named(text: &str, stem: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if stem.is_empty() || stem.len() > 64 || !stem.chars().all(fits) {
        return text.to_owned();
    }
    let line = |line: &str| if line.starts_with("name:") { format!("name: {stem}\n") } else { format!("{line}\n") };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_no_file() {
        for service in ["http://127.0.0.1:8080/", "./shop --port {port}", "127.0.0.1:80", "bin/shop"] {
            assert!(is_service(service), "{service}");
        }
        for file in ["mine", "mine.yaml", "experiments/mine.yaml"] {
            assert!(!is_service(file), "{file}");
        }
    }

    #[test]
    fn a_file_names_its_experiment_if_it_can() {
        assert_eq!(named("# name: x\nname: old\narms: [none]\n", "mine-2"), "# name: x\nname: mine-2\narms: [none]\n");
        assert_eq!(named("name: old\n", "no good"), "name: old\n");
    }
}
