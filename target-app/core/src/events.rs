//! The stream of events of policies and machines.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use controllers::{Observer, PolicyEvent, SiteId, Timestamp};
use spec::{graph::Graph, wire::StreamedEvent};
use tokio::sync::broadcast;

/// The number of events that wait for a slow reader; older ones are dropped and counted.
const BUFFER: usize = 4096;

/// The destination of events. Without a reader they cost nothing.
#[derive(Debug, Clone)]
pub struct Events {
    sender: broadcast::Sender<Arc<StreamedEvent>>,
    dropped: Arc<AtomicU64>,
}

impl Default for Events {
    fn default() -> Self {
        Self { sender: broadcast::channel(BUFFER).0, dropped: Arc::default() }
    }
}

impl Events {
    /// An observer for the seats of this graph.
    #[must_use]
    pub fn observer(&self, graph: &Arc<Graph>) -> Box<dyn Observer> {
        Box::new(Stream { graph: Arc::clone(graph), sender: self.sender.clone() })
    }

    /// A reader of events from now on.
    #[must_use]
    pub fn subscribe(&self) -> EventReader {
        EventReader { receiver: self.sender.subscribe(), dropped: Arc::clone(&self.dropped) }
    }

    /// The number of events that readers were too slow for.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

struct Stream {
    graph: Arc<Graph>,
    sender: broadcast::Sender<Arc<StreamedEvent>>,
}

impl Observer for Stream {
    fn event(&mut self, at: Timestamp, site: SiteId, event: &PolicyEvent) {
        if self.sender.receiver_count() == 0 {
            return;
        }
        let stage = self.graph.site_name(site).to_owned();
        let event = StreamedEvent { at_ms: at.as_secs_f64() * 1e3, stage, event: event.clone() };
        let _ = self.sender.send(Arc::new(event)); // the last reader may have gone this very moment
    }
}

/// A reader of events.
#[derive(Debug)]
pub struct EventReader {
    receiver: broadcast::Receiver<Arc<StreamedEvent>>,
    dropped: Arc<AtomicU64>,
}

impl EventReader {
    /// The events received so far, without waiting.
    pub fn drain(&mut self) -> Vec<Arc<StreamedEvent>> {
        use broadcast::error::TryRecvError;
        let mut all = Vec::new();
        loop {
            match self.receiver.try_recv() {
                Ok(event) => all.push(event),
                Err(TryRecvError::Lagged(missed)) => _ = self.dropped.fetch_add(missed, Ordering::Relaxed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return all,
            }
        }
    }

    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Arc<StreamedEvent>> {
        loop {
            match self.receiver.recv().await {
                Ok(event) => return Some(event),
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    self.dropped.fetch_add(missed, Ordering::Relaxed);
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::graph::Role;

    #[tokio::test]
    async fn a_slow_reader_loses_the_oldest_and_the_loss_is_counted() {
        let events = Events::default();
        let graph = Arc::new(Graph::new(&["page"], &[("work", Role::Dynamic)]));
        let mut observer = events.observer(&graph);
        observer.event(Timestamp::ZERO, SiteId(2), &PolicyEvent::Admission { on: true });
        let mut reader = events.subscribe();
        for n in 0..BUFFER as u64 + 10 {
            observer.event(Timestamp::from_millis(n), SiteId(2), &PolicyEvent::Admission { on: true });
        }
        let first = reader.next().await.unwrap();
        assert_eq!((first.at_ms, first.stage.as_str(), events.dropped()), (10.0, "work", 10));
    }
}
