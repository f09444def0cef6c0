//! The target's stream of policy events: what is worth a line of its own.

use std::{
    borrow::Borrow,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
};

use controllers::PolicyEvent;
use target_app::control::{client::ControlClient, wire::StreamedEvent};

use crate::live::LiveEvent;

/// Most lines a second: a policy that flaps must not fill the disk. The rest is counted.
const MOST_A_SECOND: usize = 20;
/// Most events that wait to be taken.
const WAITING: usize = 1000;

/// Reads the stream on a thread of its own, which ends with the target.
#[derive(Debug)]
pub struct PolicyEvents {
    received: Receiver<StreamedEvent>,
    /// That came while too many waited.
    dropped: Arc<AtomicUsize>,
    began_ms: f64,
}

impl PolicyEvents {
    /// Begins. `began_ms` is the target's own time at which the arm begins.
    pub fn begin(control: &ControlClient, began_ms: f64) -> std::io::Result<Self> {
        let (tell, received) = mpsc::sync_channel(WAITING);
        let control = control.clone();
        let dropped = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&dropped);
        thread::Builder::new().name("policy events".to_owned()).spawn(move || {
            let Ok(events) = control.events() else { return };
            for event in events.flatten() {
                match tell.try_send(event) {
                    Ok(()) => {}
                    // Gauges tell the rest.
                    Err(mpsc::TrySendError::Full(event)) => {
                        count.fetch_add(usize::from(in_words(&event.event).is_some()), Ordering::Relaxed);
                    }
                    Err(mpsc::TrySendError::Disconnected(_)) => return,
                }
            }
        })?;
        Ok(Self { received, dropped, began_ms })
    }

    /// What came since the last call.
    pub fn take(&self) -> Vec<LiveEvent> {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        lines(self.received.try_iter(), dropped, self.began_ms)
    }
}

/// The lines of what came in one second, of which `dropped` were lost already.
pub fn lines<E: Borrow<StreamedEvent>>(
    events: impl Iterator<Item = E>,
    dropped: usize,
    began_ms: f64,
) -> Vec<LiveEvent> {
    let mut lines = Vec::new();
    let mut more = dropped;
    let mut last = 0.0;
    for event in events {
        let event = event.borrow();
        let Some(text) = in_words(&event.event) else { continue };
        last = (event.at_ms - began_ms) / 1e3;
        if lines.len() < MOST_A_SECOND {
            lines.push(LiveEvent::Policy { second: last, stage: event.stage.clone(), text });
        } else {
            more += 1;
        }
    }
    if more > 0 {
        lines.push(LiveEvent::Policy { second: last, stage: String::new(), text: format!("and {more} more") });
    }
    lines
}

/// `None`: seen in the gauges every second already.
fn in_words(event: &PolicyEvent) -> Option<String> {
    Some(match event {
        PolicyEvent::ControllerRan { .. } | PolicyEvent::Pressure { .. } => return None,
        PolicyEvent::Preempted { class, by } => format!("class {} gives way to class {}", class.0, by.0),
        PolicyEvent::Quality { before, after } => format!("quality {before:.2} to {after:.2}"),
        PolicyEvent::Admission { on: true } => "admission control on".to_owned(),
        PolicyEvent::Admission { on: false } => "admission control off".to_owned(),
        PolicyEvent::Resized { what, before, after } => format!("{what} {before} to {after}"),
    })
}
