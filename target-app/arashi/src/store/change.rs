//! Deletes and refiles messages, creates and deletes folders. A change has happened when its method returns `Ok`, and
//! not before.

use sqlx::{query, query_scalar};

use super::{
    EntryId, FolderId, Scope, Store, StoreError, UserId,
    statement::{Question as _, Statement as _},
};

/// The result of creating a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFolder {
    /// The folder exists now.
    Created(FolderId),
    /// The user has a folder with this name.
    Exists(FolderId),
    /// The user has the largest number of folders.
    TooMany,
}

/// The largest number of folders of one user: every page with a list offers all of them as places to refile into.
pub const MAX_FOLDERS: i64 = 200;

impl Store {
    /// Deletes these messages and returns the number of existing ones: in one folder, or in any. `None`: the user has
    /// no such folder.
    ///
    /// # Errors
    /// Any error of the database; then nothing has changed.
    pub async fn delete(&self, user: UserId, folder: Scope, entries: &[EntryId]) -> Result<Option<u64>, StoreError> {
        let mut change = self.change().await?;
        if !change.covers(user, folder).await? {
            return Ok(None);
        }
        let mut gone = 0;
        for &entry in entries {
            let Some(from) = change.folder_of(user, folder, entry).await? else { continue };
            gone += query("DELETE FROM entries WHERE id = ? AND folder_id = ?")
                .bind(entry)
                .bind(from)
                .run(&mut change)
                .await?;
            change.count(from, -1).await?;
        }
        change.commit().await?;
        Ok(Some(gone))
    }

    /// Moves these messages, from one folder or from any, to another, and returns their number. `None`: the user lacks
    /// one of the folders.
    ///
    /// # Errors
    /// Any error of the database; then nothing has changed.
    pub async fn refile(
        &self,
        user: UserId,
        folder: Scope,
        to: FolderId,
        entries: &[EntryId],
    ) -> Result<Option<u64>, StoreError> {
        let mut change = self.change().await?;
        if !change.covers(user, Scope::Folder(to)).await? || !change.covers(user, folder).await? {
            return Ok(None);
        }
        let mut moved = 0;
        for &entry in entries {
            let Some(from) = change.folder_of(user, folder, entry).await?.filter(|from| *from != to) else { continue };
            moved += query("UPDATE entries SET folder_id = ? WHERE id = ? AND folder_id = ?")
                .bind(to)
                .bind(entry)
                .bind(from)
                .run(&mut change)
                .await?;
            change.count(from, -1).await?;
            change.count(to, 1).await?;
        }
        change.commit().await?;
        Ok(Some(moved))
    }

    /// Creates an empty folder. The caller has checked the name.
    ///
    /// # Errors
    /// Any error of the database; then nothing has changed.
    pub async fn create_folder(&self, user: UserId, name: &str) -> Result<NewFolder, StoreError> {
        let mut change = self.change().await?;
        let there: Option<FolderId> = query_scalar("SELECT id FROM folders WHERE user_id = ? AND name = ?")
            .bind(user)
            .bind(name)
            .found(&mut change)
            .await?;
        if let Some(id) = there {
            return Ok(NewFolder::Exists(id));
        }
        if change.has_all_folders(user).await? {
            return Ok(NewFolder::TooMany);
        }
        let id = query_scalar("INSERT INTO folders (user_id, name) VALUES (?, ?) RETURNING id")
            .bind(user)
            .bind(name)
            .value(&mut change)
            .await?;
        change.commit().await?;
        Ok(NewFolder::Created(id))
    }

    /// Deletes a folder with all its messages and returns their number. `None`: the user has no such folder, or it is
    /// the inbox.
    ///
    /// # Errors
    /// Any error of the database; then nothing has changed.
    pub async fn delete_folder(&self, user: UserId, folder: FolderId) -> Result<Option<u64>, StoreError> {
        let mut change = self.change().await?;
        let there: Option<i64> = query_scalar("SELECT 1 FROM folders WHERE id = ? AND user_id = ? AND inbox = 0")
            .bind(folder)
            .bind(user)
            .found(&mut change)
            .await?;
        if there.is_none() {
            return Ok(None);
        }
        let gone = query("DELETE FROM entries WHERE folder_id = ?").bind(folder).run(&mut change).await?;
        query("DELETE FROM folders WHERE id = ?").bind(folder).run(&mut change).await?;
        change.commit().await?;
        Ok(Some(gone))
    }
}

impl super::Change<'_> {
    /// Whether the scope is all folders of the user, or one of them.
    async fn covers(&mut self, user: UserId, scope: Scope) -> Result<bool, StoreError> {
        let Scope::Folder(folder) = scope else { return Ok(true) };
        let there: Option<i64> = query_scalar("SELECT 1 FROM folders WHERE id = ? AND user_id = ?")
            .bind(folder)
            .bind(user)
            .found(self)
            .await?;
        Ok(there.is_some())
    }

    /// True if the user has the largest number of folders.
    pub(super) async fn has_all_folders(&mut self, user: UserId) -> Result<bool, StoreError> {
        let count: i64 = query_scalar("SELECT count(*) FROM folders WHERE user_id = ?").bind(user).value(self).await?;
        Ok(count >= MAX_FOLDERS)
    }

    /// The folder of this user's entry, if it exists and is within the scope.
    async fn folder_of(&mut self, user: UserId, scope: Scope, entry: EntryId) -> Result<Option<FolderId>, StoreError> {
        let lies: Option<FolderId> = query_scalar(
            "SELECT f.id FROM entries e CROSS JOIN folders f ON f.id = e.folder_id WHERE e.id = ? AND f.user_id = ?",
        )
        .bind(entry)
        .bind(user)
        .found(self)
        .await?;
        Ok(lies.filter(|&folder| match scope {
            Scope::Folder(only) => folder == only,
            Scope::All => true,
        }))
    }

    /// Adds to a folder's number of messages.
    pub(super) async fn count(&mut self, folder: FolderId, more: i64) -> Result<(), StoreError> {
        if more == 0 {
            return Ok(());
        }
        query("UPDATE folders SET messages = messages + ? WHERE id = ?").bind(more).bind(folder).run(self).await?;
        Ok(())
    }
}
