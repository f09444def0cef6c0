//! Digests of files.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use sha2::{Digest as _, Sha256};

/// Length and SHA-256, in hexadecimal, of a file of any length.
pub fn of_file(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => {
                hash.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
    Ok((bytes, hexadecimal(hash)))
}

/// SHA-256, in hexadecimal, of these bytes.
pub fn of(bytes: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(bytes);
    hexadecimal(hash)
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::put;

    /// FIPS 180-2, appendix B.1 and B.3: "abc", and a million times "a".
    #[test]
    fn the_digests_are_those_of_the_standard() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        let of = |text: &str| {
            put(&path, text);
            of_file(&path).expect("readable")
        };
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let million = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(of("abc"), (3, abc.to_owned()));
        assert_eq!(super::of(b"abc"), abc);
        assert_eq!(of(&"a".repeat(1_000_000)), (1_000_000, million.to_owned()));
    }
}
