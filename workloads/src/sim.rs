//! The host in virtual time: the users, the plan and the ledgers of a live run, with an event heap in place of the
//! clock, and a [`SimServer`] in place of the network and the service.
//!
//! Nothing here reads a clock or draws randomness of its own: a run is a function of plan, world and seed. Events are
//! ordered by (time, sequence), so two runs agree in every event. Draws are keyed: request *k* of user *u* meets the same
//! link and has the same [key](SimRequest::key) for its service time under every policy, and its retries are keyed by
//! (request, attempt).

mod connections;
mod event;
mod event_queue;
mod host;
mod identity;
mod link;
mod mailbox;
mod message;
mod server;
mod slots;
#[cfg(test)]
mod tests;

pub use event_queue::EventQueue;
pub use host::{SimOutcome, run};
pub use identity::{Identity, identity_of};
pub use link::LinkSpec;
pub use mailbox::Mailboxes;
pub use message::{ConnId, Response, SimClient, SimRequest, SynResult};
pub use server::{Cx, SimServer};
pub use slots::ConnSlots;
