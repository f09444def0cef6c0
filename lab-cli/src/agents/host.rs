//! An agent's side of loads: what it is asked, and what it answers. One load at a time.

use std::{
    fmt,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

use experiment::plan_digest::digest_of;
use workloads::{
    StopFlag, UserCommands,
    plan::{LoadPlan, Target},
};

use super::{
    limits::AgentLimits,
    order::{AgentAnswer, AgentQuestion, Beginning, LoadOrder, LoadStage, LoadState, this_machine},
};
use crate::exit::Failure;

/// Without a sign of its coordinator for so long, an agent ends its load.
pub const LEASE: Duration = Duration::from_secs(10);
/// Runs that an agent computes end within this time, or it is busy.
const UNTIL_FREE: Duration = Duration::from_secs(20);

/// Where a URL leads, among hosts that are allowed.
pub type Resolve = fn(&str, &[String]) -> Result<Target, Failure>;

/// The path of a recording of this digest.
pub type FindRecording = Box<dyn Fn(&str) -> Result<PathBuf, Failure> + Send + Sync>;

/// The loads of an agent.
pub struct LoadHost {
    began: Instant,
    version: String,
    limits: AgentLimits,
    resolve: Resolve,
    recording: FindRecording,
    orders: SyncSender<Box<LoadOrder>>,
    current: Mutex<Option<Current>>,
    /// Runs that its threads compute.
    computing: AtomicUsize,
}

/// The load that it has.
#[derive(Debug)]
struct Current {
    state: LoadState,
    /// When its coordinator was heard of.
    heard: Instant,
    flag: StopFlag,
    /// Changes of its users that were asked for.
    commands: UserCommands,
    begins: Option<Beginning>,
    /// The reason why it ended before its plan.
    stopped: Option<String>,
    /// Nobody waits for its record.
    in_vain: bool,
}

impl fmt::Debug for LoadHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.current)
    }
}

impl LoadHost {
    /// With the orders that are to be carried out.
    pub fn new(
        version: String,
        limits: AgentLimits,
        resolve: Resolve,
        recording: FindRecording,
    ) -> (Self, Receiver<Box<LoadOrder>>) {
        let (orders, taken) = mpsc::sync_channel(1);
        let (began, current, computing) = (Instant::now(), Mutex::new(None), AtomicUsize::new(0));
        (Self { began, version, limits, resolve, recording, orders, current, computing }, taken)
    }

    /// The answer to a question.
    pub fn answer(&self, question: &[u8]) -> Vec<u8> {
        let asked = serde_json::from_slice(question).map_err(|error| format!("the question is none: {error}"));
        let refused = asked.and_then(|question| self.do_as_asked(question)).err();
        let heard = |current: &Current| u64::try_from(current.heard.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (load, heard_ms) = self.lock().as_ref().map(|current| (current.state.clone(), heard(current))).unzip();
        let heard_ms = heard_ms.unwrap_or_default();
        let at_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        serde_json::to_vec(&AgentAnswer { at_ns, load, heard_ms, refused }).unwrap_or_default()
    }

    fn do_as_asked(&self, question: AgentQuestion) -> Result<(), String> {
        match question {
            AgentQuestion::Hello { load } => {
                self.with(load.as_deref().unwrap_or_default(), |current| current.heard = Instant::now());
                Ok(())
            }
            AgentQuestion::Prepare(order) => self.prepare(order),
            AgentQuestion::Begin(begins) => self.begin(begins),
            AgentQuestion::Command { load, command } => {
                let given = self.with(&load, |current| current.commands.give(command));
                given.unwrap_or(Ok(())).map_err(|error| error.to_string())
            }
            AgentQuestion::Stop { load, now } => {
                self.with(&load, |current| {
                    if now {
                        current.flag.stop_now();
                        current.in_vain |= current.state.stage == LoadStage::Storing;
                    } else {
                        current.flag.stop();
                    }
                });
                Ok(())
            }
        }
    }

    fn prepare(&self, mut order: Box<LoadOrder>) -> Result<(), String> {
        if order.version != self.version {
            return Err("it has another version of lab, or other policies".to_owned());
        }
        let of_agent = |failure: Failure| format!("{} where this agent is started", failure.in_words());
        let target = (self.resolve)(&order.plan.target.url, &self.limits.allow_host).map_err(of_agent)?;
        if !order.plan.target.entries.is_empty() {
            return Err("several services have doors of their own, which an agent does not know".to_owned());
        }
        if is_elsewhere(target.address, &order.machine) {
            let what = order.plan.target.host.as_str();
            return Err(format!(
                "{what} is its coordinator's machine and another one here: name the service by an address that agents reach (lab run: \
                 --listen ADDRESS:PORT)"
            ));
        }
        // The name that the service is called by is the plan's; where it is, this machine finds out.
        order.plan.target = Target { host: order.plan.target.host.clone(), ..target };
        if let (Some(digest), Some(trace)) = (&order.recording, &mut order.experiment.users.trace) {
            trace.file = (self.recording)(digest).map_err(Failure::in_words)?;
            trace.fill_in(&mut order.plan);
        }
        let part = LoadPlan { shard: Some(order.shard), ..order.plan.clone() };
        part.check().map_err(|problem| problem.to_string())?;
        self.limits.check(&part, order.options.requests_limit.is_some())?;
        senders::fits(&part, &order.options.options()).map_err(|problem| problem.to_string())?;
        match digest_of(&order.plan) {
            Ok(digest) if digest == order.digest => {}
            _ => return Err("the plan is another one here than at its coordinator".to_owned()),
        }
        self.take(&order)?;
        let until = Instant::now() + UNTIL_FREE;
        while self.computing.load(Ordering::Acquire) > 0 {
            if Instant::now() > until {
                self.forget();
                return Err("it computes runs of a search".to_owned());
            }
            thread::sleep(Duration::from_millis(20));
        }
        self.orders.try_send(order).map_err(|_| "it is about to end".to_owned())
    }

    fn take(&self, order: &LoadOrder) -> Result<(), String> {
        let mut current = self.lock();
        if let Some(other) = current.as_ref().filter(|current| current.state.stage < LoadStage::Done) {
            return Err(format!("it is busy with {}", other.state.load));
        }
        *current = Some(Current {
            state: LoadState { load: order.load.clone(), stage: LoadStage::Ready, trouble: None },
            heard: Instant::now(),
            flag: StopFlag::new(),
            commands: UserCommands::default(),
            begins: None,
            stopped: None,
            in_vain: false,
        });
        Ok(())
    }

    fn begin(&self, begins: Beginning) -> Result<(), String> {
        if self.instant(begins.at_ns) <= Instant::now() {
            return Err("it heard of its start when that was over".to_owned());
        }
        let load = begins.load.clone();
        let ready = self.with(&load, |current| {
            current.heard = Instant::now();
            current.begins = Some(begins);
        });
        ready.ok_or_else(|| "it has forgotten the load".to_owned())
    }

    /// Changes of the users of a load.
    pub fn commands(&self, load: &str) -> UserCommands {
        self.with(load, |current| current.commands.clone()).unwrap_or_default()
    }

    /// A moment of this agent's clock.
    pub fn instant(&self, at_ns: u64) -> Instant {
        self.began + Duration::from_nanos(at_ns)
    }

    /// Waits until it is told when to begin; `None`: it is not to begin.
    pub fn wait_for_beginning(&self, load: &str) -> Option<(Beginning, StopFlag)> {
        loop {
            let found = self.with(load, |current| (current.begins.clone(), current.flag.clone(), current.heard))?;
            match found {
                (_, flag, heard) if flag.is_stopped() || heard.elapsed() > LEASE => return None,
                (Some(begins), flag, _) => return Some((begins, flag)),
                (None, ..) => thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Ends a load that nobody asks about any more, or whose agent is to end.
    pub fn watch(&self, load: &str, agent_ends: bool) {
        self.with(load, |current| {
            let lonely = current.heard.elapsed() > LEASE;
            if current.state.stage <= LoadStage::Running && (lonely || agent_ends) {
                let why = if lonely { "no sign of its coordinator for 10 s" } else { "its agent was stopped" };
                current.stopped.get_or_insert_with(|| why.to_owned());
                current.flag.stop_now();
            }
        });
    }

    /// Looks at a second that was sent.
    pub fn second(&self, load: &str, second: &measure::Window) {
        let Some(broken) = self.limits.broken(second) else { return };
        self.with(load, |current| {
            current.stopped.get_or_insert(broken);
            current.flag.stop_now();
        });
    }

    pub fn stage(&self, load: &str, stage: LoadStage) {
        self.with(load, |current| current.state.stage = stage);
    }

    pub fn trouble(&self, load: &str, trouble: Option<String>) {
        self.with(load, |current| current.state.trouble = trouble);
    }

    /// The reason why a load ended before its plan.
    pub fn stopped(&self, load: &str) -> Option<String> {
        self.with(load, |current| current.stopped.clone()).flatten()
    }

    pub fn is_in_vain(&self, load: &str) -> bool {
        self.with(load, |current| current.in_vain).unwrap_or(true)
    }

    /// Nothing was sent of what it has.
    pub fn forget(&self) {
        *self.lock() = None;
    }

    /// True if it has a load to send.
    pub fn is_sending(&self) -> bool {
        self.lock().as_ref().is_some_and(|current| current.state.stage < LoadStage::Done)
    }

    /// Computes a run of a search, unless there is a load to send.
    pub fn unless_sending<T>(&self, compute: impl FnOnce() -> T) -> Option<T> {
        {
            let current = self.lock();
            if current.as_ref().is_some_and(|current| current.state.stage < LoadStage::Done) {
                return None;
            }
            self.computing.fetch_add(1, Ordering::AcqRel);
        }
        let _counted = Counted(&self.computing);
        Some(compute())
    }

    fn with<T>(&self, load: &str, change: impl FnOnce(&mut Current) -> T) -> Option<T> {
        self.lock().as_mut().filter(|current| current.state.load == load).map(change)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True of a loopback address that a coordinator on another machine means.
fn is_elsewhere(target: SocketAddr, coordinator: &str) -> bool {
    target.ip().is_loopback() && coordinator != this_machine()
}

/// A run that is counted as long as it goes on, however it ends.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_of_another_machine_is_not_this_ones() {
        let near: SocketAddr = ([127, 0, 0, 1], 8080).into();
        assert!(is_elsewhere(near, "of another boot") && !is_elsewhere(near, &this_machine()));
        assert!(!is_elsewhere(([10, 0, 0, 5], 8080).into(), "of another boot"));
    }
}
