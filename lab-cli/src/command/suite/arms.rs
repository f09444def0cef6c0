//! Arms of a suite: who runs, and where each policy sits in a scenario.

use controllers::{
    Place, Settings,
    catalogue::{PolicySpec, name_hint},
};
use experiment::plan::ArmPlan;
use installed::catalogue;
use workloads::plan::ClientScope;

use crate::{args::SuiteArgs, exit::Failure};

/// The policy that every other is held against, and the arm that gives way in a scenario's file.
pub const NONE: &str = "none";

/// Policies that run where nobody asks for others: what adapts by itself and can be deployed as it comes.
const ADAPTIVE: [&str; 9] =
    ["seda", "utilization", "aimd", "vegas", "gradient2", "codel", "fail-at-scale", "dagor", "headway"];

/// Names of the policies, `none` first and each once.
pub fn contenders(args: &SuiteArgs) -> Result<Vec<String>, Failure> {
    let adaptive = ADAPTIVE.into_iter().map(str::to_owned);
    let wanted: Vec<String> = if args.all {
        let all = catalogue().entries().filter(|entry| entry.is_policy() && entry.bound().is_none());
        all.map(|entry| entry.name.to_owned()).chain(adaptive).collect()
    } else if args.policies.is_empty() {
        adaptive.collect()
    } else {
        args.policies.iter().map(|name| known(name).map(|_| name.clone())).collect::<Result<_, _>>()?
    };
    let mut policies = vec![NONE.to_owned()];
    for name in wanted {
        if !policies.contains(&name) {
            policies.push(name);
        }
    }
    Ok(policies)
}

/// The policy of this name, or that of the preset of this name, with its settings.
pub fn known(name: &str) -> Result<PolicySpec, Failure> {
    let unknown = || {
        let hint = name_hint(name, &catalogue().policy_names());
        Failure::usage(format!("--policy {name}: there is no such policy; {hint}"))
    };
    let (entry, settings) = catalogue().resolve(name, &Settings::new()).map_err(|_| unknown())?;
    match entry.is_policy() {
        true => Ok(PolicySpec { name: entry.name.to_owned(), place: None, settings }),
        false => Err(Failure::usage(format!("--policy {name}: it decides nothing: it is a machine"))),
    }
}

/// The arm of a policy, as a file has it: where the scenario's own arm has its `none`, before the whole service if the policy
/// can sit there. One that sits with senders alone is placed with all users together. `settings`: `KEY: VALUE`.
pub fn written(policy: &str, place: &ArmPlan, settings: &[String]) -> String {
    let with = |scope: Option<&str>| {
        let scope = scope.map(|scope| format!("scope: {scope}"));
        let all: Vec<&str> = scope.iter().chain(settings).map(String::as_str).collect();
        if all.is_empty() { policy.to_owned() } else { format!("{policy}: {{{}}}", all.join(", ")) }
    };
    let at_senders = |sits: String| match sits == policy {
        true => format!("{NONE}: {{as: {policy}, client: {policy}}}"),
        false => format!("{NONE}: {{as: {policy}, client: {{{sits}}}}}"),
    };
    if let Some(client) = &place.client {
        return at_senders(with(Some(&match client.scope {
            ClientScope::All => "all".to_owned(),
            ClientScope::User => "user".to_owned(),
            ClientScope::Group(users) => format!("{{group: {users}}}"),
        })));
    }
    let Some(seat) = seat(policy) else { return at_senders(with(None)) };
    let placed = with(Some(seat.scope()));
    if place.services.is_empty() {
        return placed;
    }
    let services: Vec<String> = place.services.keys().map(|service| format!("{service}: {{{placed}}}")).collect();
    format!("{NONE}: {{as: {policy}, services: {{{}}}}}", services.join(", "))
}

/// The place in a service; `None`: it has none there.
fn seat(policy: &str) -> Option<Place> {
    let (entry, _) = catalogue().resolve(policy, &Settings::new()).ok()?;
    let places = [Place::Single, Place::Stage, Place::Accept];
    places.into_iter().find(|place| entry.places.contains(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_sits_where_the_file_has_its_none() {
        let whole = ArmPlan::none();
        let arms = ["codel", "mm1", "throttle", "fail-at-scale"].map(|policy| written(policy, &whole, &[]));
        assert_eq!(
            arms,
            [
                "codel: {scope: single}",
                "mm1: {scope: per-stage}",
                "none: {as: throttle, client: throttle}",
                "fail-at-scale: {scope: single}"
            ]
        );
        let doors = ArmPlan { services: [("door".to_owned(), whole.policy.clone())].into(), ..ArmPlan::none() };
        assert_eq!(written("codel", &doors, &[]), "none: {as: codel, services: {door: {codel: {scope: single}}}}");
        let settings = ["k: 3".to_owned(), "window: 2s".to_owned()];
        let of = |policy, place| written(policy, place, &settings);
        assert_eq!(of("throttle", &whole), "none: {as: throttle, client: {throttle: {k: 3, window: 2s}}}");
        assert_eq!(of("codel", &whole), "codel: {scope: single, k: 3, window: 2s}");
    }
}
