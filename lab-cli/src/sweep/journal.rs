//! The folder of a search: its plan, and a line for each run that has ended, from which a killed search goes on.

use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use analysis::{run_file, summary::Arm};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{exit::Failure, store::put_in_place};

const PLAN: &str = "plan.json";
const RUNS: &str = "runs.jsonl";

/// The runs of a search.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    file: File,
    runs: BTreeMap<String, Arm>,
}

#[derive(Serialize, Deserialize)]
struct Line<T> {
    run: String,
    found: T,
}

impl Journal {
    /// Makes the folder, or goes on with one that has the same plan.
    ///
    /// # Errors
    /// The folder is another search's or something else, or cannot be written.
    pub fn open(folder: &Path, plan: &Value) -> Result<Self, Failure> {
        let at = Failure::at;
        let (plan_path, runs_path) = (folder.join(PLAN), folder.join(RUNS));
        match run_file::read(&plan_path) {
            Ok(known) if serde_json::from_slice::<Value>(&known).ok().as_ref() != Some(plan) => {
                let message =
                    "is a search with another plan (file, ranges, seeds): name another --out, or take the same flags";
                return Err(Failure::usage(format!("{} {message}", folder.display())));
            }
            Ok(_) => {}
            Err(_) if folder.exists() => {
                return Err(Failure::usage(format!("{} exists, and is no search that can go on", folder.display())));
            }
            Err(_) => {
                fs::create_dir_all(folder).map_err(at(folder))?;
                let text = serde_json::to_vec_pretty(plan).map_err(Failure::because)?;
                put_in_place(&plan_path, &text).map_err(at(&plan_path))?;
            }
        }
        let written =
            run_file::find(&runs_path)?.map_or_else(String::new, |text| String::from_utf8_lossy(&text).into_owned());
        let runs = written.lines().filter_map(|line| serde_json::from_str::<Line<Arm>>(line).ok());
        let runs = runs.map(|line| (line.run, line.found)).collect();
        let mut file = File::options().create(true).append(true).open(&runs_path).map_err(at(&runs_path))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let way_out = "name another --out, or share the runs (--shard)";
            return Err(Failure::usage(format!("another lab works in {}: {way_out}", folder.display())));
        }
        // A kill may have torn the last line: what follows begins on a line of its own.
        if !written.is_empty() && !written.ends_with('\n') {
            file.write_all(b"\n").map_err(at(&runs_path))?;
        }
        Ok(Self { folder: folder.to_owned(), file, runs })
    }

    /// True if this is the folder of a search.
    pub fn is_one(folder: &Path) -> bool {
        folder.join(PLAN).is_file()
    }

    /// Puts searches of one plan together in a new folder; gives the number of their runs.
    ///
    /// # Errors
    /// They have different plans, or different results of one run.
    pub fn merge(folders: &[PathBuf], out: &Path) -> Result<usize, Failure> {
        let plans = folders.iter().map(|folder| run_file::json(&folder.join(PLAN)));
        let plans: Vec<Value> = plans.collect::<Result<_, _>>()?;
        if let Some(other) = plans.iter().position(|plan| *plan != plans[0]) {
            let [a, b] = [&folders[other], &folders[0]].map(|folder| folder.display());
            return Err(Failure::usage(format!("{a} is a search with another plan (file, ranges, seeds) than {b}")));
        }
        let parts = folders.iter().map(|folder| Self::open(folder, &plans[0]));
        let parts: Vec<Self> = parts.collect::<Result<_, _>>()?;
        let mut whole = Self::open(out, &plans[0])?;
        for part in parts {
            for (run, found) in part.runs {
                match whole.get(&run) {
                    None => whole.keep(&run, found)?,
                    Some(known) if *known == found => {}
                    Some(_) => {
                        let place = part.folder.display();
                        return Err(Failure::because(format!("{place} has another result than another part of {run}")));
                    }
                }
            }
        }
        Ok(whole.count())
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs that it has.
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// A run that has ended.
    pub fn get(&self, run: &str) -> Option<&Arm> {
        self.runs.get(run)
    }

    /// Keeps a run: a line in one write.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&mut self, run: &str, found: Arm) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Line { run: run.to_owned(), found: &found })?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.runs.insert(run.to_owned(), found);
        Ok(())
    }

    /// Writes a file of the result.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(Failure::at(&path))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arm(name: &str) -> Arm {
        Arm { name: name.to_owned(), block: 3, ..Arm::default() }
    }

    #[test]
    fn a_search_goes_on_where_it_was_killed() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = scratch.path().join("search");
        let plan = json!({"points": 3});
        let mut journal = Journal::open(&folder, &plan).expect("made");
        journal.keep("one", arm("a")).expect("kept");
        journal.keep("two", arm("b")).expect("kept");
        drop(journal);
        let whole = fs::read_to_string(folder.join(RUNS)).expect("there");
        fs::write(folder.join(RUNS), &whole[..whole.len() - 7]).expect("torn");
        let mut journal = Journal::open(&folder, &plan).expect("it is the same");
        assert_eq!((journal.count(), journal.get("one"), journal.get("two")), (1, Some(&arm("a")), None));
        journal.keep("two", arm("c")).expect("kept");
        assert!(matches!(Journal::open(&folder, &plan), Err(Failure::Usage(_))), "somebody works in it");
        drop(journal);
        assert_eq!(Journal::open(&folder, &plan).expect("again").get("two"), Some(&arm("c")));
    }

    #[test]
    fn another_search_is_not_mixed_in() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = scratch.path().join("search");
        Journal::open(&folder, &json!({"points": 3})).expect("made");
        assert!(matches!(Journal::open(&folder, &json!({"points": 4})), Err(Failure::Usage(_))));
        assert!(matches!(Journal::open(scratch.path(), &json!({})), Err(Failure::Usage(_))), "no search");
    }

    #[test]
    fn a_pipe_in_its_folder_is_not_waited_for() {
        use nix::{sys::stat::Mode, unistd::mkfifo};
        let scratch = tempfile::tempdir().expect("a folder");
        let plan = json!({"points": 3});
        for file in [RUNS, PLAN] {
            let folder = scratch.path().join(file);
            drop(Journal::open(&folder, &plan).expect("made"));
            fs::remove_file(folder.join(file)).expect("there");
            mkfifo(&folder.join(file), Mode::S_IRWXU).expect("made");
            assert!(matches!(Journal::open(&folder, &plan), Err(Failure::Usage(_))), "{file}");
        }
    }
}
