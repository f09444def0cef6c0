//! The arms: which policies are compared, with which settings.

use std::{collections::BTreeMap, time::Duration};

use controllers::{
    Place as Seat,
    catalogue::{PolicySpec, Settings},
    site::OnRefuse,
};
use installed::catalogue;
use workloads::{balance::Balancer, plan::ClientPolicy};

use super::{
    calls::CallChanges,
    client::client_key,
    fields::{Fields, join},
    hindsight::{BestStaticKeys, hindsight},
    keys::{Table, by, choice, count, flag, free, names, shapes, table, time},
    label::label,
    own_arm,
    own_target::{Base, own_target},
    plan::{AppPlan, ArmPlan, Hindsight, SearchRange, Tree},
    policy::{Policy, as_written, check, is_known, parted, place_of_key, policy_and_settings, resolved, settings_of},
    policy_schema::{LabKeys, arm as arm_shape},
    problem::{Place, Problems},
    proxy_arm,
    raw::{Entry, Node, Value},
    refusal::{OnRefuseKey, on_refuse},
    tree::{self, BALANCERS},
};

table! {
    /// Settings of the lab beside those of the policy ([policies.md](policies.md)). A policy's own parameter of the
    /// same name comes first.
    pub(super) struct ArmKeys as "ArmSettings" for ArmPlan {
        label: String = by::<String, _>(label).key("as").otherwise("the policy's name"), "The arm's name in tables and thresholds: letters, digits, - and _";
        place = choice::<_, String>(PLACES).otherwise("the policy's own"), "Where the policy is: at the listener, before the whole service, or at one or each stage";
        on_refuse: Option<OnRefuse> = by::<OnRefuseKey, _>(on_refuse).otherwise("as in `target`"), "As in `target`, for this arm alone";
        backlog: Option<u32> = count(1..=65_535).otherwise("as in `target`").example("128"), "Length of the kernel's listen queue. For `connections` it is the policy's own parameter";
        client: Option<ClientPolicy> = by::<Policy, _>(client_key).otherwise("as in `users`"), "A policy on the users' own side";
        services = free::<BTreeMap<String, Policy>>(), "Policies of single services of a tree, by name";
        calls = free::<CallChanges>(), "What differs in all calls between services";
        balancer: Option<Balancer> = choice::<_, String>(BALANCERS).otherwise("as each service has it"), "Which task gets a request, in all services of a tree";
        jitter: Option<Duration> = time(Duration::ZERO..=Duration::from_secs(3600)).otherwise("that of `virtual.link`").example("20ms"), "In virtual time: the largest additional delay of a message of this arm's users, drawn uniformly";
        direct: bool = flag().or(false), "own: users of this arm bypass the lab's proxy";
        target = free::<serde_json::Value>(), "What differs in the service: keys of `target`, each in place of the experiment's. Keys that all arms share are excluded. For a policy with a parameter `target`: only if it is a table";
        ..ArmPlan::none()
    }
}

shapes! {
    ArmShape as "Arm" = |generator| {
        let [lab, searched] = [LabKeys::of::<ArmKeys>(generator), LabKeys::of::<BestStaticKeys>(generator)];
        arm_shape(&lab, &searched, proxy_arm::shapes(generator), generator)
    };
}

/// A policy's own parameter goes before, and an unknown policy may have any but the arm's name: `connections` has a `backlog`. Where that is `target`, it is a time, and a table changes
/// the service.
fn is_the_labs(entry: &Entry, policy: &str) -> bool {
    let key = entry.key.as_str();
    if !is_known(policy) {
        return key == "as";
    }
    let known = catalogue().resolve(policy, &Settings::new());
    let of_policy = known.is_ok_and(|(known, _)| known.params().iter().any(|param| param.name == key));
    names::<ArmKeys>().contains(&key)
        && (!of_policy || (key == "target" && matches!(entry.node.value, Value::Table(_))))
}

/// Places, as they are written.
const PLACES: &[(&str, Seat)] =
    &[("accept", Seat::Accept), ("single", Seat::Single), ("stage", Seat::Stage), ("per-stage", Seat::Stage)];

/// Reads `arms`. `base`: what is served, if that can be read.
pub(crate) fn arms(fields: &Fields<'_>, base: Option<Base<'_>>) -> Vec<ArmPlan> {
    fields.wanted("arms", "[none, seda]");
    let mut arms: Vec<ArmPlan> = Vec::new();
    for node in fields.list("arms") {
        let Some(arm) = arm(node, base, fields.problems()) else { continue };
        if arms.iter().any(|other| other.label == arm.label) {
            let message = format!("there are two arms called {:?}", arm.label);
            let hint = format!("give one a label: - {}: {{as: another}}", arm.policy.name);
            fields.problems().add(&node.place, "arms", message, hint);
        }
        arms.push(arm);
    }
    arms
}

/// Keeps the named arms, each once: the one that a name labels, else those of that policy; a name that no arm has is a policy with
/// its defaults.
pub(crate) fn only(arms: &[ArmPlan], names: &[String], base: Option<Base<'_>>, problems: &Problems) -> Vec<ArmPlan> {
    let mut kept = Vec::new();
    for name in names {
        let labelled = arms.iter().any(|arm| arm.label == *name);
        let is_meant = |arm: &&ArmPlan| if labelled { arm.label == *name } else { arm.policy.name == *name };
        let meant: Vec<&ArmPlan> = arms.iter().filter(is_meant).collect();
        let anew = |arm: &&ArmPlan| !kept.iter().any(|other: &ArmPlan| other.label == arm.label);
        let more: Vec<ArmPlan> = meant.iter().copied().filter(anew).cloned().collect();
        kept.extend(more);
        if meant.is_empty() {
            let place = Place::Flag(format!("--policy {name}"));
            let node = Node { value: Value::Text(name.clone()), place };
            kept.extend(arm(&node, base, problems));
        }
    }
    kept
}

/// `- none` or `- seda: {scope: per-stage}`.
fn arm(node: &Node, base: Option<Base<'_>>, problems: &Problems) -> Option<ArmPlan> {
    let app = base.map(|base| &base.target.app);
    let (name, settings) = policy_and_settings(node, "arms", problems)?;
    if proxy_arm::is_one(name) {
        return proxy_arm::arm(name, settings, node, base, problems);
    }
    let path = join("arms", name);
    let (lab, mut own) = parted(settings, &path, problems, |entry| is_the_labs(entry, name))?;
    let mut arm = lab_keys(name, &Fields::of_table::<ArmKeys>(&lab, &path, problems)?, base);
    if let Some((policy, known)) = hindsight(name, &mut own, tree_of(base), &node.place, &path, problems) {
        (arm.policy.name, arm.hindsight) = (policy, Some(known));
    }
    let written = PolicySpec::written(name, settings_of(&own));
    arm.policy.settings = written.settings;
    arm.policy.place = written.place.or(arm.policy.place);
    if let Some(AppPlan::Own(_)) = app {
        own_arm::at_the_proxy(&mut arm.policy);
    }
    if !check(&mut arm.policy, node, settings, &path, problems) {
        // An arm with a slip keeps its name, so that thresholds on it are no further slips.
        return Some(arm);
    }
    if let Some(AppPlan::Own(_)) = app {
        own_arm::seated(&mut arm, node, settings, &path, problems);
        return Some(arm);
    }
    // What the target itself would refuse: a place that it does not have, settings for stages that it does not have.
    let reports = matches!(app, Some(AppPlan::Tree(_)));
    let unfit = match (resolved(&arm.policy, reports), app) {
        (Ok(policy), Some(app)) => policy.misplaced(&app.graph()),
        (Ok(_), None) => Vec::new(),
        (Err(unfit), _) => unfit.problems,
    };
    for bad in unfit.into_iter().map(|bad| as_written(bad, settings)) {
        let param = bad.key.split('.').next().unwrap_or(&bad.key);
        let place = settings.and_then(|settings| place_of_key(settings, param)).unwrap_or(&node.place);
        let on_clients_alone =
            catalogue().find(&arm.policy.name).is_some_and(|entry| !entry.places.iter().any(|place| in_target(*place)));
        let hint = match on_clients_alone {
            true => format!("it sits on the users' side: - none: {{as: {name}, client: {name}}}"),
            false => String::new(),
        };
        problems.add(place, &join(&path, &bad.key), bad.message, hint);
    }
    // The limit of one service: the others have none.
    let searched = arm.hindsight.as_ref().and_then(Hindsight::searched);
    if let Some(SearchRange { service: Some(service), .. }) = searched {
        let limit = std::mem::replace(&mut arm.policy, ArmPlan::none().policy);
        arm.services.insert(service.clone(), limit);
    }
    Some(arm)
}

/// True if a target has such a place.
fn in_target(place: Seat) -> bool {
    matches!(place, Seat::Accept | Seat::Single | Seat::Stage)
}

fn tree_of(base: Option<Base<'_>>) -> Option<&Tree> {
    base.and_then(|base| base.target.app.tree())
}

fn lab_keys(name: &str, fields: &Fields<'_>, base: Option<Base<'_>>) -> ArmPlan {
    let mut arm = ArmKeys::read(fields);
    if arm.label.is_empty() {
        name.clone_into(&mut arm.label);
    }
    arm.policy = PolicySpec { name: name.to_owned(), place: fields.choice("place", PLACES), settings: Settings::new() };
    let problems = fields.problems();
    if let (Some(node), Some(base)) = (fields.node("target"), base) {
        arm.own_target = own_target(node, base, &fields.path("target"), problems);
    }
    let misplaced = |key: &str, hint: &str| fields.problem(key, "does not belong to this target", hint);
    if fields.node("direct").is_some() && !base.is_none_or(|base| matches!(base.target.app, AppPlan::Own(_))) {
        misplaced("direct", "it is about a service of your own: target.url, or target.command");
    }
    let tree = tree_of(base);
    for key in ["services", "calls", "balancer"] {
        let Some(node) = fields.node(key) else { continue };
        match key {
            _ if base.is_some() && tree.is_none() => misplaced(key, "it is about several services: target.app: tree"),
            "services" => arm.services = tree::policies(node, &fields.path(key), tree, problems),
            "balancer" => {
                let mut services = tree.iter().flat_map(|tree| &tree.services);
                let wrong = services.find_map(|service| tree::deaf(arm.balancer?, service.per));
                wrong.into_iter().for_each(|(message, hint)| fields.problem(key, message, hint));
            }
            _ => arm.calls = fields.table::<CallChanges>(key).unwrap_or_default(),
        }
    }
    arm
}

#[cfg(test)]
mod tests {
    use controllers::catalogue::ParamKind;

    use super::*;
    use crate::{Changes, Experiment, read};

    const FILE: &str = "name: x\nabout: y\ntarget: {app: emulated, service: 10ms, workers: 2}\nobjective: {percentile: 90, response_time: 1s}\nusers: {model: url, path: /, phases: [{name: x, requests: 5/s, for: 3s}]}\narms: [none]\n";

    fn arm_of(arm: &str) -> Result<ArmPlan, String> {
        let changes = Changes { set: vec![format!("arms.0={arm}")], ..Changes::default() };
        let experiment: Result<Experiment, _> = read(FILE, &changes);
        experiment.map(|found| found.arms[0].clone()).map_err(|problems| problems[0].to_string())
    }

    #[test]
    fn a_policys_own_parameter_goes_before_a_key_of_the_lab() {
        let own = arm_of("{codel: {target: 20ms}}").expect("it is good");
        assert_eq!((own.policy.settings.len(), own.own_target), (1, None));
        let both = arm_of("{codel: {target: {workers: 4}, interval: 200ms}}").expect("it is good");
        assert!(both.own_target.is_some() && both.policy.settings.len() == 1, "{both:?}");
        // For others it is the listener's.
        let connections = arm_of("{connections: {backlog: 5}}").expect("it is good");
        assert_eq!((connections.backlog, connections.policy.settings.len()), (None, 1));
        assert_eq!(arm_of("{none: {backlog: 5}}").expect("it is good").backlog, Some(5));
        let why = arm_of("{codel: {target: soon}}").expect_err("no time");
        assert!(why.contains("codel.target") && why.contains("not a time"), "{why}");
    }

    #[test]
    fn a_place_that_does_not_fit_is_named_by_its_own_key() {
        let said = |arm: &str| arm_of(arm).expect_err("it does not sit there");
        let of_place = said("{connections: {place: stage}}");
        let words = "\"per-stage\" cannot be the place of connections; it may be: accept";
        assert!(of_place.contains("arms.connections.place") && of_place.contains(words), "{of_place}");
        let of_scope = said("{connections: {scope: per-stage}}");
        assert!(of_scope.contains("arms.connections.scope") && of_scope.contains("the scope of"), "{of_scope}");
    }

    #[test]
    fn nothing_follows_from_the_name_of_an_unknown_policy() {
        let arm = "{my-limit: {as: mine, target: 100ms, place: 3, backlog: none}}";
        let changes = Changes { set: vec![format!("arms.0={arm}")], ..Changes::default() };
        let problems = read(FILE, &changes).expect_err("there is none of this name");
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        let said = problem.to_string();
        assert!(said.contains("there is no policy called \"my-limit\""), "{said}");
        assert!(said.contains("known to its own program alone: run the file with that (docs/policies.md)"), "{said}");
    }

    #[test]
    fn no_parameter_that_is_a_table_has_a_name_of_the_labs() {
        let of_entry = |entry: &'static controllers::Entry| entry.params().into_iter().map(move |param| (entry, param));
        let params = catalogue().entries().flat_map(of_entry);
        for (entry, param) in params.filter(|(_, param)| names::<ArmKeys>().contains(&param.name)) {
            let scalar = matches!(param.kind, ParamKind::Time | ParamKind::Count | ParamKind::Number);
            assert!(scalar, "{}.{}", entry.name, param.name);
        }
    }
}
