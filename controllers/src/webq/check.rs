//! Whether a request came in its turn (section II-C): TokenCheck.
//!
//! # Deviations from the paper
//!
//! - A turn lasts one second more at either end for each second of stated skew; the paper lets time stamps be rounded.
//! - The binding is whatever the host digested: a cookie, or an address as in the paper.
//! - A token can be held to a single use. The paper accepts that it may be used again within its second, since it keeps no
//!   state; here the state is bounded, and what does not fit is told to wait, and counted.
//! - The released code switches the check off. There is nothing to take from it.

mod used;

use crate::{Timestamp, UnixSeconds};

use super::bad_params::{BadParams, MAX_SKEW_S};

use used::{Insertion, UsedTokens};

/// What a verified token says, and who came with it. The host has verified the token's tag: nothing here is secret, and
/// nothing here was made up by the user.
#[derive(Debug, Clone, Copy)]
pub struct PromisedTurn<'a> {
    /// The second that was promised.
    pub at: UnixSeconds,
    /// The token's own number.
    pub id: u128,
    /// The digest in the token of whom it was given to.
    pub binding: &'a [u8],
    /// The digest of who came. Both are of public values: their comparison needs no constant time.
    pub presented: &'a [u8],
}

/// How turns are checked.
#[derive(Debug, Clone, Copy)]
pub struct CheckParams {
    /// Seconds by which the clocks of TokenGen, TokenCheck and user may differ, 0 to 30. The window of a turn is its
    /// second and this many before and after it.
    pub skew_s: u32,
    /// `Some(n)`: each token is admitted once, and at most n are remembered. `None`: as often as it comes in its window.
    /// A window of 11 s (a skew of 5 s) and n = 65 536 hold 2978 admissions a second.
    pub single_use: Option<usize>,
}

impl Default for CheckParams {
    fn default() -> Self {
        Self { skew_s: 5, single_use: Some(65_536) }
    }
}

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CheckRefusal {
    /// Its window has not begun.
    #[error("too early by {by_s} s")]
    Early {
        /// Seconds until the window begins.
        by_s: u64,
    },
    /// Its window is over.
    #[error("too late by {by_s} s")]
    Late {
        /// Seconds since the window ended.
        by_s: u64,
    },
    /// The token was given to somebody else.
    #[error("the token was given to somebody else")]
    WrongBinding,
    /// The token was used before.
    #[error("the token was used before")]
    Replayed,
    /// The wall clock went back, to a time whose used tokens are forgotten.
    #[error("whether the token was used before is not known any more")]
    Forgotten,
    /// No more tokens can be remembered in this window: wait, and come again within it.
    #[error("too many at once: wait a moment")]
    Wait,
}

/// What became of tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckCounts {
    /// Let in.
    pub admitted: u64,
    /// Before their window.
    pub early: u64,
    /// After their window.
    pub late: u64,
    /// For another binding.
    pub wrong_binding: u64,
    /// Used before.
    pub replayed: u64,
    /// Of a time whose used tokens are forgotten.
    pub forgotten: u64,
    /// Not let in since no more could be remembered.
    pub wait: u64,
}

/// Checks turns. A used token stays used, whatever the wall clock does: after a step back it refuses what it does not
/// remember until the clock has caught up, or the host begins with a new check.
#[derive(Debug)]
pub struct TokenCheck {
    skew_s: u64,
    used: Option<UsedTokens>,
    counts: CheckCounts,
}

impl TokenCheck {
    /// A check without a past. One that starts anew remembers no used tokens: those of the current window are let in
    /// once more.
    ///
    /// # Errors
    /// The skew is over 30 s, or there is room for no token.
    pub fn new(params: CheckParams) -> Result<Self, BadParams> {
        if params.skew_s > MAX_SKEW_S {
            return Err(BadParams::Skew(params.skew_s));
        }
        if params.single_use == Some(0) {
            return Err(BadParams::NoMemory);
        }
        let skew_s = u64::from(params.skew_s);
        let used = params.single_use.map(|most| UsedTokens::new(2 * skew_s + 1, most));
        Ok(Self { skew_s, used, counts: CheckCounts::default() })
    }

    /// Lets a request in, or says why not. `now` is the wall clock, which TokenGen has promised by; `steady` never goes
    /// back.
    ///
    /// # Errors
    /// See [`CheckRefusal`]; each reason has its count.
    pub fn check(&mut self, now: UnixSeconds, steady: Timestamp, turn: &PromisedTurn<'_>) -> Result<(), CheckRefusal> {
        let checked = self.decide(now, steady, turn);
        *match checked {
            Ok(()) => &mut self.counts.admitted,
            Err(CheckRefusal::Early { .. }) => &mut self.counts.early,
            Err(CheckRefusal::Late { .. }) => &mut self.counts.late,
            Err(CheckRefusal::WrongBinding) => &mut self.counts.wrong_binding,
            Err(CheckRefusal::Replayed) => &mut self.counts.replayed,
            Err(CheckRefusal::Forgotten) => &mut self.counts.forgotten,
            Err(CheckRefusal::Wait) => &mut self.counts.wait,
        } += 1;
        checked
    }

    /// What became of tokens.
    #[must_use]
    pub fn counts(&self) -> CheckCounts {
        self.counts
    }

    /// Tokens that are remembered as used.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.used.as_ref().map_or(0, UsedTokens::len)
    }

    fn decide(&mut self, now: UnixSeconds, steady: Timestamp, turn: &PromisedTurn<'_>) -> Result<(), CheckRefusal> {
        // First: nobody else is told when a turn is.
        if turn.binding != turn.presented {
            return Err(CheckRefusal::WrongBinding);
        }
        let (now, at) = (now.0, turn.at.0);
        let early = at.saturating_sub(now.saturating_add(self.skew_s));
        if early > 0 {
            return Err(CheckRefusal::Early { by_s: early });
        }
        let late = now.saturating_sub(at.saturating_add(self.skew_s));
        if late > 0 {
            return Err(CheckRefusal::Late { by_s: late });
        }
        let Some(used) = &mut self.used else { return Ok(()) };
        used.forget_before(now.saturating_sub(self.skew_s), steady);
        match used.insert(at, turn.id, steady) {
            Insertion::New => Ok(()),
            Insertion::Known => Err(CheckRefusal::Replayed),
            Insertion::Forgotten => Err(CheckRefusal::Forgotten),
            Insertion::NoRoom => Err(CheckRefusal::Wait),
        }
    }
}
