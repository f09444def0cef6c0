//! `target.metrics`: metrics that a service of one's own exports for Prometheus, of which an experiment reads some.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use url::Url;

use super::{
    fields::{Fields, join},
    keys::{by, table},
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
    /// What a service of your own exports ([your service](your-service.md#3-run-it)).
    #[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ExportedMetrics as "Metrics" {
        url: String = by::<String, _>(url).otherwise("/metrics").example("http://127.0.0.1:9100/metrics"), "Where the service exports them in Prometheus's text format: a path of the service, or a URL. It is asked once a second";
        read: BTreeMap<String, MetricSeries> = by::<BTreeMap<String, String>, _>(series).example("{queue: app_queue_depth, hits_per_s: cache_hits_total, db: 'pool_in_use{pool=\"db\"}'}"), "The series to read, by the names that they have in the lab. Several series of a metric are added up; a counter is shown as its growth per second";
    }
}

/// Series of one metric: those that have all these labels. Written as in Prometheus's text format: `pool_in_use{pool="db"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MetricSeries {
    /// The name of the metric.
    pub metric: String,
    /// Labels and their values.
    pub labels: BTreeMap<String, String>,
}

impl MetricSeries {
    /// The series at the beginning of a line, and what follows it; `None`: the line begins otherwise.
    ///
    /// Label values have the format's escapes `\\`, `\"` and `\n`.
    pub fn at_start(line: &str) -> Option<(Self, &str)> {
        let (metric, mut rest) = name_at_start(line)?;
        let mut labels = BTreeMap::new();
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside.trim_start();
            while !rest.starts_with('}') {
                let (label, after) = name_at_start(rest)?;
                let (value, after) = quoted(after.trim_start().strip_prefix('=')?.trim_start())?;
                labels.insert(label.to_owned(), value);
                let after = after.trim_start();
                rest = match after.strip_prefix(',') {
                    Some(next) => next.trim_start(),
                    None if after.starts_with('}') => after,
                    None => return None,
                };
            }
            rest = &rest[1..];
        }
        Some((Self { metric: metric.to_owned(), labels }, rest))
    }

    /// True if `other` is of this metric and has all these labels.
    pub fn includes(&self, other: &Self) -> bool {
        let has = |(label, value): (&String, &String)| other.labels.get(label) == Some(value);
        self.metric == other.metric && self.labels.iter().all(has)
    }
}

/// A name of letters, digits, `_` and `:`, and what follows it.
fn name_at_start(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let begins = text.chars().next().is_some_and(|first| !first.is_ascii_digit());
    (end > 0 && begins).then(|| text.split_at(end))
}

/// The value between quotation marks, and what follows them.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut chars = inside.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &inside[at + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            c => value.push(c),
        }
    }
    None
}

impl FromStr for MetricSeries {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::at_start(text.trim()).filter(|(_, rest)| rest.is_empty());
        found.map(|(series, _)| series).ok_or_else(|| format!("{text:?} is no series of Prometheus's text format"))
    }
}

impl TryFrom<String> for MetricSeries {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<MetricSeries> for String {
    fn from(series: MetricSeries) -> Self {
        series.to_string()
    }
}

impl fmt::Display for MetricSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.metric)?;
        let escaped = |value: &str| value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
        let labels: Vec<String> =
            self.labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        if labels.is_empty() { Ok(()) } else { write!(f, "{{{}}}", labels.join(",")) }
    }
}

fn url(fields: &Fields<'_>, key: &str) -> String {
    let url = fields.text(key).unwrap_or_else(|| "/metrics".to_owned());
    let no_url =
        |why: &str| fields.problem(key, format!("{url:?} {why}"), "write /metrics, or http://127.0.0.1:9100/metrics");
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
    url
}

fn series(fields: &Fields<'_>, key: &str) -> BTreeMap<String, MetricSeries> {
    let Some(node) = fields.wanted(key, "{queue: app_queue_depth}") else { return BTreeMap::new() };
    let Value::Table(entries) = &node.value else {
        fields.problem(key, node.value.unexpected(), SERIES);
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
            let hint = "small letters, digits and _: queue, hits_per_s";
            fields.problem(&at, format!("{name:?} is no name of a gauge"), hint);
        } else if TAKEN.contains(&name.as_str()) {
            let message = format!("{name} is the name of what the lab counts, or a policy decides");
            fields.problem(&at, message, format!("call it app_{name}"));
        }
        match &entry.node.value {
            Value::Text(text) => match text.parse() {
                Ok(series) => _ = found.insert(name.clone(), series),
                Err(problem) => fields.problem(&at, problem, SERIES),
            },
            other => fields.problem(&at, other.unexpected(), SERIES),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
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

    #[test]
    fn a_series_is_read_as_it_is_written() {
        for (text, shown) in [
            ("queue_depth", "queue_depth"),
            ("job:queue:sum5m", "job:queue:sum5m"),
            ("q{ pool = \"db\" , }", "q{pool=\"db\"}"),
            // A value may hold all that ends something elsewhere.
            (r#"q{b="a,b} \"c\" \\ \n",a=""}"#, r#"q{a="",b="a,b} \"c\" \\ \n"}"#),
            ("q{}", "q"),
        ] {
            let series: MetricSeries = text.parse().expect(text);
            assert_eq!(series.to_string(), shown);
            assert_eq!(shown.parse(), Ok(series));
        }
        for wrong in ["", "7up", "q{a=b}", "q{a=\"b\"", "q{a=\"b\" c=\"d\"}", "q{a=\"b}", "q 7", "a-b", "q{=\"b\"}"] {
            assert!(wrong.parse::<MetricSeries>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_series_includes_those_that_have_its_labels() {
        let of = |text: &str| text.parse::<MetricSeries>().expect(text);
        assert!(of("q").includes(&of("q{a=\"1\"}")));
        assert!(of("q{a=\"1\"}").includes(&of("q{a=\"1\",b=\"2\"}")));
        assert!(!of("q{a=\"1\"}").includes(&of("q{a=\"2\"}")));
        assert!(!of("q{a=\"1\"}").includes(&of("q")));
        assert!(!of("q").includes(&of("r")));
    }
}
