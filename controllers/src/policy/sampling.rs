//! The load samples that machines need.

use std::time::Duration;

/// A load sample that a machine needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// The kind of sample.
    pub what: SampleKind,
    /// The time between samples.
    pub period: Duration,
}

/// Kinds of load samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleKind {
    /// [`crate::LoadSample::Cpu`].
    Cpu,
    /// [`crate::LoadSample::Memory`].
    Memory,
    /// [`crate::LoadSample::Stage`].
    Stage,
    /// [`crate::LoadSample::Ready`].
    Ready,
}
