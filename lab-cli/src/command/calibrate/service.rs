//! `lab calibrate URL|FILE`: what a service that is not the lab's costs.

use experiment::{
    Changes, Experiment,
    plan::{AppPlan, Model, OwnService},
};
use url::Position;
use workloads::plan::UrlRequest;

use super::plant_file::{how, keep};
use crate::{
    args,
    command::{destination::destination, init::reached, input::read_experiment, stdout::print},
    exit::{CommandResult, Failure},
    run::{
        Cpus, RunFailure, Scratch, ServiceRequest, Sinks, StopSignal, cache_folder, measure_service,
        progress::ProgressLines,
    },
    screens::restore,
};

/// A service, and what it is asked for.
#[derive(Debug)]
pub struct ServiceToMeasure {
    own: OwnService,
    requests: Vec<UrlRequest>,
}

/// The service that is named, if it is one that is not the lab's: by a URL, or by an experiment file.
///
/// # Errors
/// Bad usage, or a bad file.
pub fn named(args: &args::CalibrateArgs) -> Result<Option<ServiceToMeasure>, Failure> {
    let mut found = Vec::new();
    for name in &args.targets {
        if name.starts_with("http://") || name.starts_with("https://") {
            found.push(of_url(name, args)?);
        } else if name != "arashi" {
            found.extend(of_experiment(&read_experiment(name, &Changes::default())?, &args.allow_host)?);
        }
    }
    if !found.is_empty() && args.targets.len() > 1 {
        return Err(Failure::usage(
            "a plant file has one service of your own: measure one at a time, each into a file of its own",
        ));
    }
    Ok(found.pop())
}

fn of_url(name: &str, args: &args::CalibrateArgs) -> Result<ServiceToMeasure, Failure> {
    let (url, target) = destination(name, &args.allow_host)?;
    let path = url[Position::BeforePath..Position::AfterQuery].to_owned();
    let own = OwnService { url: Some(target.url), ready: path.clone(), ..OwnService::default() };
    let own = reached(own, &args.transport)?;
    Ok(ServiceToMeasure { own, requests: vec![get(&path)] })
}

fn get(path: &str) -> UrlRequest {
    let (name, path, method) = ("request".to_owned(), path.to_owned(), "GET".to_owned());
    UrlRequest { name, weight: 1.0, method, path, headers: Vec::new(), body: None }
}

/// `None`: its target is one of the lab's.
fn of_experiment(experiment: &Experiment, allowed: &[String]) -> Result<Option<ServiceToMeasure>, Failure> {
    let AppPlan::Own(own) = &experiment.target.app else { return Ok(None) };
    if let Some(url) = &own.url {
        destination(url, allowed)?;
    }
    let requests = match &experiment.users.model {
        Model::Url { requests, .. } if !requests.is_empty() => requests.clone(),
        Model::Url { path, .. } => vec![get(path)],
        Model::Mail { .. } | Model::Script { .. } => {
            let name = &experiment.name;
            return Err(Failure::usage(format!(
                "{name}: say what the service is asked for: users: {{model: url, paths: …}}"
            )));
        }
    };
    // What it exports is of no use here.
    Ok(Some(ServiceToMeasure { own: OwnService { metrics: None, ..own.clone() }, requests }))
}

/// Measures it, and writes the plant file.
///
/// # Errors
/// It cannot be measured, or the file cannot be written.
pub fn calibrate(measured: &ServiceToMeasure, args: &args::CalibrateArgs) -> CommandResult {
    let cpus = Cpus::choose();
    cpus.pin_generator();
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    let mut sinks = Sinks::default();
    sinks.add(ProgressLines::default());
    let scratch = Scratch::new(&cache_folder().join("calibrate")).map_err(Failure::because)?;
    let ServiceToMeasure { own, requests } = measured;
    let request =
        ServiceRequest { own, requests, repeat: args.repeat, lasts: args.lasts, folder: scratch.path(), cpus: &cpus };
    let found = measure_service(&request, &mut sinks, &stop);
    if let Some(end) = stop.end() {
        sinks.note(RunFailure::Interrupted.to_string());
        return Ok(end);
    }
    let found = found.map_err(Failure::because)?;
    print(found.as_table(requests).as_bytes())?;
    let servers = found.service(requests).servers;
    if let Some(said) = own.concurrency.filter(|said| *said != servers) {
        sinks.note(format!(
            "the file says concurrency: {said}, and it works on {servers} at once: write {servers} there"
        ));
    }
    if let Some(slower) = &found.slower_kept {
        sinks.note(slower.in_words());
    }
    let out = args.out.display();
    let use_it = format!("; try settings with lab run FILE --virtual --set virtual.plant={out}");
    keep(args, &found.verdict, &found.as_yaml(requests, &how(args)), &use_it)
}
