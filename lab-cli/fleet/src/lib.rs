//! Machines that compute for one lab, over NATS JetStream: a queue of work with its results, and files by their digest.
//!
//! A coordinator places work ([`WorkOrders`]), agents take it ([`WorkSource`]). Neither knows the other: work waits in a stream until its
//! result is in a bucket, so that whoever dies loses nothing. A result is stored once; a second one of the same work is compared with it.
//! Bytes are all that goes through here: what they mean is the program's business.

mod access;
mod connection;
mod envelope;
mod error;
mod files;
mod orders;
mod presence;
mod server_file;
mod stores;
mod work;

pub use access::NatsAccess;
pub use connection::Fleet;
pub use error::FleetError;
pub use orders::{WorkNews, WorkOrder, WorkOrders};
pub use presence::{AgentLease, AgentNote};
pub use server_file::SERVER_FILE;
pub use work::{ClaimedWork, WorkSource};
