//! Arms on a service of one's own: policies are placed in the lab's proxy before it, or on the users' side.

use controllers::{Entry, Place as Seat, catalogue::PolicySpec};
use installed::catalogue;
use workloads::plan::{ClientPolicy, ClientScope};

use super::{
    fields::join,
    plan::ArmPlan,
    policy::{key_of_place, place_of_key, resolved},
    problem::Problems,
    raw::Node,
};

/// The places of such an arm's policy.
const WORDS: &str = "scope: proxy (the default), or scope: client";

/// `scope: proxy` of a policy whose places do not name it: it sits in the proxy as at dispatch, and is checked as there.
pub fn at_the_proxy(policy: &mut PolicySpec) {
    let Ok((entry, _)) = catalogue().resolve(&policy.name, &policy.settings) else { return };
    if policy.place == Some(Seat::Proxy) && !entry.places.contains(&Seat::Proxy) && entry.places.contains(&Seat::Single)
    {
        policy.place = None;
    }
}

/// Puts a checked policy into its place. `node`, `settings`: the arm as written.
pub fn seated(arm: &mut ArmPlan, node: &Node, settings: Option<&Node>, path: &str, problems: &Problems) {
    let Some(entry) = catalogue().find(&arm.policy.name) else { return };
    let key = key_of_place(settings);
    let scope_path = join(path, key);
    let place = settings.and_then(|settings| place_of_key(settings, key)).unwrap_or(&node.place);
    if arm.own_target.take().is_some() {
        let hint = "start it with other settings in an experiment of its own, and lab compare both runs";
        problems.add(&node.place, &join(path, "target"), "the lab cannot change a service of your own", hint);
    }
    let seat = arm.policy.place.take().unwrap_or(Seat::Proxy);
    match seat {
        Seat::Client => on_clients(arm, entry, &scope_path, place, problems),
        Seat::Proxy | Seat::Single if before_services(entry) => arm.policy.place = Some(Seat::Proxy),
        Seat::Proxy | Seat::Single => {
            let places: Vec<_> = entry.places.iter().map(|place| place.scope()).collect();
            let message = format!("{} does not sit before a whole service, but at: {}", entry.name, places.join(", "));
            problems.add(
                place,
                &scope_path,
                message,
                "lab policies shows which do: proxy or single is among their places",
            );
        }
        Seat::Accept | Seat::Stage => {
            let scope = seat.scope();
            problems.add(place, &scope_path, format!("a service of your own has no place {scope:?}"), WORDS);
        }
    }
    if arm.direct && arm.policy.name != "none" {
        let hint = "write none: {as: direct, direct: true}";
        problems.add(&node.place, &join(path, "direct"), "past the proxy nobody decides", hint);
    }
    // Only the services of a tree exchange reports of usage and quotas.
    let alone = PolicySpec { place: Some(Seat::Single), ..arm.policy.clone() };
    let carried = if entry.places.contains(&Seat::Single) { resolved(&alone, false).err() } else { None };
    for bad in carried.map(|unfit| unfit.problems).unwrap_or_default() {
        problems.add(&node.place, &join(path, &bad.key), bad.message, "");
    }
}

/// True if a policy can be placed before a service as a whole, as in a proxy.
fn before_services(entry: &Entry) -> bool {
    entry.places.iter().any(|place| matches!(place, Seat::Proxy | Seat::Single))
}

/// `{vegas: {scope: client}}`: the policy is placed on the users' side, and the proxy admits everything.
fn on_clients(arm: &mut ArmPlan, entry: &Entry, path: &str, place: &super::problem::Place, problems: &Problems) {
    if !entry.places.contains(&Seat::Client) {
        problems.add(place, path, format!("{} does not sit on the users' side", entry.name), "scope: proxy");
        return;
    }
    let none = ArmPlan::none().policy;
    let PolicySpec { name, settings, .. } =
        std::mem::replace(&mut arm.policy, PolicySpec { place: Some(Seat::Proxy), ..none });
    arm.client = Some(ClientPolicy { policy: name, settings, scope: ClientScope::default() });
}
