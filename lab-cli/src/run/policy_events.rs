//! Policy events that are worth a line of their own, in words.

use std::borrow::Borrow;

use analysis::live::LiveEvent;
use controllers::PolicyEvent;
use spec::wire::StreamedEvent;

/// Most lines a second: a policy that flaps must not fill the disk. The rest is counted.
const MOST_A_SECOND: usize = 20;

/// The lines of what came in one second, of which `dropped` were lost already.
pub fn lines<E: Borrow<StreamedEvent>>(events: impl Iterator<Item = E>, dropped: usize) -> Vec<LiveEvent> {
    let mut lines = Vec::new();
    let mut more = dropped;
    let mut last = 0.0;
    for event in events {
        let event = event.borrow();
        let Some(text) = in_words(&event.event) else { continue };
        last = event.at_ms / 1e3;
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
pub(super) fn in_words(event: &PolicyEvent) -> Option<String> {
    Some(match event {
        PolicyEvent::ControllerRan { .. } | PolicyEvent::Pressure { .. } => return None,
        PolicyEvent::Preempted { class, by } => format!("class {} gives way to class {}", class.0, by.0),
        PolicyEvent::Quality { before, after } => format!("quality {before:.2} to {after:.2}"),
        PolicyEvent::Admission { on: true } => "admission control on".to_owned(),
        PolicyEvent::Admission { on: false } => "admission control off".to_owned(),
        PolicyEvent::Resized { what, before, after } => format!("{what} {before} to {after}"),
    })
}
