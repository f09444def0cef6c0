//! What layers do unless they are told otherwise: HTTP, if the feature is on.

#[cfg(feature = "http")]
pub use crate::http::{HttpOutcomes as ServerOutcomes, HttpRefusal as ServerRefusal, HttpReplies as ClientOutcomes};
#[cfg(not(feature = "http"))]
pub use crate::{
    outcome::{ErrorsAreFailures as ServerOutcomes, ErrorsAreFailures as ClientOutcomes},
    refusal::RefuseWithError as ServerRefusal,
};

/// The default refusal of servers.
#[cfg(feature = "http")]
pub(crate) fn server_refusal() -> ServerRefusal {
    ServerRefusal::default()
}

/// The default refusal of servers.
#[cfg(not(feature = "http"))]
pub(crate) fn server_refusal() -> ServerRefusal {
    ServerRefusal
}
