//! A build without the feature `otel`: nothing is exported.

use std::sync::Arc;

use crate::proxy::{error::ProxyError, running::RunningProxy, spec::OtlpSpec};

/// There is none.
#[derive(Debug)]
pub(in crate::proxy) enum Export {}

impl Export {
    /// # Errors
    /// Always: this build exports nothing.
    pub(in crate::proxy) fn start(_: &Arc<RunningProxy>, _: &OtlpSpec) -> Result<Self, ProxyError> {
        let message =
            "this lab was built without OpenTelemetry; cargo build --release -p lab-cli --features otel has it";
        Err(ProxyError::setting("otlp", message))
    }

    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(in crate::proxy) async fn end(self) {
        match self {}
    }
}
