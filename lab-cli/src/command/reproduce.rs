//! `lab reproduce`: the atlas.

use std::{collections::BTreeMap, path::Path};

use analysis::{chart::Size, figure, judge::claims::ClaimCount};
use controllers::catalogue::nearest;
use experiment::{Changes, Experiment, Library, Repeat};

use super::{
    input::read_experiment,
    run::look,
    stdout::{print, print_as},
};
use crate::{
    args::{self, Output},
    exit::{CommandResult, End, Failure, complain},
    run::{Cpus, Finished, RunRequest, Sinks, StopSignal, conduct, progress::ProgressLines},
    screens::{printed, restore},
};

mod artefact;
mod page;

use artefact::Artefact;
use page::PageFile;

pub fn reproduce(args: &args::ReproduceArgs) -> CommandResult {
    let changes = Changes { seed: args.seed, repeat: args.repeat.map(Repeat::Times), ..Changes::default() };
    // All are read before any runs.
    let experiments: Vec<(Experiment, Vec<&'static str>)> = chosen(args)?
        .into_iter()
        .map(|(name, ids)| Ok((read_experiment(name, &changes)?, ids)))
        .collect::<Result<_, Failure>>()?;
    if let Some(svg) = &args.svg {
        writable(svg, experiments.len())?;
    }
    let mut page = args.page.as_ref().map(|folder| PageFile::in_folder(folder, experiments.len())).transpose()?;
    if let Some(out) = &args.out {
        // Each experiment makes a folder of its own in it.
        std::fs::create_dir(out).map_err(|error| Failure::usage(format!("{}: {error}", out.display())))?;
    }
    let cpus = Cpus::choose();
    if args.live {
        cpus.pin_generator();
        look(&cpus, experiments.iter().map(|(experiment, _)| experiment))?;
    }
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    let (mut worst, mut found) = (End::Done, Vec::new());
    for (experiment, ids) in experiments {
        let finished = one(&experiment, args, &cpus, &stop);
        if let Some(end) = stop.end() {
            return Ok(end);
        }
        let Finished { summary, folder } = finished?;
        let figure = figure::drawn(&folder, experiment.figure.as_ref())?;
        if let Some(path) = &args.svg {
            std::fs::write(path, figure.to_svg(&Size::FIGURE)).map_err(Failure::at(path))?;
        }
        let drawn = if args.output == Output::Text { printed(&figure) } else { String::new() };
        let artefact = Artefact::of(&experiment, ids, &summary, &figure, folder);
        worst = worst.max(artefact.end());
        if let Some(page) = &mut page {
            page.add(page::shown(&experiment, &artefact, &summary, figure, args))?;
        }
        if args.output == Output::Text {
            print((artefact.as_text() + "\n" + &drawn + "\n").as_bytes())?;
        }
        found.push(artefact);
    }
    print_as(args.output, &found, || in_all(&found))?;
    if let Some(page) = &page {
        complain(&format!("the page is {}", page.place().display()));
    }
    Ok(worst)
}

/// Runs one of them.
fn one(
    experiment: &Experiment,
    args: &args::ReproduceArgs,
    cpus: &Cpus,
    stop: &StopSignal,
) -> Result<Finished, Failure> {
    let mut sinks = Sinks::default();
    if args.live {
        sinks.add(ProgressLines::default());
    } else {
        complain(&format!("{}: {}", experiment.name, experiment.about));
    }
    let out = args.out.as_ref().map(|out| out.join(&experiment.name));
    Ok(conduct(RunRequest::unattended(experiment, out.as_deref(), cpus, !args.live), &mut sinks, stop)?)
}

/// A picture is of one figure, and a place that cannot be written to is told before anything runs.
fn writable(svg: &Path, experiments: usize) -> Result<(), Failure> {
    if experiments != 1 {
        return Err(Failure::usage(
            "--svg names one picture, and there are several figures: -o DIR puts all into a page",
        ));
    }
    let folder = svg.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if svg.is_dir() || !folder.is_dir() {
        return Err(Failure::usage(format!(
            "{}: there is no such place for a file: name another with --svg",
            svg.display()
        )));
    }
    Ok(())
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
                complain(&format!("{} runs live alone (--live): left out", entry.id));
                continue;
            }
            (false, _) if entry.is_live_only() => {
                let id = entry.id;
                return Err(Failure::usage(format!("{id} runs live alone: lab reproduce {id} --live")));
            }
            (false, _) => entry.id,
            (true, Some(short)) => short,
            (true, None) if args.all => {
                complain(&format!("{} has no short form to run live: left out", entry.id));
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

/// The number of claims that hold, by paper.
fn in_all(found: &[Artefact]) -> String {
    let mut tally = ClaimCount::default();
    for artefact in found {
        let Artefact { experiment, paper, lettered_claims, claims, .. } = artefact;
        tally.add(experiment, *paper, lettered_claims, claims);
    }
    tally.to_text()
}
