//! Tokens that promise admission: a waiting room hands one out, and checks it when its bearer comes.
//!
//! A token says when it may be used, for what and where, and whom it was given to, and it has a number of its own. It is
//! authenticated, not hidden: its bearer can read it, and cannot change it. The crate reads no clock, draws no randomness
//! and does no I/O: time, keys and numbers are arguments.
//!
//! ```
//! use admission_token::{Audience, Binding, KeyRing, Claims, TokenPurpose, SecretKey};
//!
//! let mut keys = KeyRing::new(SecretKey::new(1, [7; 32]), 1100); // no token lives longer than 1100 s
//! let claims = Claims {
//!     purpose: TokenPurpose::TURN,
//!     audience: Audience::named("https://tickets.example"),
//!     not_before: 1_000_020,
//!     expires: 1_000_031,
//!     id: 0x5EED, // 128 random bits
//!     binding: Binding::digest(b"the value of a cookie"),
//! };
//! let text = keys.seal(&claims, 1_000_000)?; // 158 letters, for a cookie or a URL
//!
//! keys.rotate(SecretKey::new(2, [8; 32]), 1_000_010)?; // whoever waits keeps the token
//! let opened = keys.open(&text, TokenPurpose::TURN, Audience::named("https://tickets.example"), 1_000_025)?;
//! opened.check_time(1_000_025)?;
//! opened.check_bearer(Binding::digest(b"the value of a cookie"))?;
//! assert_eq!(opened, claims);
//! # Ok::<(), admission_token::TokenProblem>(())
//! ```
//!
//! # Layout
//!
//! All numbers are big-endian; the text is base64url without padding.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | version, 1 |
//! | 4 | key |
//! | 1 | purpose |
//! | 16 | audience: the first half of the SHA-256 of its name |
//! | 8 | not before, seconds since 1970 |
//! | 8 | expires: the last second that it may be used in |
//! | 16 | number of the token |
//! | 32 | SHA-256 of what it is bound to |
//! | 32 | HMAC-SHA-256 of all bytes before it |
//!
//! Version and key choose how and with what a token is verified; nothing else is read before its tag has been, in constant
//! time. A text that is not the one spelling of its bytes is refused: one token with two spellings would be two
//! tokens for whoever remembers texts.
//!
//! # Keys
//!
//! The newest key seals, all live ones open. A key that was replaced lives on for the longest life of a token, which
//! [`KeyRing::seal`] holds every token to: a rotation refuses nobody who was promised something. Keys, and the states of HMAC that are
//! made of them, are overwritten when they are dropped.
//!
//! # Messages
//!
//! Those who share keys can tell each other something by them ([`KeyRing::seal_message`]): a message is authenticated like a
//! token, and is never one.
//!
//! # What it does not do
//!
//! It remembers no used tokens, and tolerates no skew of clocks (the issuer widens the times).
#![warn(missing_docs)]

mod claims;
mod key;
mod layout;
mod message;
mod problem;
mod ring;

pub use claims::{Audience, Binding, Claims, TokenPurpose};
pub use key::SecretKey;
pub use problem::TokenProblem;
pub use ring::KeyRing;
