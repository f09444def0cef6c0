//! The layout of the database, version by version.

use sqlx::{
    SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
};

/// Each version's name, and the statements that lead to it from the one before.
pub(crate) const VERSIONS: [(&str, &str); 3] = [
    ("mail", include_str!("../../migrations/0001_mail.sql")),
    ("html problem", include_str!("../../migrations/0002_html_problem.sql")),
    ("attachment pieces", include_str!("../../migrations/0003_attachment_pieces.sql")),
];

/// Brings a database to the newest version.
pub(super) fn migrator() -> Migrator {
    let migration = |(version, (name, sql)): (i64, (&'static str, &'static str))| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    Migrator::with_migrations((1..).zip(VERSIONS).map(migration).collect())
}
