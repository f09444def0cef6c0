//! Why a token is not made, or not taken.

/// The reason why a token is not made, or not taken. No message has anything of a key or of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenProblem {
    /// Not base64url, with padding, or not the one spelling of its bytes.
    #[error("the token is not base64url without padding")]
    Encoding,
    /// Not the length of its version.
    #[error("the token has {found} bytes, not {expected}")]
    Length {
        /// Bytes of this token.
        found: usize,
        /// Bytes of a token of version 1.
        expected: usize,
    },
    /// Made by another version.
    #[error("the token has version {0}: only 1 is known")]
    Version(u8),
    /// Made with a key that is not live: it is too old, or never was.
    #[error("key {0} of the token is not live")]
    UnknownKey(u32),
    /// The tag is not that of these bytes.
    #[error("the token was changed, or made by somebody else")]
    Forged,
    /// Made for something else.
    #[error("the token is for another purpose")]
    Purpose,
    /// Made for another service.
    #[error("the token is for another service")]
    Audience,
    /// Given to somebody else.
    #[error("the token was given to somebody else")]
    Bearer,
    /// Before its time.
    #[error("the token may be used in {by_s} s")]
    Early {
        /// Seconds until it may be used.
        by_s: u64,
    },
    /// After its time.
    #[error("the token expired {by_s} s ago")]
    Late {
        /// Seconds since its last second.
        by_s: u64,
    },
    /// A token to be made would outlive its key.
    #[error("a token that expires in {life_s} s: at most {longest_s} s, or keys could not be rotated")]
    LivesTooLong {
        /// Seconds from now until it expires.
        life_s: u64,
        /// The longest life of a token of this ring.
        longest_s: u64,
    },
    /// A token to be made would expire before it may be used.
    #[error("a token that expires before it may be used")]
    NeverValid,
    /// A new key has the number of one that is live.
    #[error("key {0} is live already: give the new key another number")]
    KeyInUse(u32),
    /// Too many keys are live.
    #[error("{0} keys are live: rotate again when the oldest has died, or fewer could be verified")]
    TooManyKeys(usize),
}
