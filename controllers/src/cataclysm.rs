//! Cataclysm (Urgaonkar and Shenoy, *Cataclysm: Policing Extreme Overloads in Internet Applications*, WWW'05) as pure
//! machines: the sentry, which polices the requests of an application, and the control plane, which provisions servers
//! and sentries.
//!
//! The sentry is the entry `sentry` of the catalogue, so that every host of policies can run it, and the nucleus of a server
//! is the machine `nucleus`. The control plane runs beside the services of a tree (`service_core::tree::Platform`).
//!
//! | part | law | paper |
//! |---|---|---|
//! | [`Sentry`] | leaky buckets, then batch or threshold policing | sections 3.1 to 3.3 |
//! | [`AdmissionTest`] | `Q + (η + ⌈β/n⌉) · S ≤ R_sla − d_i` | equations 3 and 4 |
//! | [`ServiceRanges`], [`ServiceTimes`] | buckets; `S = CPU + α · data` by URL | section 3.2, equation 2, section 3.5 |
//! | [`AdmissionThreshold`] | `(i, p_admit)` | equations 5 and 6 |
//! | [`PolicedSystem`], [`DelayBound`] | `Pr(A_i)`, and the delays `d_i` from it | equations 7 to 13 |
//! | [`PolicingPlan`] | batch policing, threshold policing while the sentry is busy | end of section 3.3 |
//! | [`Provisioner`] | servers, predictive and reactive; response times; sentries | section 4 |
//! | [`Sla`] | response times by arrival rate | equation 1, table 1 |
//! | [`WorkloadModel`] | the rate that a server sustains | equation 14 |
//! | [`TrendPredictor`], [`partition`] | the next period's arrivals, and the partition that earns the most | section 4.1 |
//!
//! # Deviations
//!
//! Where the paper is silent or contradicts itself, the code does this:
//!
//! - *Requests admitted since the last report.* The servers report `η` now and then; between two reports the paper's test
//!   would admit every batch against the same number. The sentry adds what it has admitted since, and takes off what has
//!   ended. Servers that report nothing count with the sentry's own requests.
//! - *Examinations.* Class `i` is examined at the multiples of `d_i`, so that instants of several classes coincide, and
//!   without a delay on arrival. A failure rejects all waiting requests of less important classes, due or not. The other
//!   buckets of the class that failed have their own tests.
//! - *Range borders.* A request whose service time is a bound belongs to the lower bucket, as in `(0, s_1]`; the text has
//!   it in both once. Requests beyond the last bound share a bucket, tested with the largest estimate in it.
//! - *An unknown URL* has the average service time over all requests. The table of URLs is bounded.
//! - *The bucket of a guaranteed rate* holds the requests of a stated time, a second of them by default.
//! - *Threshold policing on `n` servers.* The capacity in equations 5 and 6 is that of one server; here it is `n`. `λ_j` is
//!   the rate of requests *beyond* the guaranteed one: the equations set the guaranteed rates aside on the other side, and
//!   would count them twice. `p_admit` is the value at which (6) turns into an equality. `s_j` is the inherent service
//!   time: with the actual one, which grows with the load, the products would be numbers of requests in service, and an
//!   idle system would refuse.
//! - *Delays.* The published bound limits `Pr(A_i)`, which has the factor `Pr(X_i)`: that a request arrives at all between
//!   two examinations. It vanishes for short delays, so that no delay at all satisfies (7), and for the highest class it is
//!   0 by definition. The aim in the text is the probability for *a newly arrived request*. The code bounds that one,
//!   `p_drop · Pr(Z_i)`, for all classes but the lowest: (7) follows from it.
//! - *`N`* is `⌊R_sla / s⌋` for each server, with the mean service time `s`. `F_s` is the distribution over the buckets.
//!   `p_drop` is the share of the examined requests of a period that were refused.
//! - *An idle system.* As published a type whose estimate is over the response time is refused even then, and what is never
//!   served corrects no estimate. With [`SentryPlan::probes_when_idle`] a batch that fails while nothing is in service sends
//!   its oldest request.
//! - *A full queue* (the paper has none) gives the place of the least important request to a more important one.
//! - *The change of policing.* Held requests have their test at once when threshold policing begins, and its first threshold
//!   is computed at once, from the arrivals since the sentry's load was last observed: that of the last period is from before
//!   the sentry was busy, and would admit everything for the rest of a period. One threshold of the load, as published, is the
//!   default for both directions.
//!
//! - *Equation 14 for `n` servers.* The variance of the times between arrivals at one server follows from its rate, with the
//!   squared coefficient of variation of the sentry's arrivals ([`WorkloadModel::rate_of_a_server`]).
//! - *The predictor.* The paper says that past observations predict the arrivals of the next 30 min, and leaves the rest to a
//!   report. Here a line through the rates of the last period is read at the middle of the next one, within a factor of the
//!   present rate.
//! - *The partition.* The paper maximizes the expected revenue, and leaves the algorithm to the report as well. Here one server
//!   after the other goes to where it earns the most. Guaranteed rates earn nothing of their own in it.
//! - *Reactive mode.* An invocation serves every application that is overloaded then, each with at most `Δ` servers; `δ` is
//!   between invocations, whomever they serve. What was refused before a change of servers or target does not count. The
//!   refused share alone says that an application is overloaded: deviations from the prediction are not used.
//! - *Targets.* Both modes set the response time that the agreement has for the rate that they work with.
//! - *Sentries* are nodes of the one pool, as section 2.1 says. An application never has more sentries than servers.
//!
//! # What the test does not promise
//!
//! The test is about the newcomer. Requests in service share their server with those that are admitted later: while
//! small requests pass their test at a high `η`, a large one that was admitted at a low `η` becomes slower than its test
//! said. And while large requests of a more important class fail, small ones of a less important class pass between two
//! failures. In the experiment of figure 3 the target holds, and Bronze has nothing while Gold peaks, with requests of one
//! size (the test `bronze_suffers_before_silver_before_gold`). Of requests of 5 and 40 ms at the same rate the 95th
//! percentile exceeds the target by up to 65 %, and about half of Silver is admitted while Gold peaks (the test
//! `requests_of_two_sizes_exceed_the_target_and_mix_the_classes`).
//!
//! A threshold fills the servers by arrival rates alone. What was admitted too much in the period of a change stays as a
//! backlog while the load is over the capacity, and response times with it: in the experiment of figure 5 they do not
//! return under the target with the next threshold, as the paper's do. With [`SentryPlan::drains_backlog`], which is not
//! published, the threshold sets the servers for the backlog aside (the test
//! `a_threshold_is_wrong_for_a_period_and_its_backlog_stays`).

mod admission_test;
mod attained;
mod batches;
mod buckets;
mod delays;
mod entry;
mod estimates;
mod nucleus;
mod partition;
mod policing;
mod policy;
mod pool;
mod prediction;
mod provisioner;
mod queueing;
mod sentry;
mod service_time;
mod setup_error;
mod sla;
#[cfg(test)]
mod tests;
mod threshold;
mod workload;

pub use admission_test::AdmissionTest;
pub use buckets::ServiceRanges;
pub use delays::{ClassTraffic, DelayBound, DelayPlan, PolicedSystem};
pub(crate) use entry::SENTRY;
pub(crate) use nucleus::NUCLEUS;
pub use partition::{RevenueModel, partition};
pub use policing::{Policing, PolicingPlan, SwitchPlan};
pub use pool::{NodeId, NucleusReport, Skew};
pub use prediction::TrendPredictor;
pub use provisioner::{
    AppId, HostedApplication, Invocation, ProvisionAction, ProvisionFact, ProvisionPlan, Provisioner, SentryScaling,
};
pub use queueing::{WorkloadModel, sustained_rate};
pub use sentry::{
    Sentry, SentryAction, SentryClass, SentryCounts, SentryFact, SentryPermit, SentryPlan, SentryRefusal, SentryRequest,
};
pub use service_time::{ResourceUsage, ServiceTimePlan, ServiceTimes, UrlKey, UrlName, calibrated_alpha};
pub use setup_error::SetupError;
pub use sla::{Sla, SlaTier};
pub use threshold::{AdmissionThreshold, ClassLoad, ThresholdService};
pub use workload::WorkloadReport;
