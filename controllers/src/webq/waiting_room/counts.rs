//! What became of requests at a waiting room.

use super::refusal::{TokenFault, TokenRefusal};
use crate::webq::CheckRefusal;

/// Requests by what became of them, and shown tokens by why they did not let in. Each request is in one of `passed`,
/// `inside`, `promised`, `full`, `over_share`, and those that kept their place: `early` and `no_memory`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoomCounts {
    /// Let in: in their turn, or with room at once.
    pub passed: u64,
    /// Let in without a turn, of users who are inside.
    pub inside: u64,
    /// Told to wait, with a new token.
    pub promised: u64,
    /// Turned away: the queue is full.
    pub full: u64,
    /// Turned away: their source has its share of the queue.
    pub over_share: u64,
    /// Told what is left of their wait.
    pub early: u64,
    /// In their turn, and told to come again within it: no more used tokens can be remembered.
    pub no_memory: u64,
    /// Tokens after their window, and visits that are over.
    pub late: u64,
    /// Tokens of somebody else.
    pub other_binding: u64,
    /// Tokens that were used before.
    pub replayed: u64,
    /// Tokens of a time whose used tokens are forgotten.
    pub forgotten: u64,
    /// What is no token, or of another version.
    pub malformed: u64,
    /// Tokens of a key that is not known, or not any more.
    pub unknown_key: u64,
    /// Tokens with a wrong tag.
    pub forged: u64,
    /// Tokens of another service, or for something else.
    pub foreign: u64,
}

impl RoomCounts {
    pub(super) fn refused(&mut self, why: TokenRefusal) {
        *match why {
            TokenRefusal::Unverified(TokenFault::Malformed) => &mut self.malformed,
            TokenRefusal::Unverified(TokenFault::UnknownKey) => &mut self.unknown_key,
            TokenRefusal::Unverified(TokenFault::Forged) => &mut self.forged,
            TokenRefusal::Unverified(TokenFault::Foreign) => &mut self.foreign,
            TokenRefusal::Check(CheckRefusal::Early { .. }) => &mut self.early,
            TokenRefusal::Check(CheckRefusal::Late { .. }) => &mut self.late,
            TokenRefusal::Check(CheckRefusal::WrongBinding) => &mut self.other_binding,
            TokenRefusal::Check(CheckRefusal::Replayed) => &mut self.replayed,
            TokenRefusal::Check(CheckRefusal::Forgotten) => &mut self.forgotten,
            TokenRefusal::Check(CheckRefusal::Wait) => &mut self.no_memory,
        } += 1;
    }

    /// Requests by what became of them.
    #[must_use]
    pub const fn requests(&self) -> [(&'static str, u64); 7] {
        [
            ("passed", self.passed),
            ("inside", self.inside),
            ("promised", self.promised),
            ("full", self.full),
            ("over-share", self.over_share),
            ("early", self.early),
            ("no-memory", self.no_memory),
        ]
    }

    /// Tokens that did not let in, by [`TokenRefusal::name`].
    #[must_use]
    pub const fn refusals(&self) -> [(&'static str, u64); 10] {
        [
            ("early", self.early),
            ("late", self.late),
            ("other-binding", self.other_binding),
            ("replayed", self.replayed),
            ("forgotten", self.forgotten),
            ("no-memory", self.no_memory),
            ("malformed", self.malformed),
            ("unknown-key", self.unknown_key),
            ("forged", self.forged),
            ("foreign", self.foreign),
        ]
    }
}
