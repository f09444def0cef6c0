//! SIGHUP: the file is read again, and its settings come into force, all or none.

use std::{collections::BTreeMap, io, sync::Arc};

use spec::proxy::ProxySpec;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::running::RunningProxy;

/// Reads the settings again that a proxy was started with; or says everything that is wrong with them.
pub type Reread = Box<dyn Fn() -> Result<ProxySpec, Vec<String>> + Send + Sync>;

/// The orders to read settings again.
pub(super) struct Reloads {
    told: Signal,
    reread: Arc<Reread>,
}

impl Reloads {
    /// Listens from now on. Needs a runtime.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn listen(reread: Reread) -> io::Result<Self> {
        Ok(Self { told: signal(SignalKind::hangup())?, reread: Arc::new(reread) })
    }

    /// Carries them out for ever.
    pub(super) async fn carry_out(mut self, running: Arc<RunningProxy>) {
        while self.told.recv().await.is_some() {
            let (running, reread) = (Arc::clone(&running), Arc::clone(&self.reread));
            // Files are read: not on a thread of requests.
            let _ = tokio::task::spawn_blocking(move || reload(&running, &reread)).await;
        }
    }
}

fn reload(running: &RunningProxy, reread: &Reread) {
    if let Err(problems) = running.put(|_| reread()) {
        running.proxy.changed("config_refused", &BTreeMap::from([("problems", problems)]));
    }
}
