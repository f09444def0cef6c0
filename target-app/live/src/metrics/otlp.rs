//! Export of a program's figures to a collector of OpenTelemetry, in builds with the feature `otel`.

use std::time::Duration;

#[cfg(feature = "otel")]
mod export;
#[cfg(not(feature = "otel"))]
mod off;

/// An export that is under way. Ended by [`FigureExport::end`], which sends what is left.
#[derive(Debug)]
pub struct FigureExport {
    #[cfg(feature = "otel")]
    provider: opentelemetry_sdk::metrics::SdkMeterProvider,
    #[cfg(not(feature = "otel"))]
    none: std::convert::Infallible,
}

/// What is exported, and where to.
#[derive(Debug, Clone, Copy)]
pub struct ExportSpec<'a> {
    /// The program, unless the environment names it (`OTEL_SERVICE_NAME`).
    pub program: &'static str,
    /// What the names of its metrics begin with.
    pub prefix: &'static str,
    /// The collector.
    pub to: &'a str,
    /// The time between two exports.
    pub every: Duration,
}

/// A setting that cannot be, and why.
pub type ExportProblem = (&'static str, String);
