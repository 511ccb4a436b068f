//! A Kandev database as it is read: its core columns, which every version has. Times become microseconds, texts may
//! hold any bytes. May import: the store's shared parts.

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};

use crate::store::Error;

/// Rows that are read at a time.
const PAGE: i64 = 1_000;

/// Text of any bytes.
type Bytes = Option<Vec<u8>>;

/// A task.
#[derive(Debug, QueryableByName)]
pub(in crate::store) struct SourceTask {
    #[diesel(sql_type = BigInt)]
    pub(in crate::store) place: i64,
    #[diesel(sql_type = Text)]
    pub(in crate::store) id: String,
    #[diesel(sql_type = Text)]
    pub(in crate::store) workspace_id: String,
    #[diesel(sql_type = Nullable<Binary>)]
    pub(in crate::store) title: Bytes,
    #[diesel(sql_type = Nullable<Binary>)]
    pub(in crate::store) description: Bytes,
    #[diesel(sql_type = Text)]
    pub(in crate::store) state: String,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(in crate::store) created_us: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(in crate::store) updated_us: Option<i64>,
}

/// A session.
#[derive(Debug, QueryableByName)]
pub(in crate::store) struct SourceSession {
    #[diesel(sql_type = BigInt)]
    pub(in crate::store) place: i64,
    #[diesel(sql_type = Text)]
    pub(in crate::store) id: String,
    #[diesel(sql_type = Text)]
    pub(in crate::store) task_id: String,
    #[diesel(sql_type = Text)]
    pub(in crate::store) state: String,
    #[diesel(sql_type = Bool)]
    pub(in crate::store) is_primary: bool,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(in crate::store) started_us: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(in crate::store) completed_us: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(in crate::store) updated_us: Option<i64>,
}

/// A turn.
#[derive(Debug, QueryableByName)]
pub(in crate::store) struct SourceTurn {
    #[diesel(sql_type = Text)]
    pub(in crate::store) id: String,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(in crate::store) started_us: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(in crate::store) completed_us: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(in crate::store) created_us: Option<i64>,
    #[diesel(sql_type = Nullable<Binary>)]
    pub(in crate::store) metadata: Bytes,
}

/// A message.
#[derive(Debug, QueryableByName)]
pub(in crate::store) struct SourceMessage {
    #[diesel(sql_type = BigInt)]
    pub(in crate::store) place: i64,
    #[diesel(sql_type = Text)]
    pub(in crate::store) id: String,
    #[diesel(sql_type = Text)]
    pub(in crate::store) turn_id: String,
    #[diesel(sql_type = Text)]
    pub(in crate::store) author: String,
    #[diesel(sql_type = Text)]
    pub(in crate::store) kind: String,
    #[diesel(sql_type = Nullable<Binary>)]
    pub(in crate::store) content: Bytes,
    #[diesel(sql_type = Nullable<Binary>)]
    pub(in crate::store) metadata: Bytes,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(in crate::store) created_us: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub(in crate::store) updated_us: Option<i64>,
}

#[derive(QueryableByName)]
struct Word {
    #[diesel(sql_type = Text)]
    word: String,
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// The file, in one snapshot; nothing is written to it or beside it.
pub(in crate::store) struct Source {
    conn: SqliteConnection,
}

impl Source {
    pub(super) fn open(file: &Path) -> Result<Self, Error> {
        let text = file.to_str().ok_or_else(|| Error::Source("its path is not UTF-8".to_owned()))?;
        let escaped = text.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let mut log = file.as_os_str().to_owned();
        log.push("-wal");
        // Without a log to read, nothing is made beside it either.
        let mode = if Path::new(&log).exists() { "mode=ro" } else { "immutable=1" };
        let failed = |error: &dyn std::fmt::Display| Error::Source(format!("{text}: {error}"));
        let conn = SqliteConnection::establish(&format!("file:{escaped}?{mode}")).map_err(|e| failed(&e))?;
        let mut source = Self { conn };
        source.conn.batch_execute("PRAGMA query_only = ON; BEGIN").map_err(|error| failed(&error))?;
        for table in ["tasks", "task_sessions", "task_session_turns", "task_session_messages"] {
            if !source.has(table)? {
                return Err(Error::Source(format!("{text} has no table {table}")));
            }
        }
        Ok(source)
    }

    fn load<T>(&mut self, query: &str, binds: (&str, i64)) -> Result<Vec<T>, Error>
    where
        T: QueryableByName<diesel::sqlite::Sqlite> + 'static,
    {
        let rows =
            diesel::sql_query(query).bind::<Text, _>(binds.0).bind::<BigInt, _>(binds.1).load(&mut self.conn);
        rows.map_err(|error| Error::Source(error.to_string()))
    }

    fn has(&mut self, table: &str) -> Result<bool, Error> {
        let query = "SELECT count(*) AS count FROM sqlite_master WHERE type = 'table' AND name = ?1 AND ?2 = 0";
        Ok(self.load::<Count>(query, (table, 0))?.iter().any(|row| row.count > 0))
    }

    /// The newest generation that its projections named; 0: none.
    pub(in crate::store) fn epoch(&mut self) -> Result<i64, Error> {
        if !self.has("kandev_meta")? {
            return Ok(0);
        }
        let query = "SELECT CAST(value AS TEXT) AS word FROM kandev_meta WHERE key = ?1 AND ?2 = 0";
        let words: Vec<Word> = self.load(query, ("pending_action_projection_epoch", 0))?;
        Ok(words.first().and_then(|row| row.word.trim().parse().ok()).filter(|epoch| *epoch > 0).unwrap_or(0))
    }

    /// What a workspace is called; none: nobody says.
    pub(in crate::store) fn workspace_name(&mut self, id: &str) -> Result<Option<String>, Error> {
        if !self.has("workspaces")? {
            return Ok(None);
        }
        let query = "SELECT CAST(name AS TEXT) AS word FROM workspaces WHERE id = ?1 AND name <> '' AND ?2 = 0";
        Ok(self.load::<Word>(query, (id, 0))?.pop().map(|row| row.word))
    }

    /// Tasks behind a place.
    pub(in crate::store) fn tasks(&mut self, after: i64) -> Result<Vec<SourceTask>, Error> {
        let query = format!(
            "SELECT rowid AS place, CAST(id AS TEXT) AS id, CAST(COALESCE(workspace_id, '') AS TEXT) AS workspace_id,
                 CAST(title AS BLOB) AS title, CAST(description AS BLOB) AS description,
                 CAST(COALESCE(state, '') AS TEXT) AS state, {} AS created_us, {} AS updated_us
             FROM tasks WHERE ?1 = '' AND rowid > ?2 AND id <> '' ORDER BY rowid LIMIT {PAGE}",
            micros("created_at"),
            micros("updated_at")
        );
        self.load(&query, ("", after))
    }

    /// Sessions behind a place.
    pub(in crate::store) fn sessions(&mut self, after: i64) -> Result<Vec<SourceSession>, Error> {
        let query = format!(
            "SELECT rowid AS place, CAST(id AS TEXT) AS id, CAST(task_id AS TEXT) AS task_id,
                 CAST(state AS TEXT) AS state, COALESCE(is_primary, 0) <> 0 AS is_primary, {} AS started_us,
                 {} AS completed_us, {} AS updated_us
             FROM task_sessions WHERE ?1 = '' AND rowid > ?2 AND id <> '' ORDER BY rowid LIMIT {PAGE}",
            micros("started_at"),
            micros("completed_at"),
            micros("updated_at")
        );
        self.load(&query, ("", after))
    }

    /// All turns of a session, in no order.
    pub(in crate::store) fn turns(&mut self, session: &str) -> Result<Vec<SourceTurn>, Error> {
        let query = format!(
            "SELECT CAST(id AS TEXT) AS id, {} AS started_us, {} AS completed_us, {} AS created_us,
                 CAST(metadata AS BLOB) AS metadata
             FROM task_session_turns WHERE task_session_id = ?1 AND rowid > ?2 AND id <> ''",
            micros("started_at"),
            micros("completed_at"),
            micros("created_at")
        );
        self.load(&query, (session, 0))
    }

    /// Messages of a session behind a place.
    pub(in crate::store) fn messages(&mut self, session: &str, after: i64) -> Result<Vec<SourceMessage>, Error> {
        let query = format!(
            "SELECT rowid AS place, CAST(id AS TEXT) AS id, CAST(COALESCE(turn_id, '') AS TEXT) AS turn_id,
                 CAST(COALESCE(author_type, '') AS TEXT) AS author, CAST(COALESCE(type, '') AS TEXT) AS kind,
                 CAST(content AS BLOB) AS content, CAST(metadata AS BLOB) AS metadata, {} AS created_us,
                 {} AS updated_us
             FROM task_session_messages WHERE task_session_id = ?1 AND rowid > ?2 AND id <> ''
             ORDER BY rowid LIMIT {PAGE}",
            micros("created_at"),
            micros("updated_at")
        );
        self.load(&query, (session, after))
    }

    /// Turns and messages of sessions that are not there.
    pub(in crate::store) fn orphans(&mut self) -> Result<i64, Error> {
        let query = "SELECT (SELECT count(*) FROM task_session_turns
                 WHERE task_session_id NOT IN (SELECT id FROM task_sessions))
             + (SELECT count(*) FROM task_session_messages
                 WHERE task_session_id NOT IN (SELECT id FROM task_sessions)) AS count WHERE ?1 = '' AND ?2 = 0";
        Ok(self.load::<Count>(query, ("", 0))?.iter().map(|row| row.count).sum())
    }
}

/// A time as microseconds since 1970; null: it cannot be read. Stored are `2026-01-02 03:04:05.678901+00:00`, the same
/// with a `T` or a `Z`, and without a zone, which is UTC.
fn micros(column: &str) -> String {
    format!(
        "unixepoch(substr({column}, 1, 19)
             || CASE WHEN length({column}) > 19 AND substr({column}, -6, 1) IN ('+', '-')
                 THEN substr({column}, -6) ELSE '' END) * 1000000
         + CASE WHEN substr({column}, 20, 1) = '.'
             THEN CAST(round(CAST('0.' || substr({column}, 21) AS REAL) * 1000000) AS INTEGER) ELSE 0 END"
    )
}
