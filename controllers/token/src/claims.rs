//! What a token says.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::TokenProblem;

/// The use of a token. Numbers are the issuer's choice: a token for one purpose is none for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenPurpose(pub u8);

impl TokenPurpose {
    /// A turn in a virtual queue.
    pub const TURN: Self = Self(1);
    /// A place in a waiting room, without a turn yet.
    pub const PLACE: Self = Self(2);
    /// Being inside: no turn is needed until it expires.
    pub const VISIT: Self = Self(3);
}

/// The service that a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audience(pub(crate) [u8; 16]);

impl Audience {
    /// The service of this name, such as its origin.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&Sha256::digest(name.as_bytes())[..16]);
        Self(half)
    }
}

/// The bearer of a token, as a digest: of a cookie, or of an address.
#[derive(Debug, Clone, Copy)]
pub struct Binding(pub(crate) [u8; 32]);

impl Binding {
    /// The SHA-256 of what the bearer shows.
    #[must_use]
    pub fn digest(shown: &[u8]) -> Self {
        Self(Sha256::digest(shown).into())
    }

    /// The bytes of the digest.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// In constant time.
impl PartialEq for Binding {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Binding {}

/// The contents of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claims {
    /// The use.
    pub purpose: TokenPurpose,
    /// The service that takes it.
    pub audience: Audience,
    /// The first second that it may be used in, since 1970.
    pub not_before: u64,
    /// The last second that it may be used in, since 1970.
    pub expires: u64,
    /// A random number, by which used tokens are remembered.
    pub id: u128,
    /// The bearer.
    pub binding: Binding,
}

impl Claims {
    /// Checks that it may be used now, in seconds since 1970.
    ///
    /// # Errors
    /// [`TokenProblem::Early`] or [`TokenProblem::Late`], each with the seconds that are wrong.
    pub fn check_time(&self, now: u64) -> Result<(), TokenProblem> {
        if now < self.not_before {
            return Err(TokenProblem::Early { by_s: self.not_before - now });
        }
        if now > self.expires {
            return Err(TokenProblem::Late { by_s: now - self.expires });
        }
        Ok(())
    }

    /// Checks that it was given to this bearer.
    ///
    /// # Errors
    /// [`TokenProblem::Bearer`].
    pub fn check_bearer(&self, bearer: Binding) -> Result<(), TokenProblem> {
        if self.binding == bearer { Ok(()) } else { Err(TokenProblem::Bearer) }
    }
}
