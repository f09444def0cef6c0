//! Synthetic services without their work: laws of service times, servers, stage graphs.

mod batch;
mod law;
pub mod server_model;

use spec::{
    EmulatedSpec,
    graph::{Graph, Role},
};

pub use batch::{SequenceTokens, TokenBatch};
pub use law::{Law, LawError};

/// The value of the degraded mark for the cheapest answer that an emulated service can give.
pub const CHEAPEST: &str = "1";

/// The request type and the stage of an emulated service.
#[must_use]
pub fn emulated_graph() -> Graph {
    graph_with(&[])
}

/// The same with the request types of this service: the usual one, then a path each.
#[must_use]
pub fn typed_graph(emulated: &EmulatedSpec) -> Graph {
    let paths: Vec<&str> = emulated.types.keys().map(String::as_str).collect();
    graph_with(&paths)
}

fn graph_with(paths: &[&str]) -> Graph {
    Graph::new(&[&["request"], paths].concat(), &[("work", Role::Dynamic)])
}

/// The request type and the stage of the checksum service.
#[must_use]
pub fn checksum_graph() -> Graph {
    Graph::new(&["request"], &[("checksum", Role::Dynamic)])
}
