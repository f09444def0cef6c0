//! Arms of a suite: who runs, and where each policy sits in a scenario.

use controllers::{Place, Settings, catalogue::name_hint};
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
        args.policies.iter().map(|name| is_policy(name).map(|()| name.clone())).collect::<Result<_, _>>()?
    };
    let mut policies = vec![NONE.to_owned()];
    for name in wanted {
        if !policies.contains(&name) {
            policies.push(name);
        }
    }
    Ok(policies)
}

fn is_policy(name: &str) -> Result<(), Failure> {
    let unknown = || {
        let hint = name_hint(name, &catalogue().policy_names());
        Failure::usage(format!("--policy {name}: there is no such policy; {hint}"))
    };
    let (entry, _) = catalogue().resolve(name, &Settings::new()).map_err(|_| unknown())?;
    let decides = entry.is_policy();
    if decides { Ok(()) } else { Err(Failure::usage(format!("--policy {name}: it decides nothing: it is a machine"))) }
}

/// The arm of a policy, as a file has it: where the scenario's own arm has its `none`, before the whole service if the policy
/// can sit there. One that sits with senders alone is placed with all users together.
pub fn written(policy: &str, place: &ArmPlan) -> String {
    if let Some(client) = &place.client {
        let scope = match client.scope {
            ClientScope::All => "all".to_owned(),
            ClientScope::User => "user".to_owned(),
            ClientScope::Group(users) => format!("{{group: {users}}}"),
        };
        return format!("{NONE}: {{as: {policy}, client: {{{policy}: {{scope: {scope}}}}}}}");
    }
    let Some(seat) = seat(policy) else { return format!("{NONE}: {{as: {policy}, client: {policy}}}") };
    let placed = format!("{policy}: {{scope: {}}}", seat.scope());
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
        let arms = ["codel", "mm1", "throttle", "fail-at-scale"].map(|policy| written(policy, &whole));
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
        assert_eq!(written("codel", &doors), "none: {as: codel, services: {door: {codel: {scope: single}}}}");
    }
}
