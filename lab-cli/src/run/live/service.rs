//! A service that is not the lab's: started for an arm or running already, and watched from outside.

mod exported;
pub mod guard;
mod guarded_command;
mod http;
mod kept;
mod own_proxy;
pub mod process_tree;

use std::{
    io,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use experiment::plan::OwnService;
use spec::wire::Gauges;

use self::{guarded_command::GuardedCommand, process_tree::TreeSample};
use crate::run::{
    RunFailure,
    error::{of_its_end, of_its_output},
    live::target::last_lines,
};

pub use exported::MetricsReader;
use http::address_of;
pub use http::{Door, HttpAnswer, get};
pub use kept::{KeptConnection, SlowerKept, kept_connections};
pub use own_proxy::RunningProxy;

/// Longest wait for a service to take requests.
const START: Duration = Duration::from_secs(30);
/// Longest time for a reset.
const RESET: Duration = Duration::from_secs(120);
/// Longest wait for the answer to one question whether it is ready.
const LONGEST_ANSWER: Duration = Duration::from_secs(10);
/// A service that takes a connection and does not answer for so long is busy.
const BUSY: Duration = Duration::from_secs(1);
/// Longest wait for its metrics, once it is ready, and the pause between two looks.
const METRICS: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(200);
/// The pause between two questions whether it is ready.
const PAUSE: Duration = Duration::from_millis(20);
/// The number of lines of the service's output that a failure quotes.
const LAST_LINES: usize = 12;

/// A running service. If the lab has started it, dropping this value ends it.
#[derive(Debug)]
pub struct RunningService {
    /// The name of the service in messages.
    name: String,
    guarded: Option<GuardedCommand>,
    log: PathBuf,
    /// The address for requests, and how it is spoken to.
    pub door: Door,
    meter: Arc<ServiceMeter>,
}

impl RunningService {
    /// [Begins](Self::begin) the service, and waits until it [is ready](Self::wait_until_ready).
    ///
    /// # Errors
    /// The service does not start, ends, or does not answer in time; the error has the last lines of its output.
    pub fn start(own: &OwnService, cpu: Option<usize>, log: &Path) -> Result<Self, RunFailure> {
        let mut service = Self::begin(own, cpu, log)?;
        service.wait_until_ready(own)?;
        Ok(service)
    }

    /// Starts the service, unless it runs already. Its output goes to `log`. `cpu`: the processor that a service started by the
    /// lab is kept to.
    ///
    /// # Errors
    /// The service does not start; the error has the last lines of its output.
    pub fn begin(own: &OwnService, cpu: Option<usize>, log: &Path) -> Result<Self, RunFailure> {
        let name = own.shown().to_owned();
        let because =
            |cause: String, way_out: String| RunFailure::Service { name: own.shown().to_owned(), cause, way_out };
        let failed = |cause: String| because(cause, of_its_output(&last_lines(log, LAST_LINES)));
        if let Some(reset) = &own.reset {
            let mut guarded = GuardedCommand::start(reset.0.clone(), None, None, log).map_err(&failed)?;
            let ended = guarded.wait(RESET);
            drop(guarded);
            match ended {
                Some((_, true)) => {}
                Some((how, false)) => return Err(failed(format!("target.reset ended with {how}"))),
                None => return Err(failed(format!("target.reset had not ended after {RESET:?}"))),
            }
        }
        let port =
            if own.url.is_none() { Some(free_port().map_err(RunFailure::machine("a free port"))?) } else { None };
        let url = own.url_at(port);
        let address = address_of(&url).map_err(|cause| because(cause, String::new()))?;
        let (tls, version) = own.transport().map_err(|cause| because(cause, String::new()))?;
        let door = Door { url, address, tls, version };
        let guarded = match &own.command {
            None => None,
            Some(_) if TcpListener::bind(address).is_err() => {
                let cause = format!("something listens on {address} already");
                return Err(because(cause, ": end it, or write {port} in its command".to_owned()));
            }
            Some(command) => {
                let words = command.with_port(port.unwrap_or(address.port())).0;
                Some(GuardedCommand::start(words, cpu, port, log).map_err(&failed)?)
            }
        };
        let root = match (&guarded, own.pid) {
            (Some(guarded), _) => Ok(guarded.pid),
            (None, Some(pid)) => {
                process_tree::sample(pid).map(|_| pid).ok_or_else(|| format!("there is no process {pid}"))
            }
            (None, None) if address.ip().is_loopback() => process_tree::listener(address),
            (None, None) => Err("it runs on another machine".to_owned()),
        };
        let meter = ServiceMeter {
            is_elsewhere: guarded.is_none() && own.pid.is_none() && !address.ip().is_loopback(),
            root,
            began: Instant::now(),
            resident_peak: AtomicU64::new(0),
            exported: OnceLock::new(),
        };
        Ok(Self { name, guarded, log: log.to_owned(), door, meter: Arc::new(meter) })
    }

    /// Waits until it answers, and reads its metrics from then on.
    ///
    /// # Errors
    /// It ends, or does not answer in time; the error has the last lines of its output.
    pub fn wait_until_ready(&mut self, own: &OwnService) -> Result<(), RunFailure> {
        self.wait_for(&own.ready, LONGEST_ANSWER, |asked| match asked {
            Ok(got) if got.status < 500 => Ok(()),
            Ok(got) => Err(format!("it answers {}", got.status)),
            Err(error) => Err(error.to_string()),
        })?;
        self.read_metrics(own)
    }

    /// Waits until it is there, however busy.
    ///
    /// # Errors
    /// Nothing takes connections, or they break off.
    pub fn wait_until_there(&mut self, own: &OwnService) -> Result<(), RunFailure> {
        self.wait_for(&own.ready, BUSY, |asked| match asked {
            Err(error) if error.kind() != io::ErrorKind::TimedOut => Err(error.to_string()),
            _ => Ok(()),
        })
    }

    /// Begins to read its metrics, which may be there a moment later than its pages.
    ///
    /// # Errors
    /// They are not there in time.
    pub fn read_metrics(&mut self, own: &OwnService) -> Result<(), RunFailure> {
        let Some(metrics) = &own.metrics else { return Ok(()) };
        let began = Instant::now();
        loop {
            match MetricsReader::begin(metrics, &self.door) {
                Ok(reader) => {
                    let _ = self.meter.exported.set(reader); // it was not set before
                    return Ok(());
                }
                Err(cause) if began.elapsed() > METRICS || self.has_ended().is_some() => return Err(self.failed(cause)),
                Err(_) => thread::sleep(AGAIN),
            }
        }
    }

    fn wait_for(
        &mut self,
        path: &str,
        longest: Duration,
        is_there: impl Fn(io::Result<HttpAnswer>) -> Result<(), String>,
    ) -> Result<(), RunFailure> {
        let began = Instant::now();
        let mut last = "nothing listens there".to_owned();
        while began.elapsed() < START {
            if let Some(how) = self.has_ended() {
                let hint = if how.ends_with("status: 0") { "; a service must stay in the foreground" } else { "" };
                return Err(self.failed(format!("it ended with {how} before it answered {path}{hint}")));
            }
            match is_there(get(&self.door, path, &[], longest)) {
                Ok(()) => return Ok(()),
                Err(why) => last = why,
            }
            // A service that runs already is ready, or it is not the one that was meant.
            if self.guarded.is_none() && began.elapsed() > Duration::from_secs(3) {
                break;
            }
            thread::sleep(PAUSE);
        }
        let (url, waited) = (&self.door.url, began.elapsed().as_secs_f64());
        Err(self.failed(format!("{url}{path} did not answer within {waited:.0} s ({last})")))
    }

    /// The failure of this service. Making it ends the service.
    pub fn failed(&mut self, cause: String) -> RunFailure {
        self.failed_with(cause, |last_words, _| of_its_output(last_words))
    }

    /// The failure that its end in mid-run is, whose results are in `folder`. Making it ends the service.
    pub fn failed_in(&mut self, cause: String, folder: &Path) -> RunFailure {
        self.failed_with(cause, |last_words, log| of_its_end(last_words, log, folder))
    }

    fn failed_with(&mut self, cause: String, way_out: impl FnOnce(&str, &Path) -> String) -> RunFailure {
        // Its last words are written when its guard ends.
        let way_out = match self.guarded.take() {
            Some(guarded) => {
                drop(guarded);
                way_out(&last_lines(&self.log, LAST_LINES), &self.log)
            }
            None => {
                "\n  start it before the lab (or name a command that does), and see with curl that this URL answers"
                    .to_owned()
            }
        };
        RunFailure::Service { name: self.name.clone(), cause, way_out }
    }

    /// The end of the service, in words; `None`: it runs, or the lab has not started it.
    pub fn has_ended(&mut self) -> Option<String> {
        self.guarded.as_mut()?.has_ended()
    }

    /// True if the lab has started the service.
    pub fn is_ours(&self) -> bool {
        self.guarded.is_some()
    }

    /// The meter of the service's processes.
    pub fn meter(&self) -> &Arc<ServiceMeter> {
        &self.meter
    }

    /// The ids of the service's processes and of their guard.
    pub fn pids(&self) -> Vec<u32> {
        let guard = self.guarded.as_ref().map(GuardedCommand::guard);
        self.meter.sample().map(|sample| sample.pids).unwrap_or_default().into_iter().chain(guard).collect()
    }
}

/// Reads CPU time and memory of a service's processes.
#[derive(Debug)]
pub struct ServiceMeter {
    /// The first process of the service, or the reason why it is not known.
    root: Result<u32, String>,
    /// The service runs on another machine.
    pub is_elsewhere: bool,
    began: Instant,
    /// The largest resident memory so far, bytes.
    resident_peak: AtomicU64,
    exported: OnceLock<MetricsReader>,
}

impl ServiceMeter {
    /// CPU time and memory that the processes have used so far.
    ///
    /// # Errors
    /// The reason why it is not known.
    pub fn sample(&self) -> Result<TreeSample, String> {
        let root = self.root.clone()?;
        let sample = process_tree::sample(root).ok_or_else(|| format!("its process {root} is gone"))?;
        self.resident_peak.fetch_max(sample.resident_bytes, Ordering::Relaxed);
        Ok(sample)
    }

    /// The largest resident memory so far, bytes.
    pub fn resident_peak(&self) -> u64 {
        self.resident_peak.load(Ordering::Relaxed)
    }

    /// The metrics that the service exports.
    pub fn exported(&self) -> Option<&MetricsReader> {
        self.exported.get()
    }

    /// Replaces the proxy's figures by those of the service, and adds the row of the metrics that it exports.
    pub fn over(&self, mut gauges: Gauges) -> Gauges {
        gauges.stages.extend(self.exported().map(MetricsReader::row));
        match self.sample() {
            Ok(sample) => Gauges { cpu_s: sample.cpu.as_secs_f64(), rss_bytes: sample.resident_bytes, ..gauges },
            Err(_) => Gauges { cpu_s: 0.0, rss_bytes: 0, ..gauges },
        }
    }

    /// The gauges of a service without a proxy before it.
    pub fn alone(&self) -> Gauges {
        self.over(Gauges { at_ms: self.began.elapsed().as_secs_f64() * 1e3, ..Gauges::default() })
    }
}

/// The file that keeps the service's output.
pub fn log_in(folder: &Path) -> PathBuf {
    folder.join("service.log")
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
