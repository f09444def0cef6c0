//! Export of a program's figures to a collector of OpenTelemetry, in builds with the feature `otel`.

use std::time::Duration;

#[cfg(feature = "otel")]
mod export;
#[cfg(not(feature = "otel"))]
mod off;

#[cfg(feature = "otel")]
pub(crate) use export::Export;
#[cfg(not(feature = "otel"))]
pub(crate) use off::Export;

/// What is exported, and where to.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "a build without the feature exports nothing"))]
pub(crate) struct ExportSpec<'a> {
    /// The program, unless the environment names it (`OTEL_SERVICE_NAME`).
    pub(crate) program: &'static str,
    /// What the names of its metrics begin with.
    pub(crate) prefix: &'static str,
    /// The collector.
    pub(crate) to: &'a str,
    /// The time between two exports.
    pub(crate) every: Duration,
}

/// A setting that cannot be, and why.
pub(crate) type Wrong = (&'static str, String);
