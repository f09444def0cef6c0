//! A secret, and what is computed with it.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Length of a tag, bytes.
pub(crate) const TAG: usize = 32;

/// A key of 32 bytes, to be drawn at random, with a number that tokens name it by. It never prints its bytes, and overwrites them when
/// it is dropped; copies that were made before it got them are their maker's.
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

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl ZeroizeOnDrop for SecretKey {}

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

    /// What was in memory cannot be looked at without unsafe code: the types say that it is overwritten.
    #[test]
    fn a_key_and_what_is_computed_from_it_are_overwritten_when_dropped() {
        fn overwrites<T: ZeroizeOnDrop>() {}
        overwrites::<SecretKey>();
        overwrites::<Sha256>(); // the states of HMAC are those of its hash
    }

    #[test]
    fn it_does_not_print_its_secret() {
        let shown = format!("{:?}", SecretKey::new(7, [0xAB; 32]));
        assert_eq!(shown, r#"SecretKey { number: 7, secret: "(hidden)" }"#);
    }
}
