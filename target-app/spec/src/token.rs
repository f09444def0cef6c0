//! The token of the control port.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use crate::private::{self, Unreadable};

/// A secret that authorises requests to the control port. It is written only to a ready line, and to the head of a
/// request: its debug form does not show it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

/// The bytes of a random token.
const DRAWN: usize = 32;
/// The shortest token from a file: 22 characters of base64 are 128 bits.
const SHORTEST: usize = 22;
/// The largest file, bytes.
const LARGEST: u64 = 1024;

impl Token {
    /// A new random token of 256 bits.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn draw() -> io::Result<Self> {
        let mut bytes = [0; DRAWN];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Reads the token from a file that only its owner can read.
    ///
    /// # Errors
    /// See [`TokenError`].
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let text = private::read(path, LARGEST).map_err(|error| match error {
            Unreadable::Unread(source) => TokenError::Unread { path: path.to_owned(), source },
            Unreadable::NoFile => TokenError::NoFile(path.to_owned()),
            Unreadable::Open { mode, owned } => TokenError::Open { path: path.to_owned(), mode, owned },
        })?;
        let token = text.trim_end_matches(['\r', '\n']);
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if token.len() < SHORTEST || !token.bytes().all(fits) {
            return Err(TokenError::Unfit(path.to_owned()));
        }
        Ok(Self(token.to_owned()))
    }

    /// True for the same token. The time of the comparison is independent of where two tokens differ.
    #[must_use]
    pub fn matches(&self, shown: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(shown).into()
    }

    /// The value of the header of a request.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// The token as text for a person.
    #[must_use]
    pub fn in_full(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.matches(other.0.as_bytes())
    }
}

/// The reason that a file has no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read.
    #[error("{}: {source}", .path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It is a folder, a pipe or a device.
    #[error("{}: not a file", .0.display())]
    NoFile(PathBuf),
    /// Other users may read or change it.
    #[error("{}: its mode is {mode:04o}{}, and a token must be its owner's alone: chmod 600 {}", .path.display(),
            if *.owned { "" } else { ", and it belongs to somebody else" }, .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// True if it belongs to the user of this process.
        owned: bool,
    },
    /// Too short to be a secret, or with characters that a header cannot have.
    #[error(
        "{}: not a token: one line of at least {SHORTEST} letters, digits or any of -._~+/= is one \
         (openssl rand -hex 32 makes one)",
        .0.display()
    )]
    Unfit(PathBuf),
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn a_drawn_token_is_its_own_and_is_not_printed() {
        let (one, other) = (Token::draw().unwrap(), Token::draw().unwrap());
        assert!(one.in_full().len() == 2 * DRAWN && one.matches(one.in_full().as_bytes()));
        assert!(
            !one.matches(other.in_full().as_bytes())
                && !one.matches(&one.in_full().as_bytes()[1..])
                && !one.matches(b"")
        );
        assert!(!format!("{one:?}").contains(one.in_full()));
    }

    #[test]
    fn a_file_must_be_its_owners_alone_and_have_a_token_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let read = |text: &str, mode: u32| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Token::read(&path)
        };
        let token = "0123456789abcdef0123456789abcdef";
        assert!(read(&format!("{token}\n"), 0o600).unwrap().matches(token.as_bytes()));
        for mode in [0o640, 0o604, 0o644, 0o660, 0o700] {
            let error = read(token, mode).unwrap_err();
            assert!(matches!(&error, TokenError::Open { .. }) && error.to_string().contains("chmod 600"), "{error}");
        }
        for unfit in ["", "short", "0123456789 0123456789abcdef", "0123456789abcdef\n0123456789abcdef"] {
            assert!(matches!(read(unfit, 0o600), Err(TokenError::Unfit(_))), "{unfit}");
        }
        assert!(matches!(Token::read(folder.path()), Err(TokenError::NoFile(_))));
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR).unwrap();
        assert!(matches!(Token::read(&pipe), Err(TokenError::NoFile(_))));
    }
}
