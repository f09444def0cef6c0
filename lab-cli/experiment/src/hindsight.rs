//! Arms that know what no policy can know.

use controllers::{
    Entry as Bounded, Settings,
    catalogue::{Bound, Param, ParamKind, ValueSearch},
};
use installed::catalogue;

use super::{
    fields::{Fields, join},
    keys::{Table, by, count, names, table, text},
    plan::{ArmPlan, Foreknowledge, Hindsight, SearchRange, Tree},
    policy::{place_of_key, settings_of},
    problem::{Place, Problems},
    raw::{Entry, Node, Value},
};

/// Reads the arm of a bound: takes the bound's own keys out of the arm's settings. Gives the name of the policy that sits in
/// the arm. `None`: the name is that of no bound.
pub(crate) fn hindsight(
    name: &str,
    own: &mut Vec<&Entry>,
    tree: Option<&Tree>,
    place: &Place,
    path: &str,
    problems: &Problems,
) -> Option<(String, Hindsight)> {
    let bounded = catalogue().find(name)?;
    let (policy, known) = match bounded.bound()? {
        Bound::Costs(_) | Bound::Means => ("none".to_owned(), costs(bounded, own, path, problems)),
        Bound::BestValue(search) => best_value(search, own, tree, place, path, problems),
    };
    Some((policy, Hindsight { entry: name.to_owned(), known }))
}

/// Beside what is computed from all costs stands what is computed without them, unless it is there, in an open load.
pub(crate) fn with_the_blind(arms: &mut Vec<ArmPlan>, open: Option<bool>) {
    let known = |arm: &ArmPlan, is: fn(&Hindsight) -> bool| arm.hindsight.as_ref().is_some_and(is);
    let is_there = arms.iter().any(|arm| known(arm, Hindsight::is_blind) || arm.label == BLIND);
    let oracle = arms.iter().position(|arm| known(arm, Hindsight::knows_arrivals));
    let entry = catalogue().find(BLIND).filter(|entry| matches!(entry.bound(), Some(Bound::Means)));
    let Some((at, _)) = oracle.zip(entry).filter(|_| open == Some(true) && !is_there) else { return };
    let known = Foreknowledge::Costs { settings: Settings::new() };
    let hindsight = Some(Hindsight { entry: BLIND.to_owned(), known });
    arms.insert(at + 1, ArmPlan { label: BLIND.to_owned(), hindsight, ..arms[at].clone() });
}

/// The bound without single costs is computed or not there: where first attempts depend on answers it would be none.
pub(crate) fn computable(arms: &[ArmPlan], wants_openly: Option<bool>, fields: &Fields<'_>) {
    let blind = arms.iter().find(|arm| arm.hindsight.as_ref().is_some_and(Hindsight::is_blind));
    if let Some(arm) = blind.filter(|_| wants_openly == Some(false)) {
        let message = format!("{} is computed for an open load alone: what comes here depends on answers", arm.label);
        fields.problem("arms", message, "leave it out; open are requests of model: url");
    }
}

/// The entry of the catalogue.
const BLIND: &str = "blind";

/// All settings are the bound's own. It sits at dispatch, wherever that is.
fn costs(bounded: &Bounded, own: &mut Vec<&Entry>, path: &str, problems: &Problems) -> Foreknowledge {
    let params = bounded.params();
    own.retain(|entry| {
        let known = params.iter().any(|param| param.name == entry.key) || entry.key == "preset";
        if !known {
            let hint = match params.is_empty() {
                true => format!("leave it out: the {} knows all that it needs", bounded.name),
                false => format!("lab policies {} shows which there are", bounded.name),
            };
            problems.add(&entry.place, &join(path, &entry.key), "there is no such key", hint);
        }
        known
    });
    let settings = settings_of(own);
    let written = own.drain(..).cloned().collect();
    if let Err(found) = catalogue().check(bounded, None, &settings) {
        let written = Node { value: Value::Table(written), place: Place::Flag(String::new()) };
        for bad in found {
            let place = place_of_key(&written, &bad.key).unwrap_or(&written.place);
            problems.add(place, &join(path, &bad.key), bad.message, "");
        }
    }
    Foreknowledge::Costs { settings }
}

table! {
    /// Other keys are settings of the policy whose limit is searched for ([two bounds](#two-arms-that-know-more)).
    pub(super) struct BestStaticKeys as "BestStaticSettings" {
        of: Option<String> = by::<String, _>(of).otherwise("`concurrency`").example("queue-length"), "The policy whose limit is searched for: any with a parameter `max`";
        most: u32 = count(1..=65_536).or(512).example("256"), "The highest limit tried";
        service: Option<String> = text().example("back"), "In a tree, the service whose tasks have the limit; without it all tasks have it";
    }
}

/// Takes the keys of the search out of an arm's settings: the rest are those of the policy whose value is looked for.
fn best_value(
    search: &ValueSearch,
    own: &mut Vec<&Entry>,
    tree: Option<&Tree>,
    place: &Place,
    path: &str,
    problems: &Problems,
) -> (String, Foreknowledge) {
    let (lab, rest): (Vec<&Entry>, _) =
        own.iter().partition(|entry| names::<BestStaticKeys>().contains(&entry.key.as_str()));
    *own = rest;
    let lab = Node { value: Value::Table(lab.into_iter().cloned().collect()), place: place.clone() };
    let fields = Fields::unchecked(&lab, path, problems);
    let BestStaticKeys { of, most, service } = BestStaticKeys::read(&fields);
    let most = if fields.node("most").is_some() { most } else { search.most };
    let policy = of.unwrap_or_else(|| search.of.to_owned());
    let service = service.filter(|name| has_service(&fields, tree, name));
    let parameter = search.parameter;
    own.retain(|entry| {
        if entry.key == parameter {
            let hint = format!("leave it out, or write {policy}: {{{parameter}: …}}");
            problems.add(&entry.place, &join(path, parameter), "is what is looked for", hint);
        }
        entry.key != parameter
    });
    let found = catalogue().find(&policy);
    let is_it = |param: &Param| param.name == parameter && param.kind == ParamKind::Count;
    if !found.is_some_and(|entry| entry.is_policy() && entry.params().iter().any(is_it)) {
        let what = if parameter == "max" { "limit" } else { parameter };
        let hint = format!("of: {}, or another that has {parameter}", search.of);
        fields.problem("of", format!("{policy} has no {what} to look for"), hint);
    }
    (policy, Foreknowledge::BestValue(SearchRange { most, service, parameter: parameter.to_owned() }))
}

fn of(fields: &Fields<'_>, key: &str) -> Option<String> {
    match &fields.node(key)?.value {
        Value::Text(name) => Some(name.clone()),
        other => {
            let message = format!("expected a policy with a limit, got {}", other.shown());
            fields.wrong(key, message, "of: concurrency")
        }
    }
}

fn has_service(fields: &Fields<'_>, tree: Option<&Tree>, name: &str) -> bool {
    let names: Vec<&str> =
        tree.map_or_else(Vec::new, |tree| tree.services.iter().map(|one| one.name.as_str()).collect());
    if names.contains(&name) {
        return true;
    }
    let hint = match names.as_slice() {
        [] => "leave it out: it is about several services (target.app: tree)".to_owned(),
        names => format!("one of {}", names.join(", ")),
    };
    fields.problem("service", format!("there is no service {name:?}"), hint);
    false
}
