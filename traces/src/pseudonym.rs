//! Keyed pseudonyms: a name has one pseudonym per key. Without the key a reader can neither find the name nor test a
//! guess.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use crate::trace::Names;

/// A secret of 128 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(secret)")
    }
}

impl Key {
    /// Creates a key from random bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Parses 32 hexadecimal digits.
    ///
    /// # Errors
    /// If the text is anything else.
    pub fn from_hex(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        let wrong = "a key is 32 hexadecimal digits; `openssl rand -hex 16` makes one";
        if text.len() != 32 || !text.bytes().all(|c| c.is_ascii_hexdigit()) {
            return Err(wrong);
        }
        let mut bytes = [0; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong)?;
        }
        Ok(Self(bytes))
    }
}

/// The kind of a name. A word has different pseudonyms as a user and as a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// A user.
    User,
    /// A session.
    Session,
    /// A folder, or any other object.
    Folder,
    /// An unknown action, which can be a word of the source.
    Action,
}

/// Replaces names by pseudonyms, or keeps them.
#[derive(Debug, Clone)]
pub struct Pseudonyms(Option<Key>);

impl Pseudonyms {
    /// Pseudonyms under a key.
    ///
    /// `SipHash`-2-4 (Aumasson and Bernstein, INDOCRYPT 2012) is a pseudorandom function of its key: 64 bits of it are
    /// written, so that a million names collide with a chance of 3 in 100 million.
    #[must_use]
    pub fn keyed(key: Key) -> Self {
        Self(Some(key))
    }

    /// Keeps names.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// The entry of a trace's header.
    #[must_use]
    pub fn names(&self) -> Names {
        if self.0.is_some() { Names::Pseudonyms } else { Names::Source }
    }

    /// The replacement of a name. An empty name stays empty.
    #[must_use]
    pub fn of(&self, what: NameKind, name: &str) -> String {
        let Some(Key(key)) = &self.0 else { return bounded(name) };
        if name.is_empty() {
            return String::new();
        }
        let (letter, domain) = match what {
            NameKind::User => ('u', 1),
            NameKind::Session => ('s', 2),
            NameKind::Folder => ('f', 3),
            NameKind::Action => ('a', 4),
        };
        let mut hasher = SipHasher24::new_with_key(key);
        hasher.write_u8(domain);
        hasher.write(name.as_bytes());
        format!("{letter}{:016x}", hasher.finish())
    }

    /// The replacement of an object `folder/messages`, whose message numbers stay.
    #[must_use]
    pub fn of_object(&self, folder: &str, messages: &str) -> String {
        let folder = self.of(NameKind::Folder, folder);
        if messages.is_empty() { folder } else { bounded(&format!("{folder}/{messages}")) }
    }
}

/// At most as long as a trace allows.
fn bounded(name: &str) -> String {
    let mut end = name.len().min(crate::trace::LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pseudonym_depends_on_key_kind_and_name_alone() {
        let key = |digit: char| Key::from_hex(&digit.to_string().repeat(32)).expect("a key");
        let (one, other) = (Pseudonyms::keyed(key('1')), Pseudonyms::keyed(key('2')));
        let name = one.of(NameKind::User, "joe");
        assert_eq!(name.len(), 17);
        assert_eq!(name, one.of(NameKind::User, "joe"));
        assert_ne!(name, other.of(NameKind::User, "joe"));
        assert_ne!(name, one.of(NameKind::User, "jim"));
        assert_ne!(name[1..], one.of(NameKind::Folder, "joe")[1..]);
        assert_eq!(one.of(NameKind::User, ""), "");
        assert_eq!(one.of_object("INBOX", "12:21"), format!("{}/12:21", one.of(NameKind::Folder, "INBOX")));
    }

    #[test]
    fn names_stand_if_they_shall_but_never_longer_than_a_trace_allows() {
        let plain = Pseudonyms::none();
        assert_eq!(plain.of_object("INBOX", "1"), "INBOX/1");
        assert_eq!(plain.of(NameKind::User, &"ü".repeat(1000)).len(), 1024);
    }

    #[test]
    fn a_key_is_hexadecimal_and_never_shown() {
        assert!(Key::from_hex("12").is_err() && Key::from_hex(&"x".repeat(32)).is_err());
        assert_eq!(format!("{:?}", Key::new([7; 16])), "Key(secret)");
    }
}
