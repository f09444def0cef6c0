//! Folders, lists, messages. Every query names the user: another user's object reads as a missing one.

use sqlx::{FromRow as _, Row as _, query, query_as};

use super::{
    AttachmentName, Direction, EntryId, Folder, FolderId, ListOrder, Listed, Message, PAGE_ROWS, Sort, Store,
    StoreError, UserId,
};

impl Store {
    /// A user's folders, inbox first, then by name.
    ///
    /// # Errors
    /// Any error of the database.
    pub async fn folders(&self, user: UserId) -> Result<Vec<Folder>, StoreError> {
        Ok(query_as("SELECT id, name, inbox, messages FROM folders WHERE user_id = ? ORDER BY inbox DESC, name")
            .bind(user)
            .fetch_all(&self.read)
            .await?)
    }

    /// Up to [`PAGE_ROWS`] rows of a folder, from row `start` (0 is the first) on.
    ///
    /// # Errors
    /// Any error of the database.
    pub async fn list(
        &self,
        user: UserId,
        folder: FolderId,
        order: ListOrder,
        start: u32,
    ) -> Result<Vec<Listed>, StoreError> {
        Ok(query_as(list_sql(order)).bind(folder).bind(user).bind(PAGE_ROWS).bind(start).fetch_all(&self.read).await?)
    }

    /// The message of this entry.
    ///
    /// # Errors
    /// Any error of the database.
    pub async fn message(&self, user: UserId, folder: FolderId, entry: EntryId) -> Result<Option<Message>, StoreError> {
        let row = query(
            "SELECT m.id AS message_id, m.attachments AS attached, m.date, m.subject, m.size,
                    b.sender, b.recipients, b.headers, b.text, b.html, b.html_version, b.html_problem
             FROM entries e CROSS JOIN folders f ON f.id = e.folder_id CROSS JOIN messages m ON m.id = e.message_id
             CROSS JOIN bodies b ON b.message_id = m.id WHERE e.id = ? AND f.id = ? AND f.user_id = ?",
        )
        .bind(entry)
        .bind(folder)
        .bind(user)
        .fetch_optional(&self.read)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let mut message = Message::from_row(&row)?;
        if row.try_get::<i64, _>("attached")? > 0 {
            message.attachments = query_as::<_, AttachmentName>(
                "SELECT part, name, kind, size FROM attachments WHERE message_id = ? ORDER BY part",
            )
            .bind(row.try_get::<i64, _>("message_id")?)
            .fetch_all(&self.read)
            .await?;
        }
        Ok(Some(message))
    }
}

/// The columns of a list are the same in every order; CROSS JOIN keeps SQLite from reversing the join.
macro_rules! listing {
    ($order:literal) => {
        concat!(
            "SELECT e.id AS entry, e.folder_id AS folder, e.date, m.author, m.subject, m.size, m.attachments
             FROM folders f CROSS JOIN entries e ON e.folder_id = f.id CROSS JOIN messages m ON m.id = e.message_id
             WHERE f.id = ? AND f.user_id = ? ORDER BY ",
            $order,
            " LIMIT ? OFFSET ?"
        )
    };
}

fn list_sql(order: ListOrder) -> &'static str {
    match (order.by, order.direction) {
        (Sort::Date, Direction::Descending) => listing!("e.date DESC, e.id DESC"),
        (Sort::Date, Direction::Ascending) => listing!("e.date, e.id"),
        (Sort::Author, Direction::Ascending) => listing!("m.author_key, e.date DESC, e.id DESC"),
        (Sort::Author, Direction::Descending) => listing!("m.author_key DESC, e.date DESC, e.id DESC"),
        (Sort::Subject, Direction::Ascending) => listing!("m.subject_key, e.date DESC, e.id DESC"),
        (Sort::Subject, Direction::Descending) => listing!("m.subject_key DESC, e.date DESC, e.id DESC"),
    }
}
