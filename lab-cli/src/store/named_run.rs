//! Places of runs: by name, or by path.

use std::{
    fs,
    path::{Path, PathBuf},
};

use controllers::catalogue::nearest;

/// The folder of runs unless `--out` says otherwise.
pub const RUNS: &str = "runs";

/// The folder of a run: a path, or the name of one below `runs/`, or the beginning of exactly one such name.
///
/// # Errors
/// What there is instead, in words.
pub fn named(name: &str) -> Result<PathBuf, String> {
    let path = Path::new(name);
    let is_run = |path: &Path| path.join("manifest.json").is_file();
    if is_run(path) {
        return Ok(path.to_owned());
    }
    if path.is_dir() {
        return Err(format!("{name} is not a run folder: it has no manifest.json"));
    }
    let known: Vec<String> = fs::read_dir(RUNS)
        .map(|entries| entries.flatten().filter(|entry| is_run(&entry.path())))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let mut begun: Vec<&String> = known.iter().filter(|run| run.starts_with(name)).collect();
    begun.sort();
    if known.iter().any(|run| run == name) {
        return Ok(Path::new(RUNS).join(name));
    }
    match &begun[..] {
        [] => {
            let hint = match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean {near}?"),
                None => "lab history lists those that there are".to_owned(),
            };
            Err(format!("there is no run {name:?}; {hint}"))
        }
        [only] => Ok(Path::new(RUNS).join(only)),
        [.., last] => Err(format!("{} runs begin with {name:?}, the last of them {last}", begun.len())),
    }
}
