//! Notes of a request beside the ledger: times for the metrics, and its line in the log.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use controllers::{Class, Reason, Timestamp};
use http::request::Parts;
use live_service::clock::ServiceClock;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use serde::Serialize;
use service_core::request::LedgerEnding;
use spec::proxy::LogLevel;

use super::log::Log;

/// Observers of requests.
#[derive(Debug)]
pub(super) struct Observers {
    clock: ServiceClock,
    /// The times of requests, if somebody reads them.
    times: OnceLock<Times>,
    /// The log, unless it is off.
    log: Option<Log>,
}

/// Times of requests, seconds.
#[derive(Debug)]
pub(super) struct Times {
    /// From the head of the request to the end of the answer, by the class of its status.
    pub(super) whole: [Histogram; CLASSES.len()],
    /// From the head of the request to the head of a backend's answer.
    pub(super) to_head: Histogram,
    /// Requests that the policy was asked about, by class and outcome.
    by_class: Vec<[AtomicU64; OUTCOMES.len()]>,
    /// The observer of each time as it comes.
    pub(super) exported: OnceLock<Box<dyn TimesReader>>,
}

/// A reader of times that has no use for histograms of Prometheus.
pub(super) trait TimesReader: std::fmt::Debug + Send + Sync {
    /// A request has ended with a status of this class, after so many seconds.
    fn ended(&self, class: &'static str, seconds: f64);

    /// The head of a backend's answer has come.
    fn answered(&self, seconds: f64);
}

/// Classes of status codes. `none`: the client left before there was one.
pub(super) const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// The words for the ends of a request.
const OUTCOMES: [&str; 5] = ["served", "refused", "error", "client_error", "client_gone"];
/// The outcome of a request whose client left before the end.
const GONE: usize = 4;

/// Bounds of buckets from 1 ms to 65 s, each twice the one before.
pub(super) fn buckets() -> impl Iterator<Item = f64> {
    exponential_buckets(0.001, 2.0, 17)
}

impl Times {
    fn new() -> Self {
        let histogram = || Histogram::new(buckets());
        Self {
            whole: std::array::from_fn(|_| histogram()),
            to_head: histogram(),
            by_class: (0..=u8::MAX).map(|_| Default::default()).collect(),
            exported: OnceLock::new(),
        }
    }

    fn answered(&self, seconds: f64) {
        self.to_head.observe(seconds);
        self.exported.get().into_iter().for_each(|exported| exported.answered(seconds));
    }

    fn ended(&self, status: u16, seconds: f64) {
        let class = usize::from(status / 100);
        let class = if class < CLASSES.len() { class } else { 0 };
        self.whole[class].observe(seconds);
        self.exported.get().into_iter().for_each(|exported| exported.ended(CLASSES[class], seconds));
    }

    fn counted(&self, Class(class): Class, outcome: usize) {
        self.by_class[usize::from(class)][outcome].fetch_add(1, Ordering::Relaxed);
    }

    /// Requests by class and outcome, for classes that have had one.
    pub(super) fn by_class(&self) -> impl Iterator<Item = (usize, &'static str, u64)> {
        let rows = self.by_class.iter().enumerate().map(|(class, counts)| {
            (class, std::array::from_fn::<_, { OUTCOMES.len() }, _>(|outcome| counts[outcome].load(Ordering::Relaxed)))
        });
        let rows = rows.filter(|(_, counts)| counts.iter().any(|&count| count > 0));
        rows.flat_map(|(class, counts)| {
            OUTCOMES.iter().zip(counts).map(move |(outcome, count)| (class, *outcome, count))
        })
    }
}

impl Observers {
    pub(super) fn new(clock: ServiceClock, log: Option<Log>) -> Arc<Self> {
        Arc::new(Self { clock, times: OnceLock::new(), log })
    }

    /// The times of requests, which are noted from now on.
    pub(super) fn times(&self) -> &Times {
        self.times.get_or_init(Times::new)
    }

    /// Begins to observe a request. `None`: nobody wants to know of it.
    pub(super) fn observe(self: &Arc<Self>, head: &Parts, entered: Timestamp, level: LogLevel) -> Option<Observation> {
        let logged = level == LogLevel::Requests && self.log.is_some();
        if !logged && self.times.get().is_none() {
            return None;
        }
        let line = logged.then(|| {
            Box::new(RequestLine {
                method: head.method.as_str().to_owned(),
                path: head.uri.path().to_owned(),
                ..RequestLine::default()
            })
        });
        Some(Observation { observers: Arc::clone(self), entered, status: 0, class: None, outcome: GONE, line })
    }

    /// Logs a change of the proxy.
    pub(super) fn changed(&self, level: LogLevel, event: &str, says: &impl Serialize) {
        if level >= LogLevel::Changes
            && let Some(log) = &self.log
        {
            log.line(event, says);
        }
    }

    /// Waits until the log so far is written, for a second at most.
    pub(super) fn flush(&self) {
        self.log.iter().for_each(Log::flush);
    }

    /// Lines of the log that were lost.
    pub(super) fn lost_lines(&self) -> u64 {
        self.log.as_ref().map_or(0, Log::lost)
    }
}

/// A request that is observed, until it is dropped with its end.
#[derive(Debug)]
pub(super) struct Observation {
    observers: Arc<Observers>,
    entered: Timestamp,
    status: u16,
    /// `None`: the policy was not asked.
    class: Option<Class>,
    /// One of [`OUTCOMES`].
    outcome: usize,
    line: Option<Box<RequestLine>>,
}

/// A request in the log.
#[derive(Debug, Default, Serialize)]
struct RequestLine {
    method: String,
    /// Without its query, which may hold what is nobody's business.
    path: String,
    /// Of a request that the policy was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<u8>,
    /// The status of the answer; 0: the client left before it.
    status: u16,
    /// One of [`OUTCOMES`].
    outcome: &'static str,
    /// The reason of a refusal, or of an answer that no backend gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The reason for which the policy of a dry run refused what went on.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_refuse: Option<&'static str>,
    /// The number of the backend, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<usize>,
    /// From the request's head to the end of the answer.
    seconds: f64,
    /// From the request's head to that of a backend's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    head_seconds: Option<f64>,
    /// Bytes of the answer's body that were passed on.
    body_bytes: u64,
    /// Attempts after the first.
    #[serde(skip_serializing_if = "is_zero")]
    retries: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u8) -> bool {
    *count == 0
}

impl Observation {
    /// The policy is asked about the request.
    pub(super) fn asked(&mut self, class: Class) {
        self.class = Some(class);
        if let Some(line) = &mut self.line {
            line.class = Some(class.0);
        }
    }

    /// No backend has answered, for this reason.
    pub(super) fn unanswered(&mut self, reason: &'static str) {
        if let Some(line) = &mut self.line {
            line.reason = Some(reason);
        }
    }

    /// The answer has this status; `backend`: the one whose answer it is.
    pub(super) fn answered(&mut self, status: u16, backend: Option<usize>) {
        self.status = status;
        if backend.is_none() {
            return;
        }
        let took = self.took();
        if let Some(times) = self.observers.times.get() {
            times.answered(took);
        }
        if let Some(line) = &mut self.line {
            line.backend = backend.map(|index| index + 1);
            line.head_seconds = Some(took);
        }
    }

    /// The request goes out once more.
    pub(super) fn retried(&mut self) {
        if let Some(line) = &mut self.line {
            line.retries += 1;
        }
    }

    /// A part of the answer's body was passed on.
    pub(super) fn passed(&mut self, bytes: usize) {
        if let Some(line) = &mut self.line {
            line.body_bytes += bytes as u64;
        }
    }

    /// The request ends; `would_refuse`: the reason for which the policy of a dry run refused it.
    pub(super) fn ended(mut self, ending: LedgerEnding, would_refuse: Option<Reason>) {
        self.outcome = match ending {
            LedgerEnding::Served => 0,
            LedgerEnding::Refused(_) => 1,
            LedgerEnding::Failed => 2,
            LedgerEnding::AtFault => 3,
        };
        if let Some(line) = &mut self.line {
            line.would_refuse = would_refuse.map(Reason::name);
            if let LedgerEnding::Refused(reason) = ending {
                line.reason = Some(reason.name());
            }
        }
    }

    fn took(&self) -> f64 {
        self.observers.clock.now().since(self.entered).as_secs_f64()
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        let took = self.took();
        if let Some(times) = self.observers.times.get() {
            times.ended(self.status, took);
            if let Some(class) = self.class {
                times.counted(class, self.outcome);
            }
        }
        if let (Some(mut line), Some(log)) = (self.line.take(), &self.observers.log) {
            (line.seconds, line.status, line.outcome) = (took, self.status, OUTCOMES[self.outcome]);
            log.line("request", &line);
        }
    }
}
