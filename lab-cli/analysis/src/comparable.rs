//! Terms on which two runs may be held against each other.

use serde_json::Value;

use super::{json_diff::differ, manifest::Manifest};
use crate::summary::Mode;

/// Parts of an experiment that must be the same. Arms, repetitions, seed and what is asked of the run may differ.
const SAME: [&str; 3] = ["target", "users", "objective"];
/// Facts of the machine that bear on live figures.
const HOST: [&str; 6] = ["cores", "generator_cpu", "target_cpu", "kernel", "clocksource", "debug_build"];
/// The number of differences that are listed one by one.
const TOLD: usize = 3;

/// Reasons against a comparison; empty if there is none.
pub fn unlike(one: &Manifest, other: &Manifest) -> Vec<String> {
    let mut reasons = Vec::new();
    if one.experiment.name != other.experiment.name {
        reasons.push(format!("other experiment: {} and {}", one.experiment.name, other.experiment.name));
    }
    if one.mode != other.mode {
        reasons.push("one is live, the other in virtual time".to_owned());
    }
    let both_virtual = one.mode == Mode::Virtual && other.mode == Mode::Virtual;
    let simulation = both_virtual.then_some("virtual");
    for part in SAME.into_iter().chain(simulation) {
        reasons.extend(differences(one, other, "experiment", part));
    }
    if !both_virtual {
        for fact in HOST {
            reasons.extend(differences(one, other, "host", fact));
        }
    }
    reasons
}

/// Settings of an arm that an arm of another run has not, which may be what is compared: `arms.a.target.workers:
/// nothing and 2.0`.
pub fn other_settings(one: &Manifest, other: &Manifest, labels: [&str; 2]) -> Vec<String> {
    let [one, other] = [(one, labels[0]), (other, labels[1])].map(|(manifest, label)| settings(manifest, label));
    between(one.as_ref(), other.as_ref(), &format!("arms.{}", labels[1]))
}

/// An arm without its name. Of a target of its own what it changes, and not the whole.
fn settings(manifest: &Manifest, label: &str) -> Option<Value> {
    let arms = manifest.whole.get("experiment")?.get("arms")?.as_array()?;
    let mut arm = arms.iter().find(|arm| arm.get("label").is_some_and(|own| own == label))?.as_object()?.clone();
    arm.remove("label");
    let changes = arm.remove("own_target").and_then(|mut own| Some(own.get_mut("changes")?.take()));
    arm.insert("target".to_owned(), changes.unwrap_or_else(|| Value::Object(serde_json::Map::new())));
    Some(Value::Object(arm))
}

fn differences(one: &Manifest, other: &Manifest, whole: &str, part: &str) -> Vec<String> {
    let at = |manifest: &Manifest| manifest.whole.get(whole).and_then(|whole| whole.get(part)).cloned();
    between(at(one).as_ref(), at(other).as_ref(), &format!("{whole}.{part}"))
}

fn between(one: Option<&Value>, other: Option<&Value>, what: &str) -> Vec<String> {
    let mut found = Vec::new();
    differ("", one, other, &mut |place, a, b| {
        if a != b {
            found.push(format!("{what}{}: {} and {}", place.replace('/', "."), shown(a), shown(b)));
        }
    });
    if found.len() > TOLD {
        let more = found.len() - TOLD;
        found.truncate(TOLD);
        found.push(format!("{what}: {more} more differences"));
    }
    found
}

fn shown(value: Option<&Value>) -> String {
    const CHARS: usize = 40;
    let whole = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    whole.chars().take(CHARS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn manifest(change: impl Fn(&mut Value)) -> Manifest {
        let mut whole = json!({
            "lab": "0.1.0", "mode": "live", "capacity": null, "blocks": [], "seed": 1,
            "experiment": {
                "name": "spike", "about": "", "objective": {"percentile": 90.0, "response_time_ms": 1000.0},
                "thresholds": [], "compare": {}, "arms": [{"label": "none"}], "repeat": 7,
                "users": {"phases": [{"name": "all", "duration": 1000.0}]}, "target": {"app": {"app": "arashi"}},
                "virtual": {"only": false}
            },
            "host": {"cores": 2, "kernel": "6.1", "clocksource": "tsc", "debug_build": false, "descriptor_limit": 1024}
        });
        change(&mut whole);
        let manifest: Manifest = serde_json::from_value(whole.clone()).expect("a manifest");
        Manifest { whole, ..manifest }
    }

    #[test]
    fn what_bears_on_the_figures_must_be_the_same_and_nothing_else() {
        let one = manifest(|_| {});
        let other = manifest(|whole| {
            whole["seed"] = json!(2);
            whole["experiment"]["repeat"] = json!(3);
            whole["experiment"]["arms"] = json!([{"label": "seda"}]);
            whole["experiment"]["thresholds"] = json!(["none.all.sent > 1"]);
            whole["experiment"]["virtual"]["only"] = json!(true);
            whole["host"]["descriptor_limit"] = json!(9);
        });
        assert_eq!(unlike(&one, &other), [""; 0]);
        type Change = fn(&mut Value);
        let changes: [(Change, &str); 5] = [
            (|whole| whole["experiment"]["name"] = json!("other"), "other experiment: spike and other"),
            (|whole| whole["mode"] = json!("virtual"), "one is live, the other in virtual time"),
            (
                |whole| whole["experiment"]["users"]["phases"][0]["duration"] = json!(2000.0),
                "experiment.users.phases.0.duration: 1000.0 and 2000.0",
            ),
            (|whole| whole["host"]["kernel"] = json!("6.2"), "host.kernel: \"6.1\" and \"6.2\""),
            (|whole| whole["host"]["debug_build"] = json!(true), "host.debug_build: false and true"),
        ];
        for (change, reason) in changes {
            assert_eq!(unlike(&one, &manifest(change)), [reason]);
        }
    }

    #[test]
    fn settings_of_arms_may_differ_and_are_named() {
        let plain = manifest(|_| {});
        let changed = manifest(|whole| {
            whole["experiment"]["arms"][0]["own_target"] = json!({"changes": {"workers": 2.0}, "target": {"app": "x"}});
        });
        assert_eq!(unlike(&plain, &changed), [""; 0]);
        assert_eq!(other_settings(&plain, &changed, ["none"; 2]), ["arms.none.target.workers: nothing and 2.0"]);
        assert_eq!(other_settings(&changed, &changed, ["none"; 2]), [""; 0]);
        let renamed = manifest(|whole| whole["experiment"]["arms"][0]["label"] = json!("same"));
        assert_eq!(other_settings(&plain, &renamed, ["none", "same"]), [""; 0], "a name is no setting");
    }

    #[test]
    fn virtual_runs_ask_for_the_same_plant_on_any_machine() {
        let virtual_one = manifest(|whole| whole["mode"] = json!("virtual"));
        let elsewhere = manifest(|whole| {
            whole["mode"] = json!("virtual");
            whole["host"]["kernel"] = json!("6.2");
        });
        assert_eq!(unlike(&virtual_one, &elsewhere), [""; 0]);
        let other_plant = manifest(|whole| {
            whole["mode"] = json!("virtual");
            whole["experiment"]["virtual"]["only"] = json!(true);
        });
        assert_eq!(unlike(&virtual_one, &other_plant), ["experiment.virtual.only: false and true"]);
    }
}
