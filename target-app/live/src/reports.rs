//! Reports of usage, quotas and pressure between the tasks of several services and the machine that divides quotas: out
//! of a task as a stream, into it one by one. The lab carries them.

use controllers::PeerReport;
use tokio::sync::broadcast;

/// The number of reports that wait for a slow reader; older ones are lost, and replaced within a period.
const BUFFER: usize = 4096;

/// The destination of a task's reports.
#[derive(Debug, Clone)]
pub struct Reports(broadcast::Sender<PeerReport>);

impl Default for Reports {
    fn default() -> Self {
        Self(broadcast::channel(BUFFER).0)
    }
}

impl Reports {
    /// Sends a report to the readers, if there are any.
    pub(crate) fn tell(&self, report: PeerReport) {
        let _ = self.0.send(report);
    }

    /// A reader, from now on.
    #[must_use]
    pub fn subscribe(&self) -> ReportReader {
        ReportReader(self.0.subscribe())
    }
}

/// A reader of reports.
#[derive(Debug)]
pub struct ReportReader(broadcast::Receiver<PeerReport>);

impl ReportReader {
    /// The next report; `None` after the last.
    pub async fn next(&mut self) -> Option<PeerReport> {
        loop {
            match self.0.recv().await {
                Ok(report) => return Some(report),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}
