//! Files of a folder: all of them, the experiments, and exports of a comparison.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use analysis::{
    chart::Size,
    report::{RunFiles, html},
};
use experiment::{Library, raw::MAX_BYTES};

use crate::{exit::Failure, screens::Export, store::put_in_place};

/// A folder of experiments, such as the one of the lab's own source.
const EXPERIMENTS: &str = "experiments";
/// Most files and runs that are listed.
const MOST: usize = 500;

pub fn listed(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).take(MOST).collect()
}

/// Names and texts of the experiment files in this folder, and in its folder `experiments` where they differ from what comes with the
/// program.
pub fn experiments(here: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let all = listed(here).into_iter().chain(listed(&here.join(EXPERIMENTS)));
    for path in all.filter(|path| path.extension().is_some_and(|e| e == "yaml" || e == "yml") && path.is_file()) {
        let mut text = String::new();
        let read = fs::File::open(&path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
        // Not every YAML file is an experiment: those are that have arms.
        if read.is_ok() && text.lines().any(|line| line.starts_with("arms:")) {
            let path = path.strip_prefix(here).unwrap_or(&path);
            // Of the library's own files those are a person's that say something else.
            let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            let is_known = Library::find(&stem).is_some_and(|known| known.text == text);
            if !is_known || !path.starts_with(EXPERIMENTS) {
                files.push((path.display().to_string(), text));
            }
        }
    }
    files.sort();
    files
}

/// Puts it there; what was done, in a line.
pub fn put(what: Export, folder: &Path, table: &str) -> Result<String, Failure> {
    let whole = || -> Result<RunFiles, Failure> {
        let run = RunFiles::read(folder)?;
        run.ok_or_else(|| Failure::because(format!("{} has no summary", folder.display())))
    };
    let (name, bytes) = match what {
        Export::Report => ("report.html", html::document(&whole()?).into_bytes()),
        Export::Picture => ("over-time.svg", html::chart_over_time(&whole()?).to_svg(&Size::FILE).into_bytes()),
        Export::Table | Export::Folder => ("table.md", table.as_bytes().to_vec()),
    };
    let path = folder.join(name);
    put_in_place(&path, &bytes).map_err(Failure::at(&path))?;
    Ok(format!("wrote {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_folder_experiments_is_a_persons_once_it_says_something_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
        fs::create_dir(folder.path().join(EXPERIMENTS)).expect("made");
        let known = Library::find("flash-crowd").expect("it comes with the program").text;
        put("experiments/flash-crowd.yaml", known);
        put("compose.yaml", "services: {}\n");
        assert_eq!(experiments(folder.path()), []);
        let edited = known.replace("1000", "1001");
        put("experiments/flash-crowd.yaml", &edited);
        put("mine.yml", "arms: [none]\n");
        let found = experiments(folder.path());
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["experiments/flash-crowd.yaml", "mine.yml"]);
        assert_eq!(found[0].1, edited);
    }
}
