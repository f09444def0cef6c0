//! Calls between services of a tree.

use std::{ops::RangeInclusive, time::Duration};

use analysis::text::suggestion;
use schemars::json_schema;
use serde::{Deserialize, Serialize};
use spec::services::{CallLink, CallSpec, WhenRefused};
use workloads::plan::ClientPolicy;

use super::{
    client::client_key,
    fields::Fields,
    keys::{Table, by, choice, count, first_of, flag, free, number, shapes, table, table_of, time},
    policy::Policy,
    raw::{Node, Value},
};

const TIMES: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);
const WAYS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(60);
const WHEN_REFUSED: &[(&str, WhenRefused)] = &[
    ("overloaded", WhenRefused::Overloaded),
    ("dont-retry", WhenRefused::DontRetry),
    ("degrade", WhenRefused::Degrade),
];

table! {
    /// A call is the name of a service, or a table.
    pub(super) struct CallKeys as "Call" for CallSpec {
        to = free::<String>().required(), "The service to call";
        times: u32 = count(1..=1000).or(1), "Calls for each request";
        probability: f64 = number(0.0..=1.0).or(1.0), "Probability of each of them, drawn for every request, the same live and in virtual time";
        attempts: u8 = count(1..=100).or(1).example("3"), "Most attempts of a call, including the first; a refused one is repeated at once";
        heed_dont_retry: bool = flag().or(true), "An answer with \"don't retry\" ends the attempts";
        when_refused: WhenRefused = first_of(WHEN_REFUSED), "The answer to a request one of whose calls was refused in the end";
        timeout: Duration = time(TIMES).or(Duration::from_secs(10)), "Longest wait for all attempts together; never longer than the request's own sender waits";
        connections: u32 = count(0..=100_000).or(0), "Most connections of a task; 0: no limit";
        link: Option<CallLink> = table_of::<CallLinkKeys>().example("{delay: 40ms}").otherwise("as `virtual.link`, without jitter"), "The way to the called service, in virtual time alone";
        client: Option<ClientPolicy> = by::<Policy, _>(client_key).example("retry-budget"), "A policy on the caller's side";
        ..CallSpec::to("")
    }

    /// The way to the called service. Nothing is lost there.
    pub(super) struct CallLinkKeys as "CallLink" for CallLink {
        delay: Duration = time(WAYS).wanted("40ms").filled(), "One-way delay";
        jitter: Duration = time(WAYS).or(Duration::ZERO).example("10ms"), "Largest additional delay of a call or its answer, drawn uniformly";
    }

    /// What is different about all calls of a tree; the rest is as each call has it.
    #[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct CallChanges as "CallChanges" {
        attempts: Option<u8> = count(1..=100), "Most attempts of a call, including the first";
        heed_dont_retry: Option<bool> = flag(), "An answer with \"don't retry\" ends the attempts";
        when_refused: Option<WhenRefused> = choice::<_, String>(WHEN_REFUSED), "The answer to a request one of whose calls was refused in the end";
        client: Option<ClientPolicy> = by::<Policy, _>(client_key).example("retry-budget"), "A policy on the caller's side";
    }
}

shapes! {
    CallOrName as "CallOrName" = |generator| json_schema!({"anyOf": [{"type": "string"}, generator.subschema_for::<CallKeys>()]});
}

/// Reads a call: the name of a service among those `after` the caller, or a table.
pub(super) fn call(node: &Node, of: &Fields<'_>, after: &[&str]) -> Option<CallSpec> {
    let problems = of.problems();
    let path = of.path("calls");
    let call = match &node.value {
        Value::Text(to) => CallSpec::to(to),
        _ => {
            let fields = Fields::of_table::<CallKeys>(node, &path, problems)?;
            fields.wanted("to", "back")?;
            CallSpec { to: fields.text("to")?, ..CallKeys::read(&fields) }
        }
    };
    if !after.contains(&call.to.as_str()) {
        let message = format!("no service below this one is called {:?}", call.to);
        let hint = format!("{}; calls go down the list", suggestion(&call.to, after));
        return problems.wrong(&node.place, &path, message, hint);
    }
    Some(call)
}
