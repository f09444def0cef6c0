//! A run in virtual time, run a second time from its manifest: what it writes is what the first one wrote.

use std::{fs, path::Path};

use analysis::{
    Manifest, digests,
    json_diff::differ,
    recheck::{Difference, Rechecked},
    run_file,
    summary::{Mode, RunSummary},
};
use experiment::{Experiment, plan::Model, plan_digest::experiment_of};
use serde_json::Value;

use crate::{
    exit::{End, Failure},
    run::{Cpus, RunFailure, RunRequest, Sinks, StopSignal, WORLD, conduct},
    screens::restore,
};

/// Differences of a file that are told.
const TOLD: usize = 5;

/// Runs it again and adds what differs; or a note on why it was not run again. `Some`: somebody stopped it.
pub(super) fn run_again(folder: &Path, manifest: &Manifest, found: &mut Rechecked) -> Result<Option<End>, Failure> {
    if manifest.mode != Mode::Virtual {
        return Ok(None);
    }
    let experiment = match repeatable(manifest, &found.summary) {
        Ok(experiment) => experiment,
        Err(why) => {
            found.notes.push(format!("it was not run again: {why}"));
            return Ok(None);
        }
    };
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    // Of its own, whatever others have put beside it; removed with its value.
    let scratch = tempfile::Builder::new().prefix("lab-recheck-").tempdir()?;
    let run = scratch.path().join("run");
    let cpus = Cpus::choose();
    let request = RunRequest::unattended(&experiment, Some(&run), &cpus, true);
    let conducted = conduct(request, &mut Sinks::default(), &stop);
    if let Some(end) = stop.end() {
        found.notes.push("it was not run again to the end: it was stopped".to_owned());
        return Ok(Some(end));
    }
    match conducted {
        Ok(_) => {}
        // This machine's doing, and nothing about the run.
        Err(failure @ (RunFailure::Folder(_) | RunFailure::Machine { .. } | RunFailure::FolderExists(_))) => {
            return Err(Failure::because(format!(
                "the second run, in {}, could not be written: {failure}; TMPDIR names another place, --no-rerun leaves it out",
                scratch.path().display()
            )));
        }
        Err(failure) => {
            let place = format!("it cannot be run again: {failure}");
            found.differences.push(Difference { file: "manifest.json".to_owned(), place, found: None, computed: None });
            return Ok(None);
        }
    }
    let mut files = 0;
    for entry in fs::read_dir(&run).map_err(Failure::because)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Figures are computed from the others, and digests are of all of them.
        if ![digests::NAME, "summary.json"].contains(&name.as_str()) {
            files += 1;
            let second = fs::read(entry.path()).map_err(Failure::because)?;
            // What cannot be read is not what the run wrote.
            compare(&name, run_file::read(&folder.join(&name)).ok(), &second, found);
        }
    }
    found.run_again = Some(files);
    Ok(None)
}

/// The recording program, if that is another lab, or has another virtual time, than this one:
/// `lab 0.1.0 with an older edition of virtual time`.
pub(super) fn other_lab(manifest: &Manifest) -> Option<String> {
    let (lab, world) = (env!("CARGO_PKG_VERSION"), manifest.whole.get("world").and_then(Value::as_u64));
    let other_world = manifest.mode == Mode::Virtual && world != Some(WORLD.into());
    (manifest.lab != lab || other_world).then(|| {
        let edition = match world {
            _ if manifest.mode != Mode::Virtual => return format!("lab {}", manifest.lab),
            Some(world) => format!("edition {world}"),
            None => "an older edition".to_owned(),
        };
        format!("lab {} with {edition} of virtual time", manifest.lab)
    })
}

/// The experiment as it was run, if a second run of it must come to the same.
fn repeatable(manifest: &Manifest, summary: &RunSummary) -> Result<Experiment, String> {
    if let Some(other) = other_lab(manifest) {
        let lab = env!("CARGO_PKG_VERSION");
        return Err(format!("{other} ran it, and this is lab {lab} with edition {WORLD}"));
    }
    let experiment = experiment_of(manifest)?;
    if summary.arms.iter().any(|arm| !arm.parts.is_empty()) {
        return Err("it was put together from parts of its users".to_owned());
    }
    if manifest.shard.is_some() {
        return Err("it is a part of a run: lab merge puts parts together".to_owned());
    }
    if summary.partial {
        return Err("it was stopped, and how far it came depends on when".to_owned());
    }
    if experiment.users.trace.is_some() {
        return Err("it takes a recording, which is no part of the run".to_owned());
    }
    if matches!(experiment.users.model, Model::Script { .. }) {
        return Err("its manifest has neither header values nor bodies of the test plan".to_owned());
    }
    Ok(experiment)
}

/// A file of the run against that of the second one.
fn compare(name: &str, first: Option<Vec<u8>>, second: &[u8], found: &mut Rechecked) {
    let of_file =
        |place: &str| Difference { file: name.to_owned(), place: place.to_owned(), found: None, computed: None };
    let Some(first) = first else {
        found.differences.push(of_file("is not there to be read: the run, run again, writes it"));
        return;
    };
    if first == second {
        return;
    }
    let values = |bytes: &[u8]| -> Option<Vec<Value>> {
        serde_json::Deserializer::from_slice(bytes).into_iter().collect::<Result<_, _>>().ok()
    };
    let (Some(first), Some(second)) = (values(&first), values(second)) else {
        found.differences.push(of_file("is not what the run, run again, writes"));
        return;
    };
    let mut all = Vec::new();
    let lines = first.len().max(second.len());
    for number in 0..lines {
        let line = if lines > 1 { format!("line {} ", number + 1) } else { String::new() };
        differ("", first.get(number), second.get(number), &mut |place, there, computed| {
            // The machine on which it is run again is another one.
            let of_host = name == "manifest.json" && place.starts_with("/host/");
            if there != computed && !of_host {
                let [there, computed] = [there, computed].map(Option::<&Value>::cloned);
                let place = format!("{line}{place} (run again)");
                all.push(Difference { file: name.to_owned(), place, found: there, computed });
            }
        });
    }
    found.differences.extend(all.into_iter().take(TOLD));
}
