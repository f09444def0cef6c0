//! `lab calibrate`: measures a live target, and writes a plant file for virtual time.

mod plant_file;
mod service;

use experiment::{
    Changes, Experiment,
    plan::{AppPlan, ArmPlan},
};

use self::plant_file::{how, keep};
use super::{
    input::{read_experiment, read_text},
    stdout::print,
};
use crate::{
    args,
    exit::{CommandResult, Failure},
    run::{
        Cpus, PlantRequest, RunFailure, Scratch, Sinks, StopSignal, as_table, as_yaml, cache_folder, caution,
        measure_plant, progress::ProgressLines,
    },
    screens::restore,
};

/// The built-in targets, measured by the name `arashi`.
const ARASHI: &str = "
name: arashi
target: {app: arashi, work: 0}
objective: {percentile: 90, response_time: 1s}
users: {model: arashi, phases: [{name: measured, users: 1, for: 1s}]}
arms: [none]
";
const CHECKSUM: &str = "
name: checksum
target: {app: checksum}
objective: {percentile: 90, response_time: 1s}
users: {model: url, path: /, phases: [{name: measured, users: 1, for: 1s}]}
arms: [none]
";
/// Refuses nearly everything as soon as it is read.
const REFUSES: &str = "
name: refuses
target: {app: emulated, service: 1ms}
objective: {percentile: 90, response_time: 1s}
users: {model: url, path: /, phases: [{name: measured, users: 1, for: 1s}]}
arms: [{fixed-rate: {scope: single, rate: 1/s}}]
";

pub fn calibrate(args: &args::CalibrateArgs) -> CommandResult {
    if args.out.exists() {
        let taken = format!("{} is there already: name another file with -o", args.out.display());
        return Err(Failure::usage(taken));
    }
    if let Some(own) = service::named(args)? {
        return service::calibrate(&own, args);
    }
    let experiments = targets(&args.targets)?;
    let cpus = Cpus::choose();
    cpus.pin_generator();
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    let mut sinks = Sinks::default();
    sinks.add(ProgressLines::default());
    if cfg!(debug_assertions) {
        sinks.note("THIS IS A DEBUG BUILD: its figures are of no use (cargo run --release -- calibrate)");
    }
    let scratch = Scratch::new(&cache_folder().join("calibrate")).map_err(Failure::because)?;
    let log = scratch.path().join("target.log");
    let request =
        PlantRequest { experiments: &experiments, repeat: args.repeat, lasts: args.lasts, log: &log, cpus: &cpus };
    let measured = measure_plant(&request, &mut sinks, &stop);
    if let Some(end) = stop.end() {
        sinks.note(RunFailure::Interrupted.to_string());
        return Ok(end);
    }
    let measured = measured.map_err(Failure::because)?;
    print(as_table(&measured).as_bytes())?;
    caution(&measured).into_iter().for_each(|caution| sinks.note(caution));
    keep(args, &measured.verdict, &as_yaml(&measured, &how(args)), "")
}

/// The experiments of the measurement, one a service: a first arm without control, a second one that refuses.
fn targets(names: &[String]) -> Result<Vec<Experiment>, Failure> {
    let built_in = |text: &str| read_text(text, "built in", &Changes::default());
    let refuses = built_in(REFUSES)?.arms;
    let mut found: Vec<Experiment> = Vec::new();
    for name in names {
        let of_name = match name.as_str() {
            "arashi" => vec![built_in(ARASHI)?, built_in(CHECKSUM)?],
            name => vec![read_experiment(name, &Changes::default())?],
        };
        for mut experiment in of_name {
            let app = |experiment: &Experiment| std::mem::discriminant(&experiment.target.app);
            if matches!(
                experiment.target.app,
                AppPlan::Emulated(_) | AppPlan::Generation(_) | AppPlan::Tree(_) | AppPlan::Own(_)
            ) {
                let why = format!("{name}: an emulated service takes the times that its experiment says");
                return Err(Failure::usage(why));
            }
            if found.iter().any(|other| app(other) == app(&experiment)) {
                let why =
                    format!("{name}: a plant file has one target of each service; measure this one into another file");
                return Err(Failure::usage(why));
            }
            experiment.arms = std::iter::once(ArmPlan::none()).chain(refuses.iter().cloned()).collect();
            found.push(experiment);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Result<Vec<Experiment>, Failure> {
        targets(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn built_in_targets_can_be_measured() {
        let found = of(&["arashi"]).expect("both");
        let names: Vec<&str> = found.iter().map(|experiment| experiment.name.as_str()).collect();
        assert_eq!(names, ["arashi", "checksum"]);
        for experiment in found {
            let policies: Vec<&str> = experiment.arms.iter().map(|arm| arm.policy.name.as_str()).collect();
            assert_eq!(policies, ["none", "fixed-rate"]);
        }
    }

    #[test]
    fn what_a_plant_file_has_no_place_for_is_refused() {
        assert!(
            matches!(of(&["arashi", "flash-crowd"]), Err(Failure::Usage(why)) if why.contains("one target of each"))
        );
        assert!(matches!(of(&["overload-sweep"]), Err(Failure::Usage(why)) if why.contains("emulated")));
        assert_eq!(of(&["flash-crowd", "degrade"]).map(|found| found.len()).ok(), Some(2));
    }
}
