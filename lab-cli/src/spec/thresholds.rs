//! The thresholds of an experiment, checked against its arms, phases and request types before anything runs.

use workloads::mail::REQUEST_TYPES;

use super::{
    fields::Fields,
    plan::{Experiment, Model},
    raw::Value,
};
use crate::judge::threshold::{Names, Threshold};

/// Reads `thresholds`. `all_arms` are those of the file: where fewer are run, thresholds on the others are left out.
pub fn thresholds(fields: &Fields<'_>, experiment: &Experiment, all_arms: &[String]) -> Vec<String> {
    let mut arms: Vec<&str> = all_arms.iter().map(String::as_str).collect();
    let running: Vec<&str> = experiment.arms.iter().map(|arm| arm.label.as_str()).collect();
    arms.extend(running.iter().filter(|arm| !all_arms.iter().any(|a| a == *arm)));
    let names = Names {
        arms,
        phases: experiment.users.phases.iter().map(|p| (p.name.as_str(), p.duration.as_secs_f64())).collect(),
        types: match experiment.users.model {
            Model::Mail { .. } => REQUEST_TYPES.to_vec(),
            Model::Url { .. } => vec!["request"],
        },
    };
    let mut kept = Vec::new();
    for node in fields.list("thresholds") {
        let Value::Text(text) = &node.value else {
            let hint = "write it as text: seda.spike.response_time.p90 < 2s";
            fields.problems().add(&node.place, "thresholds", format!("not {}", node.value.shown()), hint);
            continue;
        };
        let checked = Threshold::parse(text)
            .map_err(|problem| vec![problem])
            .and_then(|threshold| threshold.check(&names).map(|()| threshold));
        match checked {
            Ok(threshold) if threshold.arms().iter().all(|arm| running.contains(arm)) => kept.push(text.clone()),
            Ok(_) => {}
            Err(found) => {
                for problem in found {
                    let message =
                        format!("{} (at character {} of {:?})", problem.message, problem.at + 1, clipped(text));
                    fields.problems().add(&node.place, "thresholds", message, problem.hint);
                }
            }
        }
    }
    kept
}

/// Enough of a threshold to know it again.
fn clipped(text: &str) -> String {
    const CHARS: usize = 80;
    let mut short: String = text.chars().take(CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
