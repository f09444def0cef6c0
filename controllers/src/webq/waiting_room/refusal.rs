//! Causes for which a token does not let its bearer in.

use crate::webq::CheckRefusal;

/// Why a host could not verify a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenFault {
    /// Not the bytes of a token.
    Malformed,
    /// Made with a key that is not known, or not any more.
    UnknownKey,
    /// Its tag is wrong.
    Forged,
    /// Made for another service, or for something else.
    Foreign,
}

/// Why a token that was shown did not let its bearer in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRefusal {
    /// It could not be verified.
    Unverified(TokenFault),
    /// It is none of this turn.
    Check(CheckRefusal),
}

impl TokenRefusal {
    /// The name that counts, headers and pages have for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unverified(TokenFault::Malformed) => "malformed",
            Self::Unverified(TokenFault::UnknownKey) => "unknown-key",
            Self::Unverified(TokenFault::Forged) => "forged",
            Self::Unverified(TokenFault::Foreign) => "foreign",
            Self::Check(CheckRefusal::Early { .. }) => "early",
            Self::Check(CheckRefusal::Late { .. }) => "late",
            Self::Check(CheckRefusal::WrongBinding) => "other-binding",
            Self::Check(CheckRefusal::Replayed) => "replayed",
            Self::Check(CheckRefusal::Forgotten) => "forgotten",
            Self::Check(CheckRefusal::Wait) => "no-memory",
        }
    }
}
