//! Synthetic services without their work: laws of service times, servers, stage graphs.

mod law;
pub mod server_model;

use spec::graph::{Graph, Role};

pub use law::{Law, LawError};

/// The value of the degraded mark for the cheapest answer that an emulated service can give.
pub const CHEAPEST: &str = "1";

/// The request type and the stage of an emulated service.
#[must_use]
pub fn emulated_graph() -> Graph {
    Graph::new(&["request"], &[("work", Role::Dynamic)])
}

/// The request type and the stage of the checksum service.
#[must_use]
pub fn checksum_graph() -> Graph {
    Graph::new(&["request"], &[("checksum", Role::Dynamic)])
}
