//! Policies of large services since SEDA, one per file.
//!
//! | entry | mechanism | admits while |
//! |---|---|---|
//! | `aimd`, `vegas`, `gradient2` | a limit on jobs in flight | fewer jobs are in flight than a *law* allows |
//! | `codel`, `lifo`, `deadline`, `fair-queue` | the queue itself | workers are free: they hold every job, select the next, and refuse those that waited too long |
//! | `dagor` | a cursor over levels of priority | the job's level is below the cursor |
//! | `saturation` | samples of queue and memory | neither is over its threshold; what may not be shed waits |
//!
//! A *limiter* counts jobs and decides; a *limit law* computes the limit from numbers and never sees a job. One limiter
//! serves every law, and tests check a law against numbers computed by hand.
//!
//! # One limit per resource
//!
//! Two adaptive limits on one resource read each other's refusals as their own signal. Install one of these policies
//! where the work is done, not several in series.

mod aimd;
pub(crate) mod codel;
pub(crate) mod dagor;
mod deadline;
pub mod discipline;
mod fair_queue;
mod gradient2;
mod lifo;
pub mod limiter;
mod saturation;
#[cfg(test)]
mod tests;
mod vegas;

pub(crate) use aimd::AIMD;
pub(crate) use codel::CODEL;
pub(crate) use dagor::DAGOR;
pub(crate) use deadline::DEADLINE;
pub(crate) use fair_queue::FAIR_QUEUE;
pub(crate) use gradient2::GRADIENT2;
pub(crate) use lifo::LIFO;
pub(crate) use saturation::SATURATION;
pub(crate) use vegas::VEGAS;
