//! Password hashes. The cost of a hash is stored with it (a PHC string), so accounts of both costs can coexist.
//!
//! Generated users get the smallest cost that argon2id allows: signing in is a tenth of the mail load and part of every
//! retry, and the subject of measurement is the service, not the hash. The accounts of people get the cost that OWASP's
//! password storage cheat sheet recommends.

use argon2::{
    Algorithm, Argon2, Block, Params, PasswordHasher, PasswordVerifier, Version,
    password_hash::phc::{Output, PasswordHash},
};

/// The cost of computing a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordCost {
    /// 8 KiB, one pass: some ten microseconds.
    Least,
    /// 19 MiB, two passes: some ten milliseconds. The caller must hold a permit.
    Recommended,
}

impl PasswordCost {
    fn argon2(self) -> Argon2<'static> {
        let (memory_kib, passes) = match self {
            Self::Least => (8, 1),
            Self::Recommended => (19 * 1024, 2),
        };
        let params = Params::new(memory_kib, passes, 1, None).expect("constants within argon2's limits");
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
    }
}

/// The hash of a password as a PHC string. The salt must be random, except for generated users, whose passwords are no
/// secret.
#[must_use]
pub fn hash(password: &str, salt: &[u8; 16], cost: PasswordCost) -> String {
    let hash = cost.argon2().hash_password_with_salt(password.as_bytes(), salt);
    hash.expect("a salt of 16 bytes is within argon2's limits").to_string()
}

/// True if the password belongs to the hash, computed at the cost in the hash. A malformed hash fits no password.
#[must_use]
pub fn verify(password: &str, phc: &str) -> bool {
    let Ok(parsed) = PasswordHash::new(phc) else { return false };
    Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok()
}

/// True if verifying against this hash is expensive enough to need a permit.
#[must_use]
pub fn is_expensive(phc: &str) -> bool {
    const CHEAP_KIB: u32 = 64;
    let memory = PasswordHash::new(phc).ok().and_then(|hash| hash.params.get_decimal("m"));
    memory.is_none_or(|kib| kib > CHEAP_KIB)
}

/// A hash that fits no password, and takes as long as a real one: an unknown name must not be answered sooner than a
/// known one.
pub const DECOY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Memory for the computation of expensive hashes, kept from one to the next. (Memory that many threads allocate anew
/// stays with the allocator of each.)
#[derive(Debug, Default)]
pub struct Memory(Vec<Block>);

impl Memory {
    /// The same as [`verify`].
    pub fn verify(&mut self, password: &str, phc: &str) -> bool {
        self.computes(password, phc).unwrap_or(false)
    }

    fn computes(&mut self, password: &str, phc: &str) -> Option<bool> {
        let parsed = PasswordHash::new(phc).ok()?;
        let (salt, expected) = (parsed.salt.as_ref()?, parsed.hash.as_ref()?);
        let algorithm = Algorithm::new(parsed.algorithm.as_str()).ok()?;
        let version = parsed.version.map_or(Ok(Version::default()), Version::try_from).ok()?;
        let params = Params::try_from(&parsed).ok()?;
        let blocks = params.block_count();
        self.0.resize(self.0.len().max(blocks), Block::default());
        let mut computed = [0; Output::MAX_LENGTH];
        let computed = computed.get_mut(..expected.len())?;
        let argon2 = Argon2::new(algorithm, version, params);
        argon2
            .hash_password_into_with_memory(password.as_bytes(), salt.as_ref(), computed, &mut self.0[..blocks])
            .ok()?;
        // In constant time, which does not tell how much of it is the same.
        Some(Output::new(computed).ok()? == *expected)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_hash_knows_its_password_and_its_cost() {
        for (cost, expensive) in [(PasswordCost::Least, false), (PasswordCost::Recommended, true)] {
            let long = "é".repeat(129);
            let phc = hash(&long, &[7; 16], cost);
            assert!(verify(&long, &phc));
            assert!(!verify(&long[2..], &phc), "no prefix or suffix is cut off");
            assert_eq!(is_expensive(&phc), expensive, "{phc}");
            let mut memory = Memory::default();
            for _ in 0..2 {
                assert!(memory.verify(&long, &phc) && !memory.verify(&long[2..], &phc), "in memory that is used again");
            }
            assert_ne!(phc, hash(&long, &[8; 16], cost));
        }
        assert!(hash("x", &[0; 16], PasswordCost::Recommended).starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert!(!verify("", "nonsense") && !Memory::default().verify("", "nonsense"));
        let params = |phc: &str| phc.rsplitn(3, '$').last().map(str::to_owned);
        assert_eq!(
            params(DECOY),
            params(&hash("x", &[0; 16], PasswordCost::Recommended)),
            "the decoy costs what others do"
        );
        assert!(PasswordHash::new(DECOY).is_ok_and(|decoy| decoy.hash.is_some_and(|hash| hash.len() == 32)));
    }

    #[test]
    fn generated_users_sign_in_quickly() {
        let phc = hash("password", &[1; 16], PasswordCost::Least);
        let start = Instant::now();
        for _ in 0..100 {
            assert!(verify("password", &phc));
        }
        println!("verify at least cost: {:?} each", start.elapsed() / 100);
    }
}
