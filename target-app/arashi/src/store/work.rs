//! The extra operations of the work knob.

use std::sync::atomic::Ordering;

use super::{Store, error::StoreError};

/// The number of rows that one operation reads. Chosen so that an operation costs some 100 microseconds, most of it in
/// SQLite and little of it on the way there, and about the same on every call.
const ROWS: i64 = 1500;
/// The number of rows in the table `work`.
const TABLE: i64 = 8192;
impl Store {
    /// Does the extra operations of a request of this type for a mailbox, or this share of them, 0 to 1, and returns their
    /// number.
    ///
    /// # Errors
    /// Any error of the database.
    pub async fn do_work(&self, kind: usize, mailbox: u64, share: f64) -> Result<u64, StoreError> {
        let due = self.work.due(kind, mailbox, share);
        if due == 0 {
            return Ok(0);
        }
        let mut reader = self.read.acquire().await?;
        for _ in 0..due {
            let call = self.operations.fetch_add(1, Ordering::Relaxed);
            let first = 1 + (call as i64).wrapping_mul(977).rem_euclid(TABLE - ROWS);
            let _: i64 = sqlx::query_scalar("SELECT sum(length(payload) + id % 7) FROM work WHERE id BETWEEN ? AND ?")
                .bind(first)
                .bind(first + ROWS - 1)
                .fetch_one(&mut *reader)
                .await?;
        }
        Ok(due)
    }
}
