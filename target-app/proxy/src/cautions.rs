//! Settings that are right, and do nothing.

use std::os::unix::fs::PermissionsExt;

use controllers::{Settings, catalogue::Setting, classify::ClassRule};
use service_core::policies::Resolved;
use spec::proxy::{ProxySpec, TlsSpec};

/// Settings that the policy does not follow, each with the way out.
pub(super) fn cautions(spec: &ProxySpec) -> Vec<String> {
    let policies = policies(spec);
    let by_class = policies.iter().any(|(name, settings)| tells_classes_apart(name, settings));
    let by_criticality = policies.iter().any(|(name, settings)| tells_criticality_apart(name, settings));
    // A waiting room tells how hard requests are by their class.
    let ruled = spec.class != ClassRule::default() && spec.waiting_room.is_none();
    let by_customer = policies.iter().any(|(name, settings)| tells_customers_apart(name, settings));
    let name = &spec.policy.name;
    let said = [
        (ruled && by_criticality && spec.criticality.is_empty()).then(|| {
            format!(
                "class: {name} goes by criticality, and nothing says which that of a class is: criticality: {{0: SHEDDABLE, 1: CRITICAL}} lets class 1 \
                 in first"
            )
        }),
        (ruled && !by_class && !by_criticality && name != "none").then(|| {
            format!(
                "class: {name} does not tell classes apart: one is refused like another; compose: {{limit: gradient2, shares: {{1: 1}}}} lets class 1 \
                 in first, and seda with classes: 3, sentry, and dagor with business: class tell them apart too"
            )
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
            "policy: it tells customers apart, and what strangers say in X-Customer does not count: all requests are one customer's; \
             headers: {trust_criticality: true} believes it, for clients that are your own"
                .to_owned()
        }),
        guesses_workers(spec).then(|| {
            format!(
                "concurrency: {name} lets {} requests in to each service and holds the others, and that number is a guess: say how many a service \
                 works on at once, or let a limit make the room, as compose: {{limit: gradient2, queue: codel}} does",
                spec.concurrency
            )
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

/// True if the policy has to know the number of workers, and that is the one that stands where nobody says it.
fn guesses_workers(spec: &ProxySpec) -> bool {
    let counts = |made: Resolved| made.factory.counts_workers(made.place);
    spec.concurrency == ProxySpec::default().concurrency && Resolved::at_proxy(&spec.policy).is_ok_and(counts)
}

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
    let is = |key: &str, word: &str| settings.get(key) == Some(&Setting::Text(word.to_owned()));
    match name {
        "sentry" | "class-queues" => true,
        "dagor" => is("business", "class"),
        "fair-queue" => is("by", "class"),
        "compose" => settings.contains_key("shares") && (is("share_by", "class") || !settings.contains_key("share_by")),
        _ => settings.contains_key("classes") || settings.contains_key("class_targets"),
    }
}

/// Those of `docs/policies.md` that go by criticality.
fn tells_criticality_apart(name: &str, settings: &Settings) -> bool {
    let is_criticality = |key: &str| settings.get(key) == Some(&Setting::Text("criticality".to_owned()));
    match name {
        "headway" | "utilization" | "sre" | "saturation" => true,
        "dagor" => !settings.contains_key("business") || is_criticality("business"),
        "fair-queue" => is_criticality("by"),
        "compose" => settings.contains_key("shares") && is_criticality("share_by"),
        _ => false,
    }
}

fn tells_customers_apart(name: &str, settings: &Settings) -> bool {
    let is_customer = |key: &str| settings.get(key) == Some(&Setting::Text("customer".to_owned()));
    match name {
        "quota" => true,
        "sre" => settings.contains_key("limits"),
        "fair-queue" => is_customer("by") || !settings.contains_key("by"),
        "compose" => settings.contains_key("shares") && is_customer("share_by"),
        _ => false,
    }
}
