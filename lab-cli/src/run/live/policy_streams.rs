//! Streams of policy events, one of each target that runs; phases that begin with a policy as new.

use std::{
    collections::BTreeSet,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use analysis::live::LiveEvent;
use experiment::plan::{PhasePlan, policy_resets};
use live_service::control::client::ControlError;
use spec::wire::{SetPolicy, StreamedEvent};

use super::controls::{Controls, Port};
use crate::run::{
    RunFailure,
    policy_events::{in_words, lines},
};

/// Most events that wait to be taken.
const WAITING: usize = 1000;

/// Reads each stream on a thread of its own, which ends with its target.
#[derive(Debug)]
pub struct PolicyEvents {
    controls: Controls,
    began: Instant,
    /// The processes whose streams are read.
    followed: BTreeSet<u32>,
    tell: SyncSender<StreamedEvent>,
    received: Receiver<StreamedEvent>,
    /// Events that came while too many waited.
    dropped: Arc<AtomicUsize>,
}

impl PolicyEvents {
    /// Begins, and with it the arm: times count from now, whichever clock a target has.
    pub fn begin(controls: &Controls) -> Result<Self, RunFailure> {
        let (tell, received) = mpsc::sync_channel(WAITING);
        let mut events = Self {
            controls: controls.clone(),
            began: Instant::now(),
            followed: BTreeSet::new(),
            tell,
            received,
            dropped: Arc::default(),
        };
        for port in controls.ports() {
            let ahead_ms = port.control.gauges()?.at_ms;
            events.follow(port, Some(ahead_ms)).map_err(RunFailure::machine("the thread that reads policy events"))?;
        }
        Ok(events)
    }

    /// Events since the last call. Tasks that have begun meanwhile are followed from now on.
    pub fn take(&mut self) -> Vec<LiveEvent> {
        for port in self.controls.ports() {
            if !self.followed.contains(&port.pid) {
                // Without its events there are still its gauges.
                let _ = self.follow(port, None);
            }
        }
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        lines(self.received.try_iter(), dropped)
    }

    /// Reads the stream of a target, whose clock is so far ahead of the arm's; `None`: it is asked.
    fn follow(&mut self, Port { prefix, pid, control, .. }: Port, ahead_ms: Option<f64>) -> io::Result<()> {
        self.followed.insert(pid);
        let (tell, count, began) = (self.tell.clone(), Arc::clone(&self.dropped), self.began);
        let read = move || {
            let asked = || Some(control.gauges().ok()?.at_ms - began.elapsed().as_secs_f64() * 1e3);
            let Some(ahead_ms) = ahead_ms.or_else(asked) else { return };
            let Ok(events) = control.events() else { return };
            for mut event in events.flatten() {
                event.at_ms -= ahead_ms;
                event.stage.insert_str(0, &prefix);
                match tell.try_send(event) {
                    Ok(()) => {}
                    // Gauges tell the rest.
                    Err(mpsc::TrySendError::Full(event)) => {
                        count.fetch_add(usize::from(in_words(&event.event).is_some()), Ordering::Relaxed);
                    }
                    Err(mpsc::TrySendError::Disconnected(_)) => return,
                }
            }
        };
        thread::Builder::new().name("policy events".to_owned()).spawn(read).map(drop)
    }
}

/// Puts every policy that the arm began with anew into its place at the start of each phase that asks for it, also those before
/// services' own calls.
#[derive(Debug)]
pub struct PolicyResets {
    /// Dropped at the end.
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<(), ControlError>>>,
}

impl PolicyResets {
    /// Begins: the load starts now.
    pub fn begin(controls: &Controls, phases: &[PhasePlan]) -> std::io::Result<Self> {
        let (over, wait) = mpsc::channel::<()>();
        let (controls, due) = (controls.clone(), policy_resets(phases));
        let began = Instant::now();
        let thread = thread::Builder::new().name("renewals".to_owned()).spawn(move || {
            for at in due {
                if wait.recv_timeout((began + at).saturating_duration_since(Instant::now()))
                    == Err(RecvTimeoutError::Disconnected)
                {
                    return Ok(());
                }
                for port in controls.ports() {
                    port.control.set_policy(&SetPolicy { stage: None, policy: port.policy })?;
                    port.control.renew_callers()?;
                }
            }
            Ok(())
        })?;
        Ok(Self { over: Some(over), thread: Some(thread) })
    }

    /// Ends, and says why a renewal that was due did not come about, if one did not.
    pub fn end(mut self) -> Option<String> {
        self.over = None;
        match self.thread.take()?.join() {
            Ok(renewed) => renewed.err().map(|failure| failure.to_string()),
            Err(_) => Some("the thread that renews policies panicked".to_owned()),
        }
    }
}
