//! A build without the feature `otel`: nothing is exported.

use std::sync::Arc;

use spec::proxy::OtlpSpec;

use crate::{
    metrics::otlp,
    proxy::{error::ProxyError, running::RunningProxy},
};

/// There is none.
#[derive(Debug)]
pub(in crate::proxy) enum Export {}

impl Export {
    /// # Errors
    /// Always: this build exports nothing.
    pub(in crate::proxy) fn start(_: &Arc<RunningProxy>, _: &OtlpSpec) -> Result<Self, ProxyError> {
        Err(ProxyError::setting("otlp", otlp::Export::MISSING))
    }

    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(in crate::proxy) async fn end(self) {
        match self {}
    }
}
