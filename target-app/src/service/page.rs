//! The body of an answer.

use std::{fmt, io};

use super::{Boxed, Bytes};

/// What an answer says.
#[derive(Debug)]
pub enum PageBody {
    /// In memory.
    Whole(Bytes),
    /// Too large for that: drawn a piece at a time, as the client takes it.
    Drawn {
        /// Bytes of all pieces.
        length: u64,
        /// Where they come from.
        pieces: Box<dyn Pieces>,
    },
}

/// Where the pieces of a large answer come from, after the stage is done with the request.
pub trait Pieces: fmt::Debug + Send + Sync {
    /// The next one; `None` after the last. An error ends the connection: the client sees that its answer is not whole.
    fn next(&mut self) -> Boxed<'_, io::Result<Option<Bytes>>>;
}

impl PageBody {
    /// Bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Whole(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Self::Drawn { length, .. } => *length,
        }
    }
}

impl From<Bytes> for PageBody {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes)
    }
}

impl From<Vec<u8>> for PageBody {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Whole(bytes.into())
    }
}

impl From<String> for PageBody {
    fn from(text: String) -> Self {
        Self::Whole(text.into())
    }
}
