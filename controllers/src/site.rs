//! The site round a policy: its queue or gate, its batch and pool, its held jobs, and what happens to a refused job.
//!
//! A site is a machine like the policy in it. Hosts tell it what happens (`offer`, `started`, `ended`, `batch_done`,
//! `observe`), and after each call ask [`Gate::poll`], [`Clients::poll`], [`Stage::poll`] or [`Dispatch::poll`] until nothing is left to do. A
//! live host is a lock, a notifier and a timer round it; a plant in virtual time is an event heap round it. Nothing about
//! queueing, order, facts told to policies, effects or refusals is written in a host.
//!
//! | machine | stands for | paper |
//! |---|---|---|
//! | [`Stage`] | a bounded queue with a policy at its entry and a pool of workers that take batches | USITS'03, figure 2 |
//! | [`Gate`] | a policy without a queue of its own: before dispatch, at accept | USITS'03, section 4.1 |
//! | [`Clients`] | policies on the sender's side, asked before a request is sent | - |
//! | [`Dispatch`] | the workers of the stage upstream, and their four answers to a refusal | USITS'03, section 2.3 |

mod action;
mod client;
mod dispatch;
mod gate;
mod gauges;
mod pool;
mod sampler;
mod stage;
#[cfg(test)]
mod tests;
mod watch;

pub use action::{Action, Permit, TurnedAway};
pub use client::{Asked, ClientGauges, ClientScope, Clients, Decided, Member, Pass};
pub use dispatch::{Dispatch, DispatchStep, OnRefuse, RETRY_BLOCKED, RefusalAnswer, outcome_of_refusal};
pub use gate::{Entered, Gate};
pub use gauges::{CONTRADICTIONS, StageGauges};
pub use sampler::Probe;
pub use stage::{Queued, Stage, StageLimits, WorkerStep};
pub use watch::{InstalledPolicy, PolicySite, SiteMachine, earliest};
