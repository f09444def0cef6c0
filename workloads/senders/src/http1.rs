//! HTTP/1.1 on the client's side, without a socket: requests out ([`Outgoing`]), responses in ([`Inbox`]).
//!
//! A host moves the bytes; this module interprets them: framing by `Content-Length`, by chunks or by the end of the
//! connection (RFC 9112, section 6.3), interim (1xx) answers, and whether the connection may be used again (section
//! 9.3). Both directions reuse their buffers: a request on a kept connection allocates nothing.

mod budget;
mod chunked;
mod inbox;
mod outgoing;

pub use budget::Budget;
pub use inbox::{HEADERS_MAX, HeaderSpace, Inbox, Limits, Progress, ReceivedResponse};
pub(crate) use outgoing::{FORM, Given, write_path};
pub use outgoing::{Known, Outgoing};

/// A response that a client cannot use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Http1Error {
    /// Not HTTP/1.
    #[error("the head of the response is not HTTP/1: {0}")]
    Head(httparse::Error),
    /// A record of TLS in place of a head.
    #[error("the service speaks TLS: is it https://?")]
    Tls,
    /// A head over [`Limits::head`].
    #[error("the head of the response is over {0} bytes long")]
    HeadTooLong(usize),
    /// Interim answers of more than [`Limits::head`] in all.
    #[error("there are over {0} bytes of interim (1xx) responses")]
    Interim(usize),
    /// The memory that all answers share is exhausted.
    #[error("the answers under way hold all of the {} MB that the generator has for them", .0 / 1_000_000)]
    Memory(usize),
    /// A body over [`Limits::body`].
    #[error("the body of the response is over {0} bytes long")]
    BodyTooLong(usize),
    /// `Content-Length` is no number, or there are several that differ (RFC 9112, section 6.3, rule 5).
    #[error("the response's Content-Length is no number, or there are two that differ")]
    ContentLength,
    /// A chunk's size line, end or trailer is malformed.
    #[error("the chunked body of the response is malformed")]
    Chunk,
    /// The connection ended before the response did.
    #[error("the connection ended before the response did")]
    CutShort,
    /// 101: the server switches to another protocol, which nobody asked for.
    #[error("the server switched protocols, which nobody asked for")]
    Switched,
}

#[cfg(test)]
mod tests;
