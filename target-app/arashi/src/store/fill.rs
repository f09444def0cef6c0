//! Adds mail, many messages in one transaction.

use sqlx::{query, query_scalar};

use super::{
    Change, FolderId, NewMessage, Store, StoreError, UserId,
    pieces::PIECE,
    statement::{Question as _, Statement as _},
};
use crate::html;

/// The result of importing one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// It was stored in the folder.
    Stored,
    /// It had been imported from this source before.
    Known,
}

/// A transaction that adds accounts, folders and messages. If it is dropped without [`Fill::commit`], it adds nothing.
#[derive(Debug)]
pub struct Fill<'a> {
    change: Change<'a>,
    /// The number of the next new message: no other writer adds one while this transaction lasts.
    next_message: Option<i64>,
}

impl Store {
    /// Begins a transaction that adds mail.
    ///
    /// # Errors
    /// Any error of the database.
    pub async fn fill(&self) -> Result<Fill<'_>, StoreError> {
        Ok(Fill { change: self.change().await?, next_message: None })
    }
}

impl Fill<'_> {
    /// Adds an account with its folders; the first is the inbox.
    ///
    /// # Errors
    /// Any error of the database; the whole transaction is then void.
    pub async fn user(
        &mut self,
        name: &str,
        password_hash: &str,
        folders: &[&str],
    ) -> Result<(UserId, Vec<FolderId>), StoreError> {
        let user: UserId = query_scalar("INSERT INTO users (name, password) VALUES (?, ?) RETURNING id")
            .bind(name)
            .bind(password_hash)
            .value(&mut self.change)
            .await?;
        let mut ids = Vec::with_capacity(folders.len());
        for (i, folder) in folders.iter().enumerate() {
            ids.push(self.new_folder(user, folder, i == 0).await?);
        }
        Ok((user, ids))
    }

    /// The user's folder with this name, created if there is none. `None`: the user has the largest number of folders.
    ///
    /// # Errors
    /// Any error of the database; the whole transaction is then void.
    pub async fn folder(&mut self, user: UserId, name: &str) -> Result<Option<FolderId>, StoreError> {
        // Looked up first: an insert without effect would still use up a number.
        let there: Option<FolderId> = query_scalar("SELECT id FROM folders WHERE user_id = ? AND name = ?")
            .bind(user)
            .bind(name)
            .found(&mut self.change)
            .await?;
        if there.is_some() || self.change.has_all_folders(user).await? {
            return Ok(there);
        }
        self.new_folder(user, name, false).await.map(Some)
    }

    async fn new_folder(&mut self, user: UserId, name: &str, inbox: bool) -> Result<FolderId, StoreError> {
        query_scalar("INSERT INTO folders (user_id, name, inbox) VALUES (?, ?, ?) RETURNING id")
            .bind(user)
            .bind(name)
            .bind(inbox)
            .value(&mut self.change)
            .await
    }

    /// Stores a message, in no folder yet, and returns its number. A message with the same digest is stored once.
    ///
    /// # Errors
    /// Any error of the database; the whole transaction is then void.
    pub async fn message(&mut self, message: &NewMessage) -> Result<i64, StoreError> {
        let there: Option<i64> = query_scalar("SELECT id FROM messages WHERE digest = ?")
            .bind(&message.digest[..])
            .found(&mut self.change)
            .await?;
        match there {
            Some(id) => Ok(id),
            None => self.new_message(message).await,
        }
    }

    /// The same as [`Fill::message`], for a message that is known to be new.
    ///
    /// # Errors
    /// Any error of the database, also if it is not new; the whole transaction is then void.
    pub async fn new_message(&mut self, message: &NewMessage) -> Result<i64, StoreError> {
        let id = match self.next_message {
            Some(id) => id,
            None => query_scalar("SELECT coalesce(max(id), 0) + 1 FROM messages").value(&mut self.change).await?,
        };
        self.next_message = Some(id + 1);
        let searched = message.headers.to_lowercase();
        // One call for everything: the way to the database's thread and back costs as much as an insert.
        query(
            "INSERT INTO messages (id, digest, date, author, subject, author_key, subject_key, size, attachments)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);
             INSERT INTO bodies (message_id, sender, recipients, headers, text, html, html_version, html_problem)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?);
             INSERT INTO search_text (message_id, text) VALUES (?, ?);
             INSERT INTO search_index (rowid, text) VALUES (?, ?)",
        )
        .bind(id)
        .bind(&message.digest[..])
        .bind(message.date)
        .bind(&message.author)
        .bind(&message.subject)
        .bind(sort_key(&message.author))
        .bind(sort_key(without_reply_marks(&message.subject)))
        .bind(message.size)
        .bind(message.attachments.len() as i64)
        .bind(id)
        .bind(&message.sender)
        .bind(&message.recipients)
        .bind(&message.headers)
        .bind(&message.text)
        .bind(&message.html)
        .bind(html::VERSION)
        .bind(&message.html_problem)
        .bind(id)
        .bind(&searched)
        .bind(id)
        .bind(&searched)
        .run(&mut self.change)
        .await?;
        for (part, attachment) in message.attachments.iter().enumerate() {
            query("INSERT INTO attachments (message_id, part, name, kind, size) VALUES (?, ?, ?, ?, ?)")
                .bind(id)
                .bind(part as i64)
                .bind(&attachment.name)
                .bind(&attachment.kind)
                .bind(attachment.content.len() as i64)
                .run(&mut self.change)
                .await?;
            for (piece, content) in attachment.content.chunks(PIECE).enumerate() {
                query("INSERT INTO attachment_pieces (message_id, part, piece, content) VALUES (?, ?, ?, ?)")
                    .bind(id)
                    .bind(part as i64)
                    .bind(piece as i64)
                    .bind(content)
                    .run(&mut self.change)
                    .await?;
            }
        }
        Ok(id)
    }

    /// Puts the stored messages numbered `first` to `first + count - 1` into a folder.
    ///
    /// # Errors
    /// Any error of the database; the whole transaction is then void.
    pub async fn put_range(&mut self, folder: FolderId, first: i64, count: u32) -> Result<(), StoreError> {
        let put = query(
            "INSERT INTO entries (folder_id, message_id, date)
             SELECT ?, id, date FROM messages WHERE id BETWEEN ? AND ? ORDER BY id",
        )
        .bind(folder)
        .bind(first)
        .bind(first + i64::from(count) - 1)
        .run(&mut self.change)
        .await?;
        self.change.count(folder, put as i64).await
    }

    /// Stores a message and puts it into a folder, unless this user got it from this source before.
    ///
    /// # Errors
    /// Any error of the database; the whole transaction is then void.
    pub async fn import(
        &mut self,
        user: UserId,
        source: &str,
        folder: FolderId,
        message: &NewMessage,
    ) -> Result<Filled, StoreError> {
        let new = query("INSERT INTO imported (user_id, source, digest) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
            .bind(user)
            .bind(source)
            .bind(&message.digest[..])
            .run(&mut self.change)
            .await?;
        if new == 0 {
            return Ok(Filled::Known);
        }
        let id = self.message(message).await?;
        self.put_range(folder, id, 1).await?;
        Ok(Filled::Stored)
    }

    /// The mail is stored only if this returns `Ok`.
    ///
    /// # Errors
    /// Any error of the database; then nothing was added.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.change.commit().await
    }
}

/// The sort key of lists: short, and without regard to case.
fn sort_key(text: &str) -> String {
    const LENGTH: usize = 40;
    text.trim_start_matches(['"', '\'', ' ', '[', '(']).chars().take(LENGTH).collect::<String>().to_lowercase()
}

/// The subject of the conversation: `Re: [list] Re: lunch` sorts beside `[list] lunch`.
fn without_reply_marks(subject: &str) -> &str {
    const MARKS: [&str; 5] = ["re:", "fwd:", "fw:", "aw:", "wg:"];
    let mut rest = subject.trim_start();
    while let Some(mark) = MARKS.iter().find(|m| rest.get(..m.len()).is_some_and(|s| s.eq_ignore_ascii_case(m))) {
        rest = rest[mark.len()..].trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_sort_by_conversation() {
        assert_eq!(without_reply_marks("Re: RE:Fwd: lunch"), "lunch");
        assert_eq!(without_reply_marks("Reading"), "Reading");
        assert_eq!(without_reply_marks("é:"), "é:");
        assert_eq!(sort_key("\"Élan\" <a@b>"), "élan\" <a@b>");
    }
}
