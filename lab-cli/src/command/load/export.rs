//! A load's figures for Prometheus and OpenTelemetry, while it goes on.

use std::{
    fmt, io,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use live_service::metrics::{
    ProgramFigure,
    otlp::{ExportSpec, FigureExport},
    publish,
};
use measure::Window;
use tokio::sync::oneshot;

use crate::exit::Failure;

/// The program, and what the names of its metrics begin with.
const NAMES: (&str, &str) = ("lab-load", "lab_load");

/// Answers readers, and exports, until it is dropped.
pub(super) struct Exporter {
    seen: Arc<Mutex<Seen>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// All seconds so far, and the last one.
#[derive(Debug, Default, Clone)]
struct Seen {
    sums: [u64; OUTCOMES.len()],
    offered: u64,
    sent: u64,
    last: Window,
}

/// An outcome's label, and its count in a second.
type Outcome = (&'static str, fn(&Window) -> u64);

const OUTCOMES: [Outcome; 8] = [
    ("served", |second| second.served),
    ("served_late", |second| second.late),
    ("rejected", |second| second.rejected),
    ("timed_out", |second| second.timed_out),
    ("failed", |second| second.failed),
    ("abandoned", |second| second.abandoned),
    ("connect_failed", |second| second.connect_failed),
    ("refused_locally", |second| second.refused_locally),
];

impl Exporter {
    /// Listens at `metrics`, and exports to `otlp`.
    ///
    /// # Errors
    /// If the address is taken, or is none of this machine; if the collector's is no URL, or this build exports nothing.
    pub(super) fn start(metrics: Option<SocketAddr>, otlp: Option<&str>) -> Result<Self, Failure> {
        let listener = metrics.map(|address| {
            let taken = |error| Failure::because(format!("--metrics {address}: {error}; name another, or port 0"));
            listen(address).map_err(taken)
        });
        let listener = listener.transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let read = |seen: &Arc<Mutex<Seen>>| {
            let seen = Arc::clone(seen);
            move || figures(&seen.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let export = {
            let _inside = runtime.enter();
            if let Some(listener) = listener {
                publish(listener, NAMES.1, read(&seen))?;
            }
            let (program, prefix) = NAMES;
            let spec = |to| ExportSpec { program, prefix, to, every: Duration::from_secs(1) };
            let export = otlp.map(|to| FigureExport::of_figures(&spec(to), read(&seen))).transpose();
            export.map_err(|(_, problem)| Failure::usage(format!("--otlp: {problem}")))?
        };
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            runtime.block_on(async {
                // An error means that the sender is gone.
                let _ = stopped.await;
                if let Some(export) = export {
                    export.end().await;
                }
            });
        })?;
        Ok(Self { seen, stop: Some(stop), thread: Some(thread) })
    }

    pub(super) fn second(&self, window: &Window) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for (sum, (_, count)) in seen.sums.iter_mut().zip(OUTCOMES) {
            *sum += count(window);
        }
        seen.offered += window.offered + window.retries;
        seen.sent += window.sent;
        seen.last = window.clone();
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").finish_non_exhaustive()
    }
}

fn figures(seen: &Seen) -> Vec<ProgramFigure> {
    let figure = |name, help, counter, label, values| ProgramFigure { name, help, counter, label, values };
    let one = |name, help, counter, value: f64| figure(name, help, counter, "", vec![(String::new(), value)]);
    let of_times = "Response times of the last second, from the intended start";
    let of_lag = "99th percentile of the generator's own lateness in the last second";
    let last = &seen.last;
    let ended = OUTCOMES.iter().zip(seen.sums).map(|((name, _), sum)| ((*name).to_owned(), sum as f64)).collect();
    let times = [("0.5", last.p50_ms), ("0.9", last.p90_ms), ("0.99", last.p99_ms)];
    let times = times.into_iter().filter_map(|(quantile, ms)| Some((quantile.to_owned(), ms? / 1e3))).collect();
    vec![
        one("offered", "Requests that were due", true, seen.offered as f64),
        one("sent", "Requests that were written", true, seen.sent as f64),
        figure("requests", "Requests that have ended, by outcome", true, "outcome", ended),
        one("in_flight", "Requests that have not ended", false, last.in_flight as f64),
        figure("response_seconds", of_times, false, "quantile", times),
        one("send_lag_seconds", of_lag, false, last.send_lag_p99_ms.unwrap_or_default() / 1e3),
    ]
}
