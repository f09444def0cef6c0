//! Phases that begin with a policy as new: points of a curve that the paper measured in runs of their own.

use std::{
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::Instant,
};

use experiment::plan::{PhasePlan, policy_resets};
use live_service::control::client::ControlError;
use spec::wire::SetPolicy;

use super::controls::Controls;

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
