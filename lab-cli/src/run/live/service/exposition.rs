//! Prometheus's text format, as far as single series are read from it.
//!
//! The parser is the lab's own: `prometheus-parse` (0.2.5) ends a label value at a comma or brace in it, and a name at a colon.

use std::collections::{BTreeMap, BTreeSet};

use experiment::plan::MetricSeries;

/// The sum of the values of the series that were asked for together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// The sum.
    pub value: f64,
    /// It only grows, but when its process begins anew.
    pub is_counter: bool,
}

/// Values of these series in the text; those that it does not have are left out, and so are values that are no finite
/// numbers.
pub fn readings(text: &str, asked: &BTreeMap<String, MetricSeries>) -> BTreeMap<String, Reading> {
    let types = types(text);
    let mut found: BTreeMap<String, Reading> = BTreeMap::new();
    for (series, value) in samples(text) {
        for (name, _) in asked.iter().filter(|(_, asked)| asked.includes(&series)) {
            let is_counter = is_counter(&series.metric, &types);
            found.entry(name.clone()).or_insert(Reading { value: 0.0, is_counter }).value += value;
        }
    }
    found
}

/// The names of all metrics of the text.
pub fn metrics(text: &str) -> BTreeSet<String> {
    samples(text).map(|(series, _)| series.metric).collect()
}

fn samples(text: &str) -> impl Iterator<Item = (MetricSeries, f64)> {
    text.lines().filter_map(|line| {
        let (series, rest) = MetricSeries::at_start(line.trim_start())?;
        // A time may follow, and an example of OpenMetrics.
        let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
        value.is_finite().then_some((series, value))
    })
}

/// The types of families of metrics.
fn types(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(typed).collect()
}

/// `# TYPE app_queue gauge`: the family and its type.
fn typed(line: &str) -> Option<(&str, &str)> {
    let mut words = line.strip_prefix('#')?.split_whitespace();
    (words.next()? == "TYPE").then_some((words.next()?, words.next()?))
}

fn is_counter(metric: &str, types: &BTreeMap<&str, &str>) -> bool {
    let family = |suffix: &str| metric.strip_suffix(suffix).and_then(|family| types.get(family)).copied();
    let of_distribution =
        || ["_bucket", "_sum", "_count"].into_iter().any(|end| matches!(family(end), Some("histogram" | "summary")));
    match types.get(metric) {
        Some(kind) => *kind == "counter",
        // OpenMetrics names the family of a counter without its ending.
        None => metric.ends_with("_total") || of_distribution(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# HELP app_queue Jobs that wait.
# TYPE app_queue gauge
app_queue{pool="db"} 3
app_queue{pool="a,b} c"} 4 1395066363000
# TYPE http_requests_total counter
http_requests_total{code="200"} 1.5e3
# TYPE seconds histogram
seconds_bucket{le="+Inf"} 9
seconds_sum 2.5
seconds_count 9
untyped_total 8
nothing NaN
endless +Inf
broken{a="b
app_free 0.5 # {trace="x"} 1
"#;

    fn of(name: &str) -> Option<(f64, bool)> {
        let asked = [("it".to_owned(), name.parse().expect(name))].into();
        readings(TEXT, &asked).get("it").map(|reading| (reading.value, reading.is_counter))
    }

    #[test]
    fn series_of_a_metric_are_added_up_and_counters_told_apart() {
        assert_eq!(of("app_queue"), Some((7.0, false)));
        assert_eq!(of("app_queue{pool=\"db\"}"), Some((3.0, false)));
        assert_eq!(of("app_queue{pool=\"a,b} c\"}"), Some((4.0, false)));
        assert_eq!(of("http_requests_total"), Some((1500.0, true)));
        assert_eq!(of("seconds_sum"), Some((2.5, true)));
        assert_eq!(of("seconds_bucket"), Some((9.0, true)));
        assert_eq!(of("untyped_total"), Some((8.0, true)));
        assert_eq!(of("app_free"), Some((0.5, false)));
    }

    #[test]
    fn what_has_no_finite_value_or_is_not_there_is_left_out() {
        for name in ["nothing", "endless", "broken", "app_queue{pool=\"x\"}", "app"] {
            assert_eq!(of(name), None, "{name}");
        }
        assert!(readings("<html>no metrics</html>", &[("q".to_owned(), "q".parse().expect("q"))].into()).is_empty());
        assert!(metrics(TEXT).contains("app_free") && !metrics(TEXT).contains("broken"));
    }
}
