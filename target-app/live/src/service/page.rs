//! The body of an answer.

use std::{fmt, io, pin::Pin};

use hyper::body::Bytes;

/// A future that a trait object can return.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The content of an answer.
#[derive(Debug)]
pub enum PageBody {
    /// In memory.
    Whole(Bytes),
    /// Too large for memory: drawn a piece at a time, as the client takes it.
    Drawn {
        /// The number of bytes of all pieces.
        length: u64,
        /// The source of the pieces.
        pieces: Box<dyn Pieces>,
    },
}

/// The source of the pieces of a large answer, used after the stage is done with the request.
pub trait Pieces: fmt::Debug + Send + Sync {
    /// The next piece; `None` after the last. An error ends the connection: the client sees that its answer is
    /// incomplete.
    fn next(&mut self) -> Boxed<'_, io::Result<Option<Bytes>>>;
}

impl PageBody {
    /// The number of bytes.
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
