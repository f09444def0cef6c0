//! Machines that control resources and not jobs: the workers of a stage, the size of batches, and the load of the whole
//! process. Hosts drive them through a [`crate::MachineSeat`] with load samples.

mod batching;
mod monitor;
#[cfg(test)]
mod tests;
mod thread_pool;
mod throughput;

pub(crate) use batching::BATCHING;
pub(crate) use monitor::MONITOR;
pub(crate) use thread_pool::THREAD_POOL;
