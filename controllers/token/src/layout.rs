//! Bytes and text of a token.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{
    Audience, Binding, Claims, TokenProblem, TokenPurpose,
    key::{SecretKey, TAG},
};

/// The only version.
const VERSION: u8 = 1;

/// Version and key: what is read before the tag is verified.
const HEAD: usize = 1 + 4;

/// Bytes under the tag.
const BODY: usize = HEAD + 1 + 16 + 8 + 8 + 16 + 32;

/// Bytes of a token.
const WHOLE: usize = BODY + TAG;

/// Letters of a token: base64 has four for three bytes.
const LETTERS: usize = (WHOLE * 4).div_ceil(3);

/// A token that was not verified yet.
pub(crate) struct Sealed([u8; WHOLE]);

pub(crate) fn seal(claims: &Claims, key: &SecretKey) -> String {
    let mut bytes = Vec::with_capacity(WHOLE);
    bytes.push(VERSION);
    bytes.extend(key.number().to_be_bytes());
    bytes.push(claims.purpose.0);
    bytes.extend(claims.audience.0);
    bytes.extend(claims.not_before.to_be_bytes());
    bytes.extend(claims.expires.to_be_bytes());
    bytes.extend(claims.id.to_be_bytes());
    bytes.extend(claims.binding.as_bytes());
    bytes.extend(key.tag(&bytes));
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Sealed {
    /// The bytes of a text: of its one spelling alone, and of no more letters than a token has.
    pub(crate) fn read(text: &str) -> Result<Self, TokenProblem> {
        if text.len() != LETTERS {
            // Four letters are three bytes: an estimate, so that a long text costs nothing.
            return Err(TokenProblem::Length { found: text.len() / 4 * 3 + text.len() % 4 * 3 / 4, expected: WHOLE });
        }
        let mut bytes = [0; WHOLE];
        let written = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).map_err(|_| TokenProblem::Encoding)?;
        if written != WHOLE {
            return Err(TokenProblem::Length { found: written, expected: WHOLE });
        }
        if bytes[0] != VERSION {
            return Err(TokenProblem::Version(bytes[0]));
        }
        Ok(Self(bytes))
    }

    /// The number of the key that it says it was made with.
    pub(crate) fn key(&self) -> u32 {
        u32::from_be_bytes(*Reader(&self.0[1..]).take())
    }

    /// The claims, if the key made it.
    pub(crate) fn open(&self, key: &SecretKey) -> Result<Claims, TokenProblem> {
        let (body, tag) = self.0.split_at(BODY);
        if !key.verifies(body, tag) {
            return Err(TokenProblem::Forged);
        }
        let mut fields = Reader(&body[HEAD..]);
        Ok(Claims {
            purpose: TokenPurpose(fields.take::<1>()[0]),
            audience: Audience(*fields.take()),
            not_before: u64::from_be_bytes(*fields.take()),
            expires: u64::from_be_bytes(*fields.take()),
            id: u128::from_be_bytes(*fields.take()),
            binding: Binding(*fields.take()),
        })
    }
}

/// Fields of fixed lengths, one after the other.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> &'a [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("a token has its length");
        self.0 = rest;
        field
    }
}
