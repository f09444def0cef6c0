//! HTTP and gRPC: refusals, outcomes, and tags that a trusted sender puts on a request.

mod body;
mod notes;
mod outcomes;
mod refusal;
mod tags;

pub use body::{AdmissionBody, AtBody};
pub use notes::HttpNotes;
pub use outcomes::{HttpOutcomes, HttpReplies};
pub use refusal::HttpRefusal;
pub use tags::trusted_headers;

use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};

/// True for requests and responses of gRPC.
fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

/// The status of a gRPC call, in the head or in the trailers of its response.
const GRPC_STATUS: &str = "grpc-status";
/// When gRPC may retry, milliseconds; a negative number: never (gRPC proposal A6).
const GRPC_PUSHBACK: &str = "grpc-retry-pushback-ms";
/// `never` on a refusal that advises against a retry.
const RETRY: &str = "x-retry";

fn number<N: std::str::FromStr>(value: &HeaderValue) -> Option<N> {
    value.to_str().ok()?.trim().parse().ok()
}
