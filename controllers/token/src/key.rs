//! A secret, and what is computed with it.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Length of a tag, bytes.
pub(crate) const TAG: usize = 32;

/// A key of 32 bytes, to be drawn at random, with a number that tokens name it by. It never prints its bytes.
#[derive(Clone)]
pub struct SecretKey {
    number: u32,
    secret: [u8; 32],
}

impl SecretKey {
    /// A key. Numbers must differ between the live keys of a ring.
    #[must_use]
    pub const fn new(number: u32, secret: [u8; 32]) -> Self {
        Self { number, secret }
    }

    /// The number that tokens name it by.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn tag(&self, bytes: &[u8]) -> [u8; TAG] {
        self.over(bytes).finalize().into_bytes().into()
    }

    /// True if the tag is that of the bytes: in constant time.
    pub(crate) fn verifies(&self, bytes: &[u8], tag: &[u8]) -> bool {
        self.over(bytes).verify_slice(tag).is_ok()
    }

    fn over(&self, bytes: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("HMAC takes keys of every length");
        mac.update(bytes);
        mac
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey").field("number", &self.number).field("secret", &"(hidden)").finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_hmac_sha_256_as_rfc_4231_has_it() {
        // Test case 1 has a key of 20 bytes 0x0b; HMAC pads keys with zeros, so that it is this key of 32 too.
        let mut secret = [0; 32];
        secret[..20].fill(0x0b);
        let tag = SecretKey::new(1, secret).tag(b"Hi There");
        let hex: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    }

    #[test]
    fn it_does_not_print_its_secret() {
        let shown = format!("{:?}", SecretKey::new(7, [0xAB; 32]));
        assert_eq!(shown, r#"SecretKey { number: 7, secret: "(hidden)" }"#);
    }
}
