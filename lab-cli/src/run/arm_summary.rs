//! Parts of the summary of an arm, from what the target counted and what the plan says.

use std::collections::BTreeMap;

use analysis::summary::{Client, Joined, PROGRAM, Server};
use controllers::{
    catalogue::{PolicySpec, Setting},
    site::CONTRADICTIONS,
};
use installed::catalogue;
use serde_json::Value;
use spec::wire::{Gauges, ServerLedger};
use traces::UserModel;
use workloads::plan::{ClientScope, ClientSpec, LoadPlan, Users};

/// The model that users walk, if they have one.
pub fn model_of(plan: &LoadPlan) -> Option<&UserModel> {
    let Users::Mail(users) = &plan.users else { return None };
    Some(&users.model)
}

/// The counts of the target between its first and last gauges. `ledger`: its ledger as both sides were joined.
pub fn server(first: Option<&Gauges>, last: &Gauges, ledger: &ServerLedger, joined: Option<&Joined>) -> Server {
    let (cpu_before, at_before) = first.map_or((0.0, 0.0), |first| (first.cpu_s, first.at_ms));
    let seconds = (last.at_ms - at_before) / 1e3;
    Server {
        connections_accepted: ledger.connections_accepted,
        connections_refused: ledger.connections_refused + ledger.connections_evicted,
        accept_errors: ledger.accept_errors,
        requests_read: ledger.requests_read,
        malformed: ledger.malformed,
        served: ledger.answered(),
        refused: ledger.refused.clone(),
        errors: ledger.errors,
        client_gone: ledger.client_gone,
        in_flight: ledger.in_flight,
        checks: ledger.checks,
        degraded: ledger.degraded,
        unread: joined.map(Joined::unread),
        cpu: if seconds > 0.0 { (last.cpu_s - cpu_before) / seconds } else { 0.0 },
        panics: last.panics,
        contradictions: last.stages.iter().filter_map(|stage| stage.counts.get(CONTRADICTIONS)).sum(),
        services: Vec::new(),
    }
}

/// Every parameter of an arm's policy as it was in force, and what it changes about the service (`target.workers`).
pub fn parameters_of(arm: &experiment::plan::ArmPlan) -> BTreeMap<String, Value> {
    if let Some(proxy) = &arm.proxy {
        let settings = proxy.settings.iter().map(|(key, value)| (key.clone(), value.clone()));
        let named = proxy.preset.clone().map(|preset| ("preset".to_owned(), preset));
        let all = named.into_iter().chain(settings).chain([(PROGRAM.to_owned(), proxy.command.program().to_owned())]);
        return all.map(|(key, value)| (key, value.into())).collect();
    }
    let mut all = parameters(&arm.policy);
    for (service, policy) in &arm.services {
        all.extend(parameters(policy).into_iter().map(|(key, value)| (format!("services.{service}.{key}"), value)));
    }
    let changes = arm.own_target.iter().flat_map(|own| &own.changes);
    all.extend(changes.map(|(key, setting)| (format!("target.{key}"), setting_as_json(setting))));
    all
}

/// Every parameter of a policy as it was in force: defaults, preset, settings.
fn parameters(policy: &PolicySpec) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    if let Some(entry) = catalogue().find(&policy.name) {
        let preset = entry.preset(&policy.settings).ok().flatten();
        all.extend(entry.rows(preset).into_iter().map(|row| (row.name.to_owned(), as_json(&row.default))));
        all.insert("scope".to_owned(), Value::from(policy.place.unwrap_or(entry.places[0]).scope()));
    }
    all.extend(policy.settings.iter().map(|(key, setting)| (key.clone(), setting_as_json(setting))));
    all
}

/// The policy on the users' own side.
pub fn client(spec: &ClientSpec) -> Client {
    let ClientSpec { policy, settings, scope, .. } = spec;
    let policy = PolicySpec { name: policy.clone(), place: None, settings: settings.clone() };
    let mut parameters = parameters(&policy);
    parameters.remove("scope");
    let scope = match scope {
        ClientScope::User => "user".to_owned(),
        ClientScope::Group(users) => format!("group of {users}"),
        ClientScope::All => "all".to_owned(),
    };
    Client { policy: policy.name, scope, parameters }
}

fn as_json(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::Object(_))) => value,
        _ => Value::from(text),
    }
}

fn setting_as_json(setting: &Setting) -> Value {
    match setting {
        Setting::Flag(flag) => Value::from(*flag),
        Setting::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => Value::from(*number as i64),
        Setting::Number(number) => Value::from(*number),
        Setting::Text(text) => Value::from(text.as_str()),
        Setting::Map(map) => map.iter().map(|(key, value)| (key.clone(), setting_as_json(value))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use controllers::site::StageGauges;

    use super::*;

    #[test]
    fn contradictions_of_all_sites_are_the_services() {
        let row = |name: &str, counts: &[(&str, u64)]| StageGauges {
            name: name.to_owned(),
            counts: counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            ..StageGauges::default()
        };
        let stages = vec![
            row("read", &[("attempt_0", 9)]),
            row("dispatch", &[(CONTRADICTIONS, 1)]),
            row("login", &[(CONTRADICTIONS, 2)]),
        ];
        let last = Gauges { stages, ..Gauges::default() };
        assert_eq!(server(None, &last, &ServerLedger::default(), None).contradictions, 3);
    }
}
