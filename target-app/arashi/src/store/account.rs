//! The accounts that may sign in.

use super::{
    Store, StoreError, UserId,
    statement::{Question as _, Statement as _},
};

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAccount {
    /// Its id.
    pub id: UserId,
    /// The hash of its password as a PHC string.
    pub password: String,
}

impl Store {
    /// The number of accounts.
    ///
    /// # Errors
    /// Any error of the database.
    pub async fn accounts(&self) -> Result<usize, StoreError> {
        let count: i64 = sqlx::query_scalar("SELECT count(*) FROM users").fetch_one(&self.read).await?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The account with this name.
    ///
    /// # Errors
    /// Any error of the database.
    pub async fn account(&self, name: &str) -> Result<Option<StoredAccount>, StoreError> {
        Ok(sqlx::query_as("SELECT id, password FROM users WHERE name = ?")
            .bind(name)
            .fetch_optional(&self.read)
            .await?)
    }

    /// Creates an account with an empty inbox, or gives an existing one this password.
    ///
    /// # Errors
    /// Any error of the database; then nothing has changed.
    pub async fn set_account(&self, name: &str, password_hash: &str) -> Result<UserId, StoreError> {
        let mut change = self.change().await?;
        let id: UserId = sqlx::query_scalar(
            "INSERT INTO users (name, password) VALUES (?, ?)
             ON CONFLICT (name) DO UPDATE SET password = excluded.password RETURNING id",
        )
        .bind(name)
        .bind(password_hash)
        .value(&mut change)
        .await?;
        sqlx::query("INSERT INTO folders (user_id, name, inbox) VALUES (?, 'inbox', 1) ON CONFLICT DO NOTHING")
            .bind(id)
            .run(&mut change)
            .await?;
        change.commit().await?;
        Ok(id)
    }
}
