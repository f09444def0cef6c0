//! `lab check`: every problem of experiment files, with line and column.

use analysis::text::{counted, long_time};
use experiment::{
    Changes, Experiment,
    plan::{Model, preview},
};

use super::{destination, input::read_experiment, stdout::print};
use crate::{
    args,
    exit::{CommandResult, Failure},
    run::rehearse,
};

pub fn check(args: &args::CheckArgs) -> CommandResult {
    let changes = Changes { set: args.set.clone(), repeat: args.repeat, ..Changes::default() };
    let mut good = String::new();
    let mut bad = Vec::new();
    for file in &args.files {
        let checked = read_experiment(file, &changes).and_then(|experiment| {
            rehearse(&experiment).map_err(|failure| Failure::usage(format!("{file}: {failure}")))?;
            Ok(experiment)
        });
        match checked {
            Ok(experiment) => good.push_str(&line(file, &experiment)),
            Err(Failure::Usage(message)) => bad.push(message),
            Err(other) => return Err(other),
        }
    }
    let outcome = print(good.as_bytes());
    if bad.is_empty() { outcome } else { Err(Failure::Usage(bad.join("\n"))) }
}

fn line(file: &str, experiment: &Experiment) -> String {
    let arms: Vec<&str> = experiment.arms.iter().map(|arm| arm.label.as_str()).collect();
    let of_worlds = experiment.live_cautions().into_iter().chain(experiment.virtual_cautions());
    let all = experiment
        .cautions()
        .into_iter()
        .chain(of_worlds)
        .chain(experiment.too_few_blocks())
        .chain(experiment.time_to_decide());
    let live_only = experiment.live_only().map(|why| format!("not in virtual time: {why}"));
    let notes: String = all.chain(live_only).map(|caution| format!("{file}: note: {caution}\n")).collect();
    let plan = match &experiment.users.model {
        Model::Script { plan, .. } => preview(plan).iter().map(|line| format!("{file}: plan: {line}\n")).collect(),
        Model::Mail { .. } | Model::Url { .. } => String::new(),
    };
    let whole = destination::whole_time(experiment);
    let whole = whole.map_or_else(String::new, |time| format!(", about {} in all", long_time(time.as_secs_f64())));
    format!(
        "{file}: good: {} over {}, arms {}, {} of load{whole}\n{plan}{notes}",
        experiment.name,
        counted(experiment.users.phases.len(), "phase"),
        arms.join(", "),
        long_time(experiment.planned_time().as_secs_f64()),
    )
}
