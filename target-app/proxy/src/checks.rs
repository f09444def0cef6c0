//! Problems of settings: all of them at once, each with its key.

use controllers::Place;
use live_service::{control, edge::LEAST_HEAD_BYTES};
use service_core::{class::Classification, policies::Resolved};
use spec::proxy::ProxySpec;

use super::{address::Address, error::ProxyError, page::Pages, tls, waiting_room::Room};

/// A policy at accept has no dry run: it decides whether the next connection is taken from the kernel's queue at all.
pub(super) const DRY_AT_ACCEPT: &str = "dry_run: a policy at accept decides about connections, of which none can be let pass on trial: leave dry_run off, or use a policy that decides about requests";

/// A waiting room has to keep its promises: there is no trial of it.
const DRY_WAITING_ROOM: &str =
    "dry_run: a waiting room promises turns, which it cannot do on trial: leave dry_run off, or waiting_room";

/// A policy that aims at nothing but the objective has to know the true one.
const NO_OBJECTIVE: &str = "it needs the objective, and none is given: --objective 200ms if answers are late after 200 ms (in a file: objective: {percentile: 99, response_time: 200ms})";

/// The problems of settings that need nothing of the system but files.
pub(super) fn problems(spec: &ProxySpec) -> Vec<String> {
    let mut found = of_policy(spec);
    if !control::is_private(spec.control) {
        found.push(format!("control: {} is not a loopback address; 127.0.0.1:0 is one", spec.control));
    }
    found.extend(spec.to.iter().filter_map(|url| Address::of(url).err()).map(|problem| format!("to: {problem}")));
    if spec.to.iter().any(|url| url.starts_with("https:")) {
        let made = tls::connector(spec.backend_ca.as_deref(), spec.backend_insecure);
        found.extend(made.err().map(|problem| problem.to_string()));
    }
    let path = &spec.health.path;
    if !path.is_empty() && (!path.starts_with('/') || path.parse::<http::uri::PathAndQuery>().is_err()) {
        found.push(format!("health.path: {path:?} is not a path; /health is one"));
    }
    if spec.limits.head_bytes < LEAST_HEAD_BYTES {
        let bytes = spec.limits.head_bytes;
        found.push(format!("limits.head_bytes: {bytes} bytes, and {LEAST_HEAD_BYTES} are the least"));
    }
    if let Err(problems) = Classification::by(&spec.class, spec.criticality.clone()) {
        found.extend(problems.iter().map(|problem| format!("class: {problem}")));
    }
    if let Some(room) = &spec.waiting_room {
        found.extend(Room::problems(room).iter().map(ProxyError::to_string));
    }
    if let Err(problems) = Pages::new(&spec.refusal) {
        found.extend(problems.to_string().lines().map(str::to_owned));
    }
    #[cfg(not(feature = "otel"))]
    if spec.otlp.is_some() {
        found.push(format!("otlp: {}", live_service::metrics::otlp::FigureExport::MISSING));
    }
    found
}

/// The problems of the policy, and of its dry run.
pub(super) fn of_policy(spec: &ProxySpec) -> Vec<String> {
    let mut found = Vec::new();
    let at_accept = match Resolved::at_proxy(&spec.policy) {
        Ok(chosen) => {
            if spec.objective.is_none() && chosen.factory.takes_objective() {
                found.push(format!("policy: {}: {NO_OBJECTIVE}", spec.policy.name));
            }
            chosen.place == Place::Accept
        }
        Err(unfit) => {
            let name = &unfit.name;
            found.extend(unfit.problems.iter().map(|problem| {
                let of = if problem.key == *name { String::new() } else { format!("{name}: ") };
                format!("policy: {of}{problem}")
            }));
            false
        }
    };
    if spec.dry_run && at_accept {
        found.push(DRY_AT_ACCEPT.to_owned());
    }
    if spec.dry_run && spec.waiting_room.is_some() {
        found.push(DRY_WAITING_ROOM.to_owned());
    }
    found
}

/// A problem without the numbers of the system's errors.
pub(super) fn in_words(problem: &str) -> String {
    let mut parts = problem.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, rest| text + rest.split_once(')').map_or("", |(_, rest)| rest))
}
