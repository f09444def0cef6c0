//! Settings that are right, and do nothing.

use std::os::unix::fs::PermissionsExt;

use controllers::{Settings, catalogue::Setting, classify::ClassRule};
use spec::proxy::{ProxySpec, TlsSpec};

/// Settings that the policy does not follow, each with the way out.
pub(super) fn cautions(spec: &ProxySpec) -> Vec<String> {
    let policies = policies(spec);
    let by_class = policies.iter().any(|(name, settings)| tells_classes_apart(name, settings));
    // A waiting room tells how hard requests are by their class.
    let ruled = spec.class != ClassRule::default() && spec.waiting_room.is_none();
    let by_customer = policies.iter().any(|(name, settings)| tells_customers_apart(name, settings));
    let name = &spec.policy.name;
    let said = [
        (ruled && !by_class && name != "none").then(|| {
            format!("class: {name} does not tell classes apart: one is refused like another; seda with classes: 3, sentry, and dagor with business: class do")
        }),
        (by_class && spec.class == ClassRule::default()).then(|| {
            "policy: it decides by class, and all requests are of class 0: say with class: what tells them apart".to_owned()
        }),
        (name == "dagor").then(|| {
            "policy: dagor judges how long requests wait here, and by itself makes none wait: it refuses nothing. \
             compose: {scope: single, select: dagor, queue: codel} keeps a queue"
                .to_owned()
        }),
        (by_customer && !spec.headers.trust_criticality).then(|| {
            "policy: it has a limit for each customer, and what strangers say in X-Customer does not count: all requests are one customer's; \
             headers: {trust_criticality: true} believes it, for clients that are your own"
                .to_owned()
        }),
        spec.tls.as_ref().and_then(of_key),
    ];
    said.into_iter().flatten().collect()
}

/// The caution about a key that anybody on this machine can read.
fn of_key(tls: &TlsSpec) -> Option<String> {
    let mode = std::fs::metadata(&tls.key).ok()?.permissions().mode() & 0o777;
    let key = tls.key.display();
    (mode & OTHERS_READ != 0)
        .then(|| format!("tls.key: {key} can be read by every user of this machine (mode {mode:o}): chmod 600 {key}"))
}

const OTHERS_READ: u32 = 0o004;

/// The policy, or the parts of a composition.
fn policies(spec: &ProxySpec) -> Vec<(&str, Settings)> {
    let whole = (spec.policy.name.as_str(), spec.policy.settings.clone());
    spec.policy.settings.values().flat_map(part).chain([whole]).collect()
}

fn part(setting: &Setting) -> Vec<(&str, Settings)> {
    match setting {
        Setting::Text(name) => vec![(name.as_str(), Settings::new())],
        Setting::Map(named) => named.iter().map(|(name, own)| (name.as_str(), of(own))).collect(),
        Setting::Flag(_) | Setting::Number(_) => Vec::new(),
    }
}

fn of(own: &Setting) -> Settings {
    if let Setting::Map(settings) = own { settings.clone() } else { Settings::new() }
}

fn tells_classes_apart(name: &str, settings: &Settings) -> bool {
    match name {
        "sentry" => true,
        "dagor" => settings.get("business") == Some(&Setting::Text("class".to_owned())),
        _ => settings.contains_key("classes") || settings.contains_key("class_targets"),
    }
}

fn tells_customers_apart(name: &str, settings: &Settings) -> bool {
    name == "quota" || (name == "sre" && settings.contains_key("limits"))
}
