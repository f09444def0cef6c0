//! Keys that rotate.

use super::{
    Audience, Claims, SecretKey, TokenProblem, TokenPurpose,
    layout::{Sealed, seal},
    message,
};

/// The most live keys, the sealing one among them.
const MOST_KEYS: usize = 8;

/// The keys of one issuer: the newest seals, all live ones open.
#[derive(Debug, Clone)]
pub struct KeyRing {
    newest: SecretKey,
    /// Keys that were replaced, and the last second of each.
    older: Vec<(SecretKey, u64)>,
    longest_life_s: u64,
}

impl KeyRing {
    /// A ring of one key. No token lives longer than `longest_life_s` seconds: the longest wait, and its window.
    #[must_use]
    pub const fn new(key: SecretKey, longest_life_s: u64) -> Self {
        Self { newest: key, older: Vec::new(), longest_life_s }
    }

    /// Seals with another key from now on. The one before opens what it has sealed until the last of it has expired.
    ///
    /// # Errors
    /// The number belongs to a live key, or eight keys are live: rotate no more often than seven times in the longest life
    /// of a token. Nothing has changed then.
    pub fn rotate(&mut self, key: SecretKey, now: u64) -> Result<(), TokenProblem> {
        self.older.retain(|(_, last)| now <= *last);
        if self.live(key.number(), now).is_some() {
            return Err(TokenProblem::KeyInUse(key.number()));
        }
        if self.older.len() + 1 >= MOST_KEYS {
            return Err(TokenProblem::TooManyKeys(MOST_KEYS));
        }
        let last = now.saturating_add(self.longest_life_s);
        self.older.push((std::mem::replace(&mut self.newest, key), last));
        Ok(())
    }

    /// Makes a token: a text of 158 letters, base64url.
    ///
    /// # Errors
    /// It would outlive its key ([`TokenProblem::LivesTooLong`]), or expire before it may be used.
    pub fn seal(&self, claims: &Claims, now: u64) -> Result<String, TokenProblem> {
        let life_s = claims.expires.saturating_sub(now);
        if life_s > self.longest_life_s {
            return Err(TokenProblem::LivesTooLong { life_s, longest_s: self.longest_life_s });
        }
        if claims.expires < claims.not_before {
            return Err(TokenProblem::NeverValid);
        }
        Ok(seal(claims, &self.newest))
    }

    /// Verifies a token, and says what it says. Time and bearer are the next to be checked ([`Claims::check_time`],
    /// [`Claims::check_bearer`]), and whether it was used before.
    ///
    /// # Errors
    /// It is no token of this version, its key is not live, its tag is not right, or it is for something else.
    pub fn open(
        &self,
        text: &str,
        purpose: TokenPurpose,
        audience: Audience,
        now: u64,
    ) -> Result<Claims, TokenProblem> {
        let sealed = Sealed::read(text)?;
        let key = self.live(sealed.key(), now).ok_or(TokenProblem::UnknownKey(sealed.key()))?;
        let claims = sealed.open(key)?;
        if claims.purpose != purpose {
            return Err(TokenProblem::Purpose);
        }
        if claims.audience != audience {
            return Err(TokenProblem::Audience);
        }
        Ok(claims)
    }

    /// Makes a message for others who have these keys, of any length. It has no time: what it says must tell an old one from
    /// a new one.
    #[must_use]
    pub fn seal_message(&self, message: &[u8], audience: Audience) -> Vec<u8> {
        message::seal(message, audience, &self.newest)
    }

    /// Verifies a message, and returns what it says.
    ///
    /// # Errors
    /// It is no message of this version, its key is not live, its tag is not right, or it is for another service.
    pub fn open_message<'a>(&self, bytes: &'a [u8], audience: Audience, now: u64) -> Result<&'a [u8], TokenProblem> {
        let number = message::key(bytes)?;
        let key = self.live(number, now).ok_or(TokenProblem::UnknownKey(number))?;
        message::open(bytes, audience, key)
    }

    /// The numbers of the keys that are live now, the sealing one first.
    #[must_use]
    pub fn live_keys(&self, now: u64) -> Vec<u32> {
        let older = self.older.iter().rev().filter(|(_, last)| now <= *last).map(|(key, _)| key.number());
        std::iter::once(self.newest.number()).chain(older).collect()
    }

    fn live(&self, number: u32, now: u64) -> Option<&SecretKey> {
        let older = self.older.iter().filter(|(_, last)| now <= *last).map(|(key, _)| key);
        std::iter::once(&self.newest).chain(older).find(|key| key.number() == number)
    }
}
