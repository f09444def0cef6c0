//! `lab reproduce -o DIR`: the page of the atlas, written anew after each artefact.

use std::{
    fs,
    path::{Path, PathBuf},
};

use analysis::{
    chart::Chart,
    report::html::atlas::{AtlasArtefact, AtlasPage, MARK},
    summary::RunSummary,
};
use experiment::{Experiment, Library, plan::ArmPlan};
use installed::catalogue;

use super::artefact::Artefact;
use crate::{args::ReproduceArgs, exit::Failure, store::put_in_place};

/// A page in its folder.
pub struct PageFile {
    file: PathBuf,
    page: AtlasPage,
}

impl PageFile {
    /// Takes a folder for a page of so many artefacts. One that holds something else than a page of this kind is refused.
    pub fn in_folder(folder: &Path, planned: usize) -> Result<Self, Failure> {
        let told = |error: std::io::Error| Failure::usage(format!("{}: {error}", folder.display()));
        fs::create_dir_all(folder).map_err(told)?;
        let file = folder.join("index.html");
        let holds_something = fs::read_dir(folder).map_err(told)?.next().is_some();
        let is_ours = fs::read_to_string(&file).is_ok_and(|page| page.contains(MARK));
        if holds_something && !is_ours {
            return Err(Failure::usage(format!(
                "{} holds other things than a page of lab reproduce: name another folder with -o",
                folder.display()
            )));
        }
        let page = AtlasPage { lab: env!("CARGO_PKG_VERSION").to_owned(), planned, artefacts: Vec::new() };
        Ok(Self { file, page })
    }

    /// Adds an artefact, and writes the page. Gives its place.
    pub fn add(&mut self, artefact: AtlasArtefact) -> Result<(), Failure> {
        self.page.artefacts.push(artefact);
        // A reader sees the page as it was or as it is, and nothing in between.
        put_in_place(&self.file, self.page.document().as_bytes()).map_err(Failure::at(&self.file))
    }

    pub fn place(&self) -> &Path {
        &self.file
    }
}

/// The section of an artefact, in Markdown.
pub fn shown(
    experiment: &Experiment,
    artefact: &Artefact,
    summary: &RunSummary,
    figure: Chart,
    args: &ReproduceArgs,
) -> AtlasArtefact {
    let entry = Library::find(&experiment.name);
    AtlasArtefact {
        name: experiment.name.clone(),
        ids: artefact.ids.iter().map(|&id| id.to_owned()).collect(),
        about: experiment.about.clone(),
        source: experiment.source.clone(),
        paper: experiment.paper,
        mode: summary.mode,
        verdict: summary.verdict,
        codes: summary.codes().into_iter().map(str::to_owned).collect(),
        rows: experiment.rows.clone(),
        thresholds: artefact.claims.clone(),
        claims: artefact.lettered_claims.clone(),
        figure,
        setup: entry.map_or_else(Vec::new, Library::setup),
        deviations: deviations(experiment),
        commands: commands(&experiment.name, &artefact.ids, args),
    }
}

/// Deviations by entry, each policy that decides in an arm once.
fn deviations(experiment: &Experiment) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for name in experiment.arms.iter().flat_map(policies) {
        let Some(entry) = catalogue().find(&name).filter(|entry| !entry.deviations.is_empty()) else { continue };
        if !found.iter().any(|(known, _)| known == entry.name) {
            found.push((entry.name.to_owned(), entry.deviations.iter().map(|&line| line.to_owned()).collect()));
        }
    }
    found
}

fn policies(arm: &ArmPlan) -> Vec<String> {
    let services = arm.services.values().map(|policy| policy.name.clone());
    let client = arm.client.iter().map(|client| client.policy.clone());
    std::iter::once(arm.policy.name.clone()).chain(services).chain(client).collect()
}

/// Commands that make the artefact again.
fn commands(name: &str, ids: &[&'static str], args: &ReproduceArgs) -> Vec<String> {
    let live = if args.live { " --live" } else { "" };
    let repeat = args.repeat.map_or_else(String::new, |repeat| format!(" --repeat {repeat}"));
    let seed = args.seed.map_or_else(String::new, |seed| format!(" --seed {seed}"));
    let of = |id: &&str| format!("lab reproduce {id}{live}{repeat}{seed} --svg {name}.svg");
    ids.iter().take(1).map(of).collect()
}
