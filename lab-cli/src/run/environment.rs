//! The machine that a live run is on: its processors, what else runs there, what its kernel counts, and what the generator can do.

mod cgroup;
pub(super) mod cpus;
#[cfg(feature = "live")]
pub(super) mod headroom;
pub(super) mod host_noise;
pub(super) mod kernel;
pub(super) mod neighbours;
pub(super) mod speed;
