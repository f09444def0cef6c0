//! What large services have used since SEDA, a file a policy.
//!
//! | entry | seat | says yes while |
//! |---|---|---|
//! | `aimd`, `vegas`, `gradient2` | a limit on jobs in flight | fewer are here than a *law* allows |
//!
//! A *limiter* counts and says yes or no; a *limit law* knows numbers alone and never sees a job. So one limiter carries
//! every law, and a law is checked against numbers worked by hand.
//!
//! # One owner of the number
//!
//! Two adaptive limits on one resource read each other's refusals as their own signal. Put one of these where the work is,
//! not one before the other.

mod aimd;
mod gradient2;
mod limiter;
#[cfg(test)]
mod tests;
mod vegas;

pub(crate) use aimd::AIMD;
pub(crate) use gradient2::GRADIENT2;
pub(crate) use vegas::VEGAS;
