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
    exit::Failure,
    run::{Cpus, Interventions, RunRequest, Sinks, StopSignal, WORLD, conduct},
};

/// Differences of a file that are told.
const TOLD: usize = 5;

/// Runs it again and adds what differs; or a note on why it was not run again.
pub(super) fn run_again(folder: &Path, found: &mut Rechecked) -> Result<(), Failure> {
    let manifest = Manifest::read(folder)?;
    if manifest.mode != Mode::Virtual {
        return Ok(());
    }
    let experiment = match repeatable(&manifest, &found.summary) {
        Ok(experiment) => experiment,
        Err(why) => {
            found.notes.push(format!("it was not run again: {why}"));
            return Ok(());
        }
    };
    // Of its own, whatever others have put beside it; removed with its value.
    let scratch = tempfile::Builder::new().prefix("lab-recheck-").tempdir()?;
    let run = scratch.path().join("run");
    let (cpus, touches) = (Cpus::choose(), Interventions::default());
    let request = RunRequest {
        experiment: &experiment,
        out: Some(&run),
        cpus: &cpus,
        virtual_time: true,
        live_view: false,
        fail_fast: false,
        touches: &touches,
    };
    if let Err(failure) = conduct(request, &mut Sinks::default(), &StopSignal::default()) {
        let place = format!("it cannot be run again: {failure}");
        found.differences.push(Difference { file: "manifest.json".to_owned(), place, found: None, computed: None });
        return Ok(());
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
    Ok(())
}

/// The experiment as it was run, if a second run of it must come to the same.
fn repeatable(manifest: &Manifest, summary: &RunSummary) -> Result<Experiment, String> {
    let (lab, world) = (env!("CARGO_PKG_VERSION"), manifest.whole.get("world").and_then(Value::as_u64));
    if manifest.lab != lab || world != Some(WORLD.into()) {
        let edition = world.map_or_else(|| "an older edition".to_owned(), |world| format!("edition {world}"));
        return Err(format!(
            "lab {} with {edition} of virtual time ran it, and this is lab {lab} with edition {WORLD}",
            manifest.lab
        ));
    }
    let experiment = experiment_of(manifest)?;
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
