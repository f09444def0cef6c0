//! Machines that work for one lab, over NATS JetStream: a queue of work with its results, loads that several send together, files by digest.
//!
//! A coordinator places work ([`WorkOrders`]), agents take it ([`WorkSource`]). Neither knows the other: work waits in a stream until its
//! result is in a bucket, so that whoever dies loses nothing. A result is stored once; a second one of the same work is compared with it.
//!
//! Agents of a load are asked by name ([`Fleet::call`]) and kept in contact with ([`Contact`]); what they saw is on a board ([`LoadBoard`]),
//! where a coordinator that comes later finds it too.
//!
//! Bytes are all that goes through here: what they mean is the program's business.

mod access;
mod board;
mod calls;
mod connection;
mod contact;
mod envelope;
mod error;
mod files;
mod orders;
mod presence;
mod server_file;
mod stores;
mod work;

pub use access::NatsAccess;
pub use board::{BoardPosts, LoadBoard};
pub use calls::{CallAnswer, CallService};
pub use connection::Fleet;
pub use contact::Contact;
pub use error::FleetError;
pub use files::StoredFiles;
pub use orders::{WorkNews, WorkOrder, WorkOrders};
pub use presence::{AgentLease, AgentNote};
pub use server_file::server_file;
pub use work::{ClaimedWork, WorkSource};
