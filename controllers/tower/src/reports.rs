//! Reports of a policy for other sites.

use std::{fmt, sync::Arc};

use controllers::PeerReport;

/// The receiver of the reports of a policy.
#[derive(Clone)]
pub(crate) struct OnTell(Arc<dyn Fn(PeerReport) + Send + Sync>);

impl OnTell {
    pub(crate) fn new(tell: impl Fn(PeerReport) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn tell(&self, reports: Vec<PeerReport>) {
        reports.into_iter().for_each(|report| (self.0)(report));
    }
}

impl fmt::Debug for OnTell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnTell(..)")
    }
}
