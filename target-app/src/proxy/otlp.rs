//! Export of the proxy's metrics to a collector of OpenTelemetry, in builds with the feature `otel`.

#[cfg(feature = "otel")]
mod export;
#[cfg(not(feature = "otel"))]
mod off;

#[cfg(feature = "otel")]
pub(super) use export::Export;
#[cfg(not(feature = "otel"))]
pub(super) use off::Export;
