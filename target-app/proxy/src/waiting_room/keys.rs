//! The keys of tokens: drawn at the start, or from a file that replicas share and that may grow while they run.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, RwLock},
};

use admission_token::{Audience, Claims, KeyRing, SecretKey, TokenProblem};
use controllers::UnixSeconds;
use live_service::stage::lock;
use service_core::waiting_room::tokens;
use spec::private::{self, Unreadable};
use zeroize::Zeroizing;

use crate::error::ProxyError;

/// The largest file, bytes.
const LARGEST: u64 = 64 * 1024;

/// The way to make a file of keys.
const MAKE: &str = "a line is a number and 64 hexadecimal digits: \
                    (umask 077; echo \"1 $(openssl rand -hex 32)\" >> keys.txt) makes one";

/// The keys of a process.
#[derive(Debug)]
pub(super) struct Keys {
    ring: RwLock<KeyRing>,
    file: Option<KeyFile>,
    audience: Audience,
}

#[derive(Debug)]
struct KeyFile {
    path: PathBuf,
    last: Mutex<Looked>,
}

/// The result of the last look at a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Looked {
    at: UnixSeconds,
    stamp: Option<FileStamp>,
}

/// Signs of a change of a file: its number, length and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp(u64, u64, i64, i64);

impl Keys {
    /// A key of this process alone, or those of the file. No token lives longer than `longest_life_s`.
    ///
    /// # Errors
    /// The file has no keys, or others may read it.
    pub(super) fn new(
        file: Option<&Path>,
        audience: Audience,
        longest_life_s: u64,
        now: UnixSeconds,
    ) -> Result<Self, ProxyError> {
        let Some(path) = file else {
            let ring = KeyRing::new(SecretKey::new(1, drawn()), longest_life_s);
            return Ok(Self { ring: RwLock::new(ring), file: None, audience });
        };
        let stamp = stamp(path);
        let mut keys = read(path).map_err(wrong)?.into_iter();
        let Some(first) = keys.next() else { return Err(wrong(format!("{}: no key in it; {MAKE}", path.display()))) };
        let mut ring = KeyRing::new(first, longest_life_s);
        keys.try_for_each(|key| ring.rotate(key, now.0))
            .map_err(|problem| wrong(format!("{}: {problem}", path.display())))?;
        let last = Mutex::new(Looked { at: now, stamp });
        let file = Some(KeyFile { path: path.to_owned(), last });
        Ok(Self { ring: RwLock::new(ring), file, audience })
    }

    /// Makes a token; `None` only if it would outlive its key, which no promise does.
    pub(super) fn seal(&self, claims: &Claims, now: UnixSeconds) -> Option<String> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner).seal(claims, now.0).ok()
    }

    /// Verifies a token of a turn or of a visit. A key that is not known may have been added a moment ago, and another
    /// replica may have seen it first: the file is looked at before its tokens are refused.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn open(&self, text: &str, now: UnixSeconds) -> Result<Claims, TokenProblem> {
        let opened = self.try_open(text, now);
        match opened {
            Err(TokenProblem::UnknownKey(_)) if self.look(now).is_ok_and(|added| added > 0) => self.try_open(text, now),
            opened => opened,
        }
    }

    fn try_open(&self, text: &str, now: UnixSeconds) -> Result<Claims, TokenProblem> {
        let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
        tokens::open(&ring, text, self.audience, now)
    }

    /// Makes a message for the other replicas.
    pub(super) fn seal_message(&self, message: &[u8]) -> Vec<u8> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner).seal_message(message, self.audience)
    }

    /// The report of another replica; `None`: it is none.
    pub(super) fn open_message(&self, bytes: &[u8], now: UnixSeconds) -> Option<Vec<u8>> {
        let open = || {
            let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
            ring.open_message(bytes, self.audience, now.0).map(<[u8]>::to_vec)
        };
        match open() {
            Err(TokenProblem::UnknownKey(_)) if self.look(now).is_ok_and(|added| added > 0) => open().ok(),
            opened => opened.ok(),
        }
    }

    /// The purpose of tokens.
    pub(super) fn audience(&self) -> Audience {
        self.audience
    }

    /// Reads the file if it has changed, at most once a second, and returns the number of keys that are new: the last of them
    /// seals from now on. Those that are no longer in it open what they have sealed until that has expired.
    ///
    /// # Errors
    /// What is wrong with it: everything stays as it is.
    pub(super) fn look(&self, now: UnixSeconds) -> Result<usize, String> {
        let Some(file) = &self.file else { return Ok(0) };
        let mut last = lock(&file.last);
        if last.at == now {
            return Ok(0);
        }
        let stamp = stamp(&file.path);
        let changed = last.stamp != stamp;
        *last = Looked { at: now, stamp };
        if !changed {
            return Ok(0);
        }
        let keys = read(&file.path)?;
        let mut ring = self.ring.write().unwrap_or_else(PoisonError::into_inner);
        let mut added = 0;
        for key in keys {
            match ring.rotate(key, now.0) {
                Ok(()) => added += 1,
                Err(TokenProblem::KeyInUse(_)) => {}
                Err(problem) => return Err(format!("{}: {problem}", file.path.display())),
            }
        }
        Ok(added)
    }
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let about = fs::metadata(path).ok()?;
    Some(FileStamp(about.ino(), about.len(), about.mtime(), about.mtime_nsec()))
}

fn wrong(message: String) -> ProxyError {
    ProxyError::setting("waiting_room.keys", message)
}

/// The keys of a file, oldest first.
fn read(path: &Path) -> Result<Vec<SecretKey>, String> {
    let shown = path.display();
    let text = private::read(path, LARGEST).map(Zeroizing::new).map_err(|error| match error {
        Unreadable::Unread(error) => format!("{shown}: {error}; {MAKE}"),
        Unreadable::NoFile => format!("{shown}: not a file"),
        Unreadable::Open { mode, owned } => {
            let whose = if owned { "" } else { ", and it belongs to somebody else" };
            format!("{shown}: its mode is {mode:04o}{whose}, and keys must be their owner's alone: chmod 600 {shown}")
        }
    })?;
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(number, line)| key(line).ok_or_else(|| format!("{shown}, line {number}: no key; {MAKE}"))).collect()
}

fn key(line: &str) -> Option<SecretKey> {
    let (number, secret) = line.split_once(char::is_whitespace)?;
    let secret = secret.trim().as_bytes();
    if secret.len() != 64 || !secret.is_ascii() {
        return None;
    }
    let mut bytes = Zeroizing::new([0; 32]);
    for (byte, digits) in bytes.iter_mut().zip(secret.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(SecretKey::new(number.parse().ok()?, *bytes))
}

/// Random bytes: for numbers and places that nobody can guess.
pub(super) fn drawn<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system gives random numbers");
    bytes
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use admission_token::{Binding, TokenPurpose};

    use super::*;

    const NOW: UnixSeconds = UnixSeconds(1_000_000);

    fn write(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn line(number: u32, digit: char) -> String {
        format!("{number} {}\n", digit.to_string().repeat(64))
    }

    fn opened(path: &Path) -> Result<Keys, String> {
        Keys::new(Some(path), Audience::named("a"), 100, NOW).map_err(|error| error.to_string())
    }

    fn claims(now: u64) -> Claims {
        Claims {
            purpose: TokenPurpose::TURN,
            audience: Audience::named("a"),
            not_before: now,
            expires: now + 50,
            id: 1,
            binding: Binding::digest(b"x"),
        }
    }

    #[test]
    fn a_file_that_grows_rotates_and_refuses_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.txt");
        write(&path, &format!("# of the tickets\n\n{}", line(1, 'a')));
        let (one, other) = (opened(&path).unwrap(), opened(&path).unwrap());
        let old = one.seal(&claims(NOW.0), NOW).unwrap();
        // The only line is replaced: the key before opens all the same.
        write(&path, &line(2, 'b'));
        assert_eq!(one.look(UnixSeconds(NOW.0 + 1)), Ok(1));
        assert_eq!(one.look(UnixSeconds(NOW.0 + 2)), Ok(0), "it has not changed");
        assert_eq!(one.open(&old, UnixSeconds(NOW.0 + 49)), Ok(claims(NOW.0)));
        // A replica that has not looked yet opens what the other has sealed.
        let new = one.seal(&claims(NOW.0 + 3), UnixSeconds(NOW.0 + 3)).unwrap();
        assert_eq!(other.open(&new, UnixSeconds(NOW.0 + 3)), Ok(claims(NOW.0 + 3)));
        assert_eq!(other.open(&old, UnixSeconds(NOW.0 + 102)), Ok(claims(NOW.0)));
        assert_eq!(other.open(&old, UnixSeconds(NOW.0 + 104)), Err(TokenProblem::UnknownKey(1)), "its life is over");
        write(&path, "3 short");
        assert!(
            other.look(UnixSeconds(NOW.0 + 5)).unwrap_err().contains("keys.txt, line 1: no key; a line is a number")
        );
        assert!(other.open(&new, UnixSeconds(NOW.0 + 6)).is_ok(), "and everything stays as it is");
    }

    #[test]
    fn what_is_no_file_of_keys_is_refused_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.txt");
        assert!(opened(&path).unwrap_err().contains("openssl rand -hex 32"));
        for (text, message) in [
            ("", "no key in it"),
            ("1 xyz", "line 1: no key"),
            (&format!("{}2 {}", line(1, 'a'), "é".repeat(32)), "line 2: no key"),
            (&line(1, 'a').repeat(2), "key 1 is live already"),
        ] {
            write(&path, text);
            let found = opened(&path).unwrap_err();
            assert!(found.starts_with("waiting_room.keys: ") && found.contains(message), "{found}");
        }
        write(&path, &line(1, 'a'));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(opened(&path).unwrap_err().contains("chmod 600"));
    }
}
