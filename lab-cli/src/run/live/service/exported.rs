//! Reads the metrics that a service exports, once a second, beside what its clients see: of Prometheus's text format as much as
//! single series need.
//!
//! The parser is the lab's own: `prometheus-parse` (0.2.5) ends a label value at a comma or brace in it, and a name at a colon.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use analysis::{
    live::EXPORTED_ROW,
    text::{scrubbed, suggestion},
};
use controllers::site::StageGauges;
use experiment::plan::{ExportedMetrics, MetricSeries};

use super::http::{Door, address_of};
use crate::run::sampler::Sampler;

/// The pause between two questions.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest wait for an answer.
const LONGEST_ANSWER: Duration = Duration::from_secs(2);
/// An answer of that age is no longer shown: the seconds of a service that does not answer have no gauges.
const STALE: Duration = Duration::from_secs(3);
/// The number of bytes of an answer that are read at most.
const MOST: usize = 8 << 20;

/// The thread that reads them, and what it read last.
#[derive(Debug)]
pub struct MetricsReader {
    asked: ExportedMetrics,
    sampler: Sampler<BTreeMap<String, f64>>,
    newest: Mutex<Option<(Instant, BTreeMap<String, f64>)>>,
    /// Series that were there at least once.
    seen: Arc<Mutex<BTreeSet<String>>>,
    /// Series that were missing when the reader began, in words.
    pub missing_at_first: Option<String>,
}

impl MetricsReader {
    /// Begins, after a first look. `service`: what a path is one of.
    ///
    /// # Errors
    /// There is no answer, or it is not in Prometheus's text format: the reason, in words.
    pub fn begin(asked: &ExportedMetrics, service: &Door) -> Result<Self, String> {
        let url = if asked.url.starts_with('/') { format!("{}{}", service.url, asked.url) } else { asked.url.clone() };
        let because = |cause: String| format!("target.metrics: {url}: {cause}");
        let source = Source::new(&asked.url, service).map_err(because)?;
        let first = source.text().map_err(because)?;
        let known = metrics(&first);
        // Before its first sample a registry has comments at the most.
        if known.is_empty() && !first.lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
            return Err(because("its answer is not in Prometheus's text format".to_owned()));
        }
        let mut rates = Rates::default();
        let values = rates.values(readings(&first, &asked.read), Instant::now());
        let seen = Arc::new(Mutex::new(rates.seen.clone()));
        let missing_at_first = missing(&asked.read, &rates.seen, &known);
        let (read, noted) = (asked.read.clone(), Arc::clone(&seen));
        let sampler = Sampler::begin("metrics", PAUSE, move || {
            let text = source.text().ok()?;
            let values = rates.values(readings(&text, &read), Instant::now());
            noted.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&rates.seen);
            Some(values)
        });
        let sampler = sampler.map_err(|error| because(error.to_string()))?;
        let newest = Mutex::new(Some((Instant::now(), values)));
        Ok(Self { asked: asked.clone(), sampler, newest, seen, missing_at_first })
    }

    /// The newest values, as a row of gauges. Empty if the service has not answered for some seconds.
    pub fn row(&self) -> StageGauges {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(values) = self.sampler.take() {
            *newest = Some((Instant::now(), values));
        }
        let values = newest.as_ref().filter(|(at, _)| at.elapsed() < STALE);
        let values = values.map(|(_, values)| values.clone()).unwrap_or_default();
        StageGauges { name: EXPORTED_ROW.to_owned(), policy: values, ..StageGauges::default() }
    }

    /// The series that never were there, in words.
    pub fn never_seen(&self) -> Option<String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let never: Vec<String> = self
            .asked
            .read
            .iter()
            .filter(|(name, _)| !seen.contains(*name))
            .map(|(_, series)| series.to_string())
            .collect();
        (!never.is_empty()).then(|| format!("target.metrics: never exported: {}", never.join(", ")))
    }
}

/// The source of the metrics, read on a connection of its own each time: a service may close one that is idle for a
/// second.
struct Source {
    door: Door,
    path: String,
}

impl Source {
    /// `url`: as it was written, a path of the service or a whole URL without TLS.
    fn new(url: &str, service: &Door) -> Result<Self, String> {
        if url.starts_with('/') {
            return Ok(Self { door: service.clone(), path: url.to_owned() });
        }
        let rest = url.trim_start_matches("http://");
        let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let door = Door::plain(format!("http://{host}"), address_of(host)?);
        Ok(Self { door, path: path.to_owned() })
    }

    /// The answer, or why there is none.
    fn text(&self) -> Result<String, String> {
        let own = [("accept", "text/plain")];
        match self.door.ask(&self.path, &own, MOST, LONGEST_ANSWER).map_err(|error| error.to_string())? {
            (200..300, _, body) if body.len() >= MOST => Err(format!("its answer is over {MOST} bytes")),
            (200..300, _, body) => Ok(String::from_utf8_lossy(&body).into_owned()),
            (status, ..) => Err(format!("it answers {status}")),
        }
    }
}

/// Makes values of readings: a counter becomes its growth per second.
#[derive(Debug, Default)]
struct Rates {
    before: BTreeMap<String, (Instant, f64)>,
    seen: BTreeSet<String>,
}

impl Rates {
    fn values(&mut self, readings: BTreeMap<String, Reading>, now: Instant) -> BTreeMap<String, f64> {
        self.seen.extend(readings.keys().cloned());
        readings
            .into_iter()
            .filter_map(|(name, reading)| Some((name.clone(), self.value(name, reading, now)?)))
            .collect()
    }

    fn value(&mut self, name: String, reading: Reading, now: Instant) -> Option<f64> {
        if !reading.is_counter {
            return Some(reading.value);
        }
        let (at, before) = self.before.insert(name, (now, reading.value))?;
        let seconds = now.duration_since(at).as_secs_f64();
        // A counter that has fallen is that of a process that began anew.
        (seconds > 0.0 && reading.value >= before).then(|| (reading.value - before) / seconds)
    }
}

/// Series that are not there yet, with the names that are.
fn missing(
    asked: &BTreeMap<String, MetricSeries>,
    seen: &BTreeSet<String>,
    known: &BTreeSet<String>,
) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let missing: Vec<String> = asked
        .iter()
        .filter(|(name, _)| !seen.contains(*name))
        .map(|(name, series)| {
            let hint = match known.contains(&series.metric.as_str()) {
                true => "the metric is there, with other labels".to_owned(),
                false if known.is_empty() => "nothing is exported yet".to_owned(),
                false => scrubbed(&suggestion(&series.metric, &known)),
            };
            format!("{name}: no series {series} so far ({hint})")
        })
        .collect();
    (!missing.is_empty()).then(|| format!("target.metrics: {}", missing.join("; ")))
}

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
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
        thread,
    };

    use super::*;

    #[test]
    fn a_counter_is_shown_as_its_growth_and_one_that_begins_anew_is_not() {
        let mut rates = Rates::default();
        let began = Instant::now();
        let mut at = |second: u64, value: f64, is_counter: bool| {
            let readings = [("it".to_owned(), Reading { value, is_counter })].into();
            rates.values(readings, began + Duration::from_secs(second)).get("it").copied()
        };
        assert_eq!(at(0, 100.0, true), None);
        assert_eq!(at(2, 150.0, true), Some(25.0));
        assert_eq!(at(3, 4.0, true), None, "it began anew");
        assert_eq!(at(4, 14.0, true), Some(10.0));
        assert_eq!(at(5, 3.0, false), Some(3.0), "a gauge is what it is");
    }

    /// A service that gives this answer to whoever asks; `None`: none, and the connection stays.
    fn service(answer: Option<&'static str>) -> Door {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || {
            let mut open = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 1024]);
                if let Some(answer) = answer {
                    let _ = stream.write_all(answer.as_bytes());
                } else {
                    open.push(stream);
                }
            }
        });
        Door::plain(format!("http://{address}"), address)
    }

    #[test]
    fn what_is_no_answer_is_told_with_its_place() {
        let read = [("q".to_owned(), "app_queue".parse().expect("a series"))].into();
        let asked = ExportedMetrics { url: "/metrics".to_owned(), read };
        let told = |answer| MetricsReader::begin(&asked, &service(answer)).map(|reader| reader.missing_at_first);
        assert_eq!(told(Some("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\napp_queue 3\n")), Ok(None));
        // Nothing is exported yet.
        let early = told(Some("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")).expect("it is early");
        assert!(early.as_deref().is_some_and(|early| early.contains("no series app_queue so far")), "{early:?}");
        for (answer, wanted) in [
            (Some("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), "/metrics: it answers 404"),
            (Some("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n<html>\n"), "not in Prometheus's text format"),
            (Some("hello\n"), "it does not answer in HTTP/1"),
            (None, "no answer within 2 s"),
        ] {
            let told = told(answer).expect_err(wanted);
            assert!(told.starts_with("target.metrics: http://127.0.0.1:") && told.contains(wanted), "{told}");
        }
    }

    #[test]
    fn a_series_that_is_not_there_is_told_with_the_nearest_name() {
        let asked = [("q", "app_que"), ("p", "pool{a=\"b\"}")]
            .map(|(name, series)| (name.to_owned(), series.parse().expect(series)));
        let known = ["app_queue", "pool"].map(str::to_owned).into();
        let told = missing(&asked.into(), &BTreeSet::new(), &known).expect("two are missing");
        assert!(told.contains("p: no series pool{a=\"b\"} so far (the metric is there, with other labels)"), "{told}");
        assert!(told.contains("q: no series app_que so far (did you mean app_queue?)"), "{told}");
    }
}

#[cfg(test)]
mod exposition_tests {
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
