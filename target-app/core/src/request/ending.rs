//! Ends of requests, as ledgers count them.

use controllers::Reason;

/// The end of a request as a ledger counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerEnding {
    /// Answered as requested.
    Served,
    /// Answered that its body is at fault.
    AtFault,
    /// Refused.
    Refused(Reason),
    /// Failed.
    Failed,
}
