//! Problems of a file, each with its place and the way out: every problem at once.

use std::{
    cell::RefCell,
    fmt,
    path::{Path, PathBuf},
};

/// Place where a value was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Place in the file, both numbers counted from 1.
    File {
        /// Line.
        line: u64,
        /// Column.
        column: u64,
    },
    /// Flag of the command line.
    Flag(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { line, column } => write!(f, "{line}:{column}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileProblem {
    /// Place of the value.
    pub(crate) place: Place,
    /// The key, dotted: `users.phases.spike.for`; empty for the file as a whole.
    pub key: String,
    /// Problem in one sentence.
    pub message: String,
    /// Way out.
    pub hint: Option<String>,
}

impl FileProblem {
    /// The key that an unknown one was to be.
    fn meant(&self) -> Option<String> {
        let name = self.hint.as_deref()?.strip_prefix("did you mean ")?.strip_suffix('?')?;
        let written = self.key.rsplit_once('.').filter(|_| self.message == "there is no such key");
        Some(written.map_or_else(|| name.to_owned(), |(table, _)| format!("{table}.{name}")))
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n    {hint}"),
            None => Ok(()),
        }
    }
}

/// Collects problems while a file is read, so that a person sees all of them at once.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: RefCell<Vec<FileProblem>>,
    folder: PathBuf,
}

impl Problems {
    /// Problems of a file in this folder; empty: the working directory.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..Self::default() }
    }

    /// Folder from which a path goes that was written here: the file's, or for a flag the working directory.
    pub fn from(&self, place: &Place) -> &Path {
        match place {
            Place::File { .. } => &self.folder,
            Place::Flag(_) => Path::new(""),
        }
    }

    /// Adds one with a way out.
    pub fn add(&self, place: &Place, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        let hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        let problem = FileProblem { place: place.clone(), key: key.to_owned(), message: message.into(), hint };
        self.found.borrow_mut().push(problem);
    }

    /// Adds one with a way out: there is no value then.
    pub fn wrong<T>(&self, place: &Place, key: &str, message: impl Into<String>, hint: impl Into<String>) -> Option<T> {
        self.add(place, key, message, hint);
        None
    }

    /// All of them, in the order of the file.
    pub fn into_sorted(self) -> Vec<FileProblem> {
        let mut all = self.found.into_inner();
        all.sort();
        all.dedup();
        // A slip in a key is one problem: the key that was meant is not missing too.
        let meant: Vec<String> = all.iter().filter_map(FileProblem::meant).collect();
        all.retain(|problem| problem.message != "is missing" || !meant.contains(&problem.key));
        all
    }
}

#[cfg(test)]
mod tests {
    use crate::{Changes, read};

    #[test]
    fn a_slip_in_a_key_is_one_problem_and_a_tab_is_called_one() {
        let told = |text: &str| -> Vec<String> {
            let problems = read(text, &Changes::default()).expect_err("a slip");
            problems.iter().map(ToString::to_string).collect()
        };
        let file = "name: x\ntarget: {app: emulated, service: 10ms}\nobjectve: {response_time: 1s}\n\
                    users: {model: url, phases: [{nam: x, requests: 5/s, for: 3s}]}\narms: [none]\n";
        let slips = [
            "3:1: objectve: there is no such key\n    did you mean objective?",
            "4:31: users.phases.0.nam: there is no such key\n    did you mean name?",
        ];
        assert_eq!(told(file), slips);
        let tab = told("name: x\ntarget:\n\tapp: emulated\n");
        assert_eq!(tab, ["3:2: there is a tab, and YAML takes none\n    indent with spaces"]);
        let after_a_value = told("name: x\n\ttarget: y\n");
        assert_eq!(after_a_value, ["1:7: there is a tab, and YAML takes none\n    indent with spaces"]);
    }
}
