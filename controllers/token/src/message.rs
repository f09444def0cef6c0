//! Messages between those who share keys.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | version, 2: no token has it |
//! | 4 | key |
//! | 16 | audience |
//! | any | the message |
//! | 32 | HMAC-SHA-256 of all bytes before it |

use super::{
    Audience, TokenProblem,
    key::{SecretKey, TAG},
};

/// The only version.
const VERSION: u8 = 2;

/// Bytes before the message.
const HEAD: usize = 1 + 4 + 16;

pub(crate) fn seal(message: &[u8], audience: Audience, key: &SecretKey) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + message.len() + TAG);
    bytes.push(VERSION);
    bytes.extend(key.number().to_be_bytes());
    bytes.extend(audience.0);
    bytes.extend(message);
    let tag = key.tag(&bytes);
    bytes.extend(tag);
    bytes
}

/// The number of the key that it says it was made with.
pub(crate) fn key(bytes: &[u8]) -> Result<u32, TokenProblem> {
    if bytes.len() < HEAD + TAG {
        return Err(TokenProblem::Length { found: bytes.len(), expected: HEAD + TAG });
    }
    if bytes[0] != VERSION {
        return Err(TokenProblem::Version(bytes[0]));
    }
    Ok(u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]))
}

/// The message, if the key made it for this audience. The length was looked at with the key.
pub(crate) fn open<'a>(bytes: &'a [u8], audience: Audience, key: &SecretKey) -> Result<&'a [u8], TokenProblem> {
    let (body, tag) = bytes.split_at(bytes.len() - TAG);
    if !key.verifies(body, tag) {
        return Err(TokenProblem::Forged);
    }
    if body[5..HEAD] != audience.0 {
        return Err(TokenProblem::Audience);
    }
    Ok(&body[HEAD..])
}
