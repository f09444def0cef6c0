//! A build without the feature `otel`: nothing is exported.

use super::{ExportSpec, Wrong};
use crate::metrics::ProgramFigure;

/// There is none.
#[derive(Debug)]
pub(crate) enum Export {}

impl Export {
    /// # Errors
    /// Always: this build exports nothing.
    pub(crate) fn of_figures(
        _: &ExportSpec<'_>,
        _: impl Fn() -> Vec<ProgramFigure> + Send + Sync + 'static,
    ) -> Result<Self, Wrong> {
        Err(("otlp", Self::MISSING.to_owned()))
    }

    /// What is said where an export was asked for.
    pub(crate) const MISSING: &'static str =
        "this lab was built without OpenTelemetry; cargo build --release -p lab-cli --features otel has it";

    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(crate) async fn end(self) {
        match self {}
    }
}
