//! What is sent: a line of JSON about it, then its bytes, or the name of a file that has them.

use async_nats::jetstream::object_store::ObjectStore;
use serde::{Deserialize, Serialize};

use super::{FleetError, files};

/// The line before the bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Label {
    /// Name of the sender.
    pub by: String,
    /// Digest of what must be the same from every machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub same: String,
    /// Digest of the file that has the bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<String>,
    /// It was delivered so often without a result, and is given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_up: Option<i64>,
    /// An agent that came to another result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

/// A label with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Envelope {
    pub label: Label,
    pub bytes: Vec<u8>,
}

impl Envelope {
    /// Longer bytes go into a file of their own: a message has at most a megabyte.
    pub const INLINE: usize = 512 << 10;

    /// Puts bytes in, or into a file if they are many.
    pub async fn pack(mut label: Label, bytes: &[u8], into: &ObjectStore) -> Result<Self, FleetError> {
        if bytes.len() <= Self::INLINE {
            return Ok(Self { label, bytes: bytes.to_vec() });
        }
        label.stored = Some(files::put(into, bytes).await?);
        Ok(Self { label, bytes: Vec::new() })
    }

    /// The bytes.
    pub async fn unpack(self, from: &ObjectStore) -> Result<Vec<u8>, FleetError> {
        match &self.label.stored {
            Some(digest) => files::get(from, digest).await,
            None => Ok(self.bytes),
        }
    }

    pub fn written(&self) -> Result<Vec<u8>, FleetError> {
        let mut written = serde_json::to_vec(&self.label).map_err(FleetError::of("a label"))?;
        written.push(b'\n');
        written.extend_from_slice(&self.bytes);
        Ok(written)
    }

    /// # Errors
    /// It is no envelope.
    pub fn read(message: &[u8]) -> Result<Self, FleetError> {
        let end = message.iter().position(|byte| *byte == b'\n').unwrap_or(message.len());
        let label =
            serde_json::from_slice(&message[..end]).map_err(FleetError::of("a message that is none of ours"))?;
        Ok(Self { label, bytes: message.get(end + 1..).unwrap_or_default().to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_other_bytes_are_refused() {
        let label = Label { by: "g1".to_owned(), same: "ab".to_owned(), gave_up: Some(5), ..Label::default() };
        for bytes in [&b""[..], b"\n\n", b"{}\n\xff"] {
            let sent = Envelope { label: label.clone(), bytes: bytes.to_vec() };
            let written = sent.written().expect("written");
            assert_eq!(Envelope::read(&written).expect("read"), sent);
        }
        for message in [&b""[..], b"hello\n{}", b"[1]\n", b"{\"by\": 7}\n"] {
            assert!(Envelope::read(message).is_err());
        }
    }
}
