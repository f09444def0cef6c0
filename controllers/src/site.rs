//! The site of a policy: queue or gate, batch and pool, held jobs, and the handling of refused jobs.
//!
//! A site is a state machine, like its policy. Hosts report what happens (`offer`, `started`, `ended`, `batch_done`,
//! `observe`), and after each call poll [`Gate::poll`], [`Clients::poll`], [`Stage::poll`] or [`Dispatch::poll`] until no action is left.
//! A live host adds a lock, a notifier and a timer; a plant in virtual time adds an event heap. Queueing, order, the
//! facts that policies receive, effects and refusals are implemented here only.
//!
//! | machine | represents | paper |
//! |---|---|---|
//! | [`Stage`] | a bounded queue with a policy at its entry and a pool of workers that process batches | USITS'03, figure 2 |
//! | [`Gate`] | a policy without a queue of its own: before dispatch, at accept | USITS'03, section 4.1 |
//! | [`Clients`] | policies on the sender's side, asked before a request is sent | - |
//! | [`Dispatch`] | the workers of the upstream stage, and their four answers to a refusal | USITS'03, section 2.3 |

mod action;
mod client;
mod dispatch;
mod gate;
mod gauges;
mod policy_site;
mod pool;
mod sampler;
mod stage;
#[cfg(test)]
mod tests;

pub use action::{Action, Permit, TurnedAway};
pub use client::{Asked, ClientGauges, ClientScope, Clients, Decided, Member, Pass};
pub use dispatch::{Dispatch, DispatchStep, OnRefuse, RETRY_BLOCKED, RefusalAnswer, outcome_of_refusal};
pub use gate::{Entered, Gate};
pub use gauges::{CONTRADICTIONS, StageGauges};
pub use policy_site::{InstalledPolicy, PolicySite, SiteMachine, earliest};
pub use sampler::{LoadReading, Probe};
pub use stage::{QueuedJob, Stage, StageLimits, WorkerStep};
