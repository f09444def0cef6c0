//! SEDA's overload control (USITS'03, EW'02, and what the published code does where it differs).
//!
//! | entry | estimator | law | gate |
//! |---|---|---|---|
//! | `seda` | 90th percentile of `samples` response times, smoothed | AIMD by class | a token bucket for each class |
//! | `degrade` | the same | quality up by steps, down by halves | quality, and admission at the floor |
//! | `pid` | the same | PID | token bucket |
//! | `mm1` | service and arrival rates | an M/M/1 queue solved for its 90th percentile | token bucket |
//! | `queue-threshold` | mean response time, smoothed | AIMD | queue length |
//!
//! # Without samples nothing is adapted
//!
//! A controller runs on the response times of jobs that *ended here*. The paper adds a time-out so that the rate is also
//! adjusted "when the processing rate is low", but with no sample at all there is no error to act on, and the estimate
//! and the rate stay what they are. At the lowest rate, one admission in 20 s, each admitted job gives one run, and so one
//! step up of 0.8 to 1.8 per second: recovery from a deep cut takes minutes unless jobs come. (The older controllers in
//! the published code read a stale element of the sample buffer in that case; that is not copied.)
//!
//! # Why the published curve rejects below the target
//!
//! USITS'03, figure 8, shows rejects at loads where response times are far under the target, which the law cannot
//! explain: below half the target it only raises the rate. See [`self::params`] on the token bucket, and the test
//! `rejects_below_target_come_from_the_bucket`, which finds the cause in the bucket's depth of one.

mod class_controller;
mod degrade;
mod mm1;
mod params;
mod pid;
mod pressure;
mod quality;
mod queue_threshold;
mod response_time;
#[cfg(test)]
mod tests;

pub(crate) use degrade::DEGRADE;
pub(crate) use mm1::MM1;
pub(crate) use params::SEDA;
pub(crate) use pid::PID;
pub(crate) use queue_threshold::QUEUE_THRESHOLD;
