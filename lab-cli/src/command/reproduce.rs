//! `lab reproduce`: the atlas.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use analysis::{
    summary::{GateFinding, Mode, RunSummary, ThresholdResult, Validity},
    text::nearest,
};
use experiment::{Changes, Experiment, Library};
use serde::Serialize;

use super::{
    print, print_as, read_experiment,
    run::{aside, end_of, failed, worse},
};
use crate::{
    args::{self, Output},
    exit::{CommandResult, End, Failure},
    run::{Cpus, Interventions, RunRequest, Sinks, StopSignal, conduct, progress::ProgressLines},
    tui::restore,
};

/// An experiment of the atlas, and what it found.
#[derive(Debug, Serialize)]
struct Artefact {
    /// Those of the atlas that it stands for: more than one where several share a short form.
    ids: Vec<&'static str>,
    experiment: String,
    about: String,
    mode: Mode,
    verdict: Validity,
    /// Why the verdict is not VALID: of every block.
    reasons: Vec<GateFinding>,
    claims: Vec<ThresholdResult>,
    results: PathBuf,
}

pub fn reproduce(args: &args::ReproduceArgs) -> CommandResult {
    let changes = Changes { seed: args.seed, repeat: args.repeat, ..Changes::default() };
    // All are read before any runs.
    let experiments: Vec<(Experiment, Vec<&'static str>)> = chosen(args)?
        .into_iter()
        .map(|(name, ids)| Ok((read_experiment(name, &changes)?, ids)))
        .collect::<Result<_, Failure>>()?;
    if let Some(out) = &args.out {
        // Each experiment makes a folder of its own in it.
        std::fs::create_dir(out).map_err(|error| Failure::usage(format!("{}: {error}", out.display())))?;
    }
    let cpus = Cpus::choose();
    if args.live {
        cpus.pin_generator();
    }
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    let (mut worst, mut found) = (End::Done, Vec::new());
    for (experiment, ids) in experiments {
        let mut sinks = Sinks::default();
        if args.live {
            sinks.add(ProgressLines::default());
        } else {
            aside(&format!("{}: {}", experiment.name, experiment.about));
        }
        let out = args.out.as_ref().map(|out| out.join(&experiment.name));
        let (out, virtual_time, touches) = (out.as_deref(), !args.live, &Interventions::default());
        let request = RunRequest { experiment: &experiment, out, cpus: &cpus, virtual_time, live_view: false, touches };
        let finished = conduct(request, &mut sinks, &stop);
        if let Some(end) = stop.end() {
            return Ok(end);
        }
        let finished = finished.map_err(|failure| failed(&failure))?;
        worst = worse(worst, end_of(&finished.summary));
        let RunSummary { mode, verdict, reasons, thresholds, .. } = finished.summary;
        let Experiment { name, about, .. } = experiment;
        let claims = thresholds;
        let results = finished.folder;
        let artefact = Artefact { ids, experiment: name, about, mode, verdict, reasons, claims, results };
        if args.output == Output::Text {
            print(artefact.as_text().as_bytes())?;
        }
        found.push(artefact);
    }
    print_as(args.output, &found, || in_all(&found))?;
    Ok(worst)
}

/// The experiments to run, each once, and the ids that each stands for.
fn chosen(args: &args::ReproduceArgs) -> Result<Vec<(&'static str, Vec<&'static str>)>, Failure> {
    let atlas: BTreeMap<&str, &Library> = Library::atlas().map(|entry| (entry.id, entry)).collect();
    let entries: Vec<&Library> = if args.all {
        Library::atlas().collect()
    } else {
        args.ids
            .iter()
            .map(|id| atlas.get(id.as_str()).copied().ok_or_else(|| unknown(id)))
            .collect::<Result<_, _>>()?
    };
    let mut chosen: Vec<(&'static str, Vec<&'static str>)> = Vec::new();
    for entry in entries {
        let name = match (args.live, entry.short) {
            (false, _) if entry.is_live_only() && args.all => {
                aside(&format!("{} runs live alone (--live): left out", entry.id));
                continue;
            }
            (false, _) if entry.is_live_only() => {
                let id = entry.id;
                return Err(Failure::usage(format!("{id} runs live alone: lab reproduce {id} --live")));
            }
            (false, _) => entry.id,
            (true, Some(short)) => short,
            (true, None) if args.all => {
                aside(&format!("{} has no short form to run live: left out", entry.id));
                continue;
            }
            (true, None) => {
                let id = entry.id;
                return Err(Failure::usage(format!(
                    "{id} has no short form to run live; lab reproduce {id} runs it in virtual time"
                )));
            }
        };
        match chosen.iter_mut().find(|(known, _)| *known == name) {
            Some((_, ids)) if ids.contains(&entry.id) => {}
            Some((_, ids)) => ids.push(entry.id),
            None => chosen.push((name, vec![entry.id])),
        }
    }
    Ok(chosen)
}

fn unknown(id: &str) -> Failure {
    let near = nearest(id, Library::atlas().map(|entry| entry.id));
    let hint =
        near.map_or_else(|| "lab run --list shows what there is".to_owned(), |near| format!("did you mean {near}?"));
    Failure::usage(format!("the atlas has no {id:?}; {hint}"))
}

impl Artefact {
    fn as_text(&self) -> String {
        let mode = match self.mode {
            Mode::Virtual => "virtual time",
            Mode::Live => "live",
        };
        let mut text = format!("{}: {} ({mode}, {})\n", self.ids.join(", "), self.about, self.verdict.word());
        for claim in &self.claims {
            let wanted: Vec<&str> = claim.text.split_whitespace().collect();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {:6}  {}\n          {}", claim.word(), wanted.join(" "), claim.why);
        }
        let _ = writeln!(text, "  results: {}", self.results.display());
        text
    }
}

fn in_all(found: &[Artefact]) -> String {
    let claims = || found.iter().flat_map(|artefact| &artefact.claims);
    let held = claims().filter(|claim| claim.held).count();
    format!("{held} of {} claims held\n", claims().count())
}
