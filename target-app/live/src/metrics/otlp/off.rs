//! A build without the feature `otel`: nothing is exported.

use super::{ExportProblem, ExportSpec, FigureExport};
use crate::metrics::ProgramFigure;

impl FigureExport {
    /// Begins no export.
    ///
    /// # Errors
    /// Always: this build exports nothing.
    pub fn of_figures(
        _: &ExportSpec<'_>,
        _: impl Fn() -> Vec<ProgramFigure> + Send + Sync + 'static,
    ) -> Result<Self, ExportProblem> {
        Err(("otlp", Self::MISSING.to_owned()))
    }

    /// What is said where an export was asked for.
    pub const MISSING: &'static str =
        "this lab was built without OpenTelemetry; cargo build --release -p lab-cli --features otel has it";

    /// Ends nothing.
    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub async fn end(self) {
        match self.none {}
    }
}
