use std::fmt;

use workloads::host::ExchangeEnd;

use crate::http1::Http1Error;

/// An exchange without an answer: how it ended, and why.
#[derive(Debug, Clone)]
pub struct Lost {
    pub(super) end: ExchangeEnd,
    /// Empty where there is nothing to add.
    pub(super) why: String,
    /// True if the service has certainly not begun with the request, which may be sent again.
    pub(super) unprocessed: bool,
}

impl From<ExchangeEnd> for Lost {
    fn from(end: ExchangeEnd) -> Self {
        Self { end, why: String::new(), unprocessed: false }
    }
}

impl From<Http1Error> for Lost {
    fn from(error: Http1Error) -> Self {
        let end = if matches!(error, Http1Error::Memory(_)) { ExchangeEnd::OutOfMemory } else { ExchangeEnd::Broken };
        Self::because(end, &error)
    }
}

impl Lost {
    pub(super) fn because(end: ExchangeEnd, why: &impl fmt::Display) -> Self {
        Self { end, why: why.to_string(), unprocessed: false }
    }
}
