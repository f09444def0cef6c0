//! The content of attachments, read a piece at a time: memory holds only the pieces under way.

use std::io;

use live_service::service::{Boxed, Bytes, Pieces};
use sqlx::{SqlitePool, query_scalar};

use super::{EntryId, FolderId, Store, StoreError, UserId};

/// The size of a piece, bytes.
pub(super) const PIECE: usize = 64 * 1024;

/// An attachment, and the source of its content.
#[derive(Debug)]
pub struct StoredAttachment {
    /// File name, as the sender gave it.
    pub name: String,
    /// Its size, bytes.
    pub size: u64,
    /// The content.
    pub content: AttachmentPieces,
}

/// The content from some piece on. Between two pieces it holds no connection and no transaction.
#[derive(Debug)]
pub struct AttachmentPieces {
    store: SqlitePool,
    message: i64,
    part: i64,
    next: i64,
}

impl Store {
    /// An attachment. The user's right to it is checked here, and not for each piece.
    ///
    /// # Errors
    /// Any error of the database.
    pub async fn attachment(
        &self,
        user: UserId,
        folder: FolderId,
        entry: EntryId,
        part: i64,
    ) -> Result<Option<StoredAttachment>, StoreError> {
        let found: Option<(i64, String, i64)> = sqlx::query_as(
            "SELECT a.message_id, a.name, a.size FROM entries e CROSS JOIN folders f ON f.id = e.folder_id
             CROSS JOIN attachments a ON a.message_id = e.message_id
             WHERE e.id = ? AND f.id = ? AND f.user_id = ? AND a.part = ?",
        )
        .bind(entry)
        .bind(folder)
        .bind(user)
        .bind(part)
        .fetch_optional(&self.read)
        .await?;
        Ok(found.map(|(message, name, size)| StoredAttachment {
            name,
            size: u64::try_from(size).unwrap_or(0),
            content: AttachmentPieces { store: self.read.clone(), message, part, next: 0 },
        }))
    }
}

impl AttachmentPieces {
    /// The next piece; `None` after the last.
    ///
    /// # Errors
    /// Any error of the database.
    pub async fn piece(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let piece =
            query_scalar("SELECT content FROM attachment_pieces WHERE message_id = ? AND part = ? AND piece = ?")
                .bind(self.message)
                .bind(self.part)
                .bind(self.next)
                .fetch_optional(&self.store)
                .await?;
        self.next += 1;
        Ok(piece)
    }
}

impl Pieces for AttachmentPieces {
    fn next(&mut self) -> Boxed<'_, io::Result<Option<Bytes>>> {
        Box::pin(async { Ok(self.piece().await.map_err(io::Error::other)?.map(Bytes::from)) })
    }
}
