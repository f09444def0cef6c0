//! Metrics that a service exports for Prometheus, of which an experiment reads some.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The metrics of a service to read, once a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedMetrics {
    /// A path of the service, or a URL of its own.
    pub url: String,
    /// The series to read, by the names under which the lab shows them.
    pub read: BTreeMap<String, MetricSeries>,
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

#[cfg(test)]
mod tests {
    use super::*;

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
