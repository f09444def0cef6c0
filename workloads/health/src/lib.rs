//! The generator's own condition: if the generator was the bottleneck, the run measured the generator.
//!
//! Figures alone; the validity gates of a run set the limits.
#![warn(missing_docs)]

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "hosts need to know the time: they read it here"
)]
pub mod clock;
mod clocks;
mod descriptors;
mod gaps;
mod others;
mod processors;
mod procfs;
mod sender;

pub use clocks::ClockMeter;
pub use descriptors::DescriptorMeter;
pub use gaps::GapMeter;
pub use others::{Others, OthersMeter};
pub use processors::ProcessorSample;
pub use procfs::{
    MachineSample, ProcessSample, ProcessSize, ThreadMeter, ThreadSample, descriptor_limit, local_ports, max_map_count,
    open_descriptors, thread_id,
};
pub use sender::SenderMeter;
