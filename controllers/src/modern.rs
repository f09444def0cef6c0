//! What large services have used since SEDA, a file a policy.
//!
//! | entry | seat | says yes while |
//! |---|---|---|
//! | `aimd`, `vegas`, `gradient2` | a limit on jobs in flight | fewer are here than a *law* allows |
//! | `codel`, `lifo` | the queue itself | there is room: they hold every job, choose the next, and refuse the late |
//! | `dagor` | a cursor over levels of priority | the job's level is under it |
//!
//! A *limiter* counts and says yes or no; a *limit law* knows numbers alone and never sees a job. So one limiter carries
//! every law, and a law is checked against numbers worked by hand.
//!
//! # One owner of the number
//!
//! Two adaptive limits on one resource read each other's refusals as their own signal. Put one of these where the work is,
//! not one before the other.

mod aimd;
mod codel;
mod dagor;
mod discipline;
mod gradient2;
mod lifo;
mod limiter;
#[cfg(test)]
mod tests;
mod vegas;

pub(crate) use aimd::AIMD;
pub(crate) use codel::CODEL;
pub(crate) use dagor::DAGOR;
pub(crate) use gradient2::GRADIENT2;
pub(crate) use lifo::LIFO;
pub(crate) use vegas::VEGAS;
