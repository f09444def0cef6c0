//! `target.metrics`: which metrics of a service of one's own are read, and where.

use std::collections::BTreeMap;

use url::Url;

use super::{
    fields::{Fields, join},
    keys::{Table, by, table, text},
    plan::{ExportedMetrics, MetricSeries},
    raw::Value,
};

/// Metrics that are read at most: each is a gauge in every second of the timeline.
const MOST: usize = 32;
/// Names under which the lab shows what it counts itself, and what policies decide.
const TAKEN: [&str; 13] = [
    "offered",
    "admitted",
    "refused",
    "completed",
    "limit",
    "admission_rate_per_s",
    "admission_level",
    "admission_fraction",
    "reject_probability",
    "reject_probability_critical",
    "dropping",
    "quality",
    "p90_ms",
];
const SERIES: &str = "write queue: app_queue_depth, or db: 'pool_in_use{pool=\"db\"}'";

table! {
    /// Metrics that a service exports.
    pub(super) struct MetricsKeys as "Metrics" {
        url: Option<String> = text().otherwise("/metrics").example("http://127.0.0.1:9100/metrics"), "Where the service exports them in Prometheus's text format: a path of the service, or a URL. It is asked once a second";
        read: BTreeMap<String, MetricSeries> = by::<BTreeMap<String, String>, _>(series).example("{queue: app_queue_depth, hits_per_s: cache_hits_total, db: 'pool_in_use{pool=\"db\"}'}"), "The series to read, by the names that they have in the lab. Several series of a metric are added up; a counter is shown as its growth per second";
    }
}

/// Reads the table.
pub(super) fn exported_metrics(fields: &Fields<'_>, key: &str) -> Option<ExportedMetrics> {
    let node = fields.node(key)?;
    let inner = Fields::of_table::<MetricsKeys>(node, &fields.path(key), fields.problems())?;
    let MetricsKeys { url, read } = MetricsKeys::read(&inner);
    if inner.node("read").is_none() {
        inner.missing("read", "{queue: app_queue_depth}");
    }
    let url = url.unwrap_or_else(|| "/metrics".to_owned());
    let no_url =
        |why: &str| inner.problem("url", format!("{url:?} {why}"), "write /metrics, or http://127.0.0.1:9100/metrics");
    match Url::parse(&url) {
        _ if url.starts_with('/') && !url.contains(|c: char| c.is_whitespace() || c.is_control()) => {}
        Ok(parsed) if parsed.scheme() != "http" || parsed.host_str().is_none_or(str::is_empty) => {
            no_url("is not plain HTTP");
        }
        Ok(parsed) if !parsed.username().is_empty() || parsed.password().is_some() => {
            no_url("holds a password, which a run's files must not");
        }
        Ok(_) => {}
        Err(_) => no_url("is neither a path nor a URL"),
    }
    Some(ExportedMetrics { url, read })
}

fn series(fields: &Fields<'_>, key: &str) -> BTreeMap<String, MetricSeries> {
    let Some(node) = fields.node(key) else { return BTreeMap::new() };
    let Value::Table(entries) = &node.value else {
        fields.problem(key, format!("unexpected {}", node.value.shown()), SERIES);
        return BTreeMap::new();
    };
    if entries.is_empty() || entries.len() > MOST {
        fields.problem(key, format!("it names {} series", entries.len()), format!("1 to {MOST}"));
    }
    let mut found = BTreeMap::new();
    for entry in entries {
        let (name, at) = (&entry.key, join(key, &entry.key));
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_word) {
            fields.problem(
                &at,
                format!("{name:?} is no name of a gauge"),
                "small letters, digits and _: queue, hits_per_s",
            );
        } else if TAKEN.contains(&name.as_str()) {
            fields.problem(
                &at,
                format!("{name} is the name of what the lab counts, or a policy decides"),
                format!("call it app_{name}"),
            );
        }
        match &entry.node.value {
            Value::Text(text) => match text.parse() {
                Ok(series) => _ = found.insert(name.clone(), series),
                Err(problem) => fields.problem(&at, problem, SERIES),
            },
            other => fields.problem(&at, format!("unexpected {}", other.shown()), SERIES),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::{Changes, plan::AppPlan, read};

    fn metrics(table: &str) -> Result<String, String> {
        let file = format!(
            "name: x\ntarget: {{url: \"http://127.0.0.1:1\", metrics: {table}}}\n\
             objective: {{percentile: 90, response_time: 1s}}\n\
             users: {{model: url, phases: [{{requests: 5/s, for: 3s}}]}}\narms: [none]\n"
        );
        let read = read(&file, &Changes::default());
        let read = read.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
        let AppPlan::Own(own) = read.target.app else { panic!("a service of one's own") };
        Ok(serde_json::to_string(&own.metrics).expect("JSON"))
    }

    #[test]
    fn series_are_read_by_the_lab_s_names() {
        assert_eq!(
            metrics("{read: {queue: app_queue, db: 'pool_in_use{pool=\"db\"}'}}").expect("it is good"),
            r#"{"url":"/metrics","read":{"db":"pool_in_use{pool=\"db\"}","queue":"app_queue"}}"#
        );
        assert!(metrics("{url: 'http://127.0.0.1:9100/m', read: {q: q}}").expect("it is good").contains(":9100/m"));
    }

    #[test]
    fn problems_have_places_and_ways_out() {
        for (table, place, wanted) in [
            ("{}", "target.metrics.read", "is missing"),
            ("{read: {}}", "target.metrics.read", "0 series"),
            ("{read: [q]}", "target.metrics.read", "unexpected a list"),
            ("{read: {q: 'q{a=b}'}}", "target.metrics.read.q", "no series"),
            ("{read: {q: 7}}", "target.metrics.read.q", "unexpected 7"),
            ("{read: {Queue: q}}", "target.metrics.read.Queue", "small letters"),
            ("{read: {refused: q}}", "target.metrics.read.refused", "call it app_refused"),
            ("{read: {limit: q}}", "target.metrics.read.limit", "a policy decides"),
            ("{url: metrics, read: {q: q}}", "target.metrics.url", "neither a path nor a URL"),
            ("{url: 'https://h/m', read: {q: q}}", "target.metrics.url", "plain HTTP"),
            ("{url: 'http://a:b@h/m', read: {q: q}}", "target.metrics.url", "password"),
            ("{path: /m, read: {q: q}}", "target.metrics.path", "there is no such key"),
        ] {
            let told = metrics(table).expect_err(table);
            assert!(told.contains(place) && told.contains(wanted), "{table}: {told}");
        }
    }
}
