//! Where a test's server keeps its state: a file, or, with `ANSWERABLE_TEST_ENGINE=postgres`, a database of its own on
//! a private PostgreSQL server. What a test does to it from outside is done here in either's words.
//! May import: the crate, the private server, psql.

use std::path::PathBuf;
use std::sync::Arc;

use answerable::store::{PostgresOptions, StoreOptions};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde_json::{Map, Value};
use tempfile::TempDir;

use crate::postgres::Database;
use crate::psql::{self, Session};

/// A database, gone when this is.
pub enum Home {
    File(TempDir),
    Postgres(Database),
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

impl Home {
    pub fn new() -> Arc<Self> {
        Arc::new(match std::env::var("ANSWERABLE_TEST_ENGINE").as_deref() {
            Ok("postgres") => Self::Postgres(Database::new()),
            Ok("sqlite") | Err(_) => Self::File(TempDir::new().unwrap()),
            Ok(other) => panic!("ANSWERABLE_TEST_ENGINE is {other}, and must be sqlite or postgres"),
        })
    }

    /// For `--database`.
    pub fn url(&self) -> String {
        match self {
            Self::File(folder) => format!("sqlite:{}", file(folder).display()),
            Self::Postgres(database) => database.url(),
        }
    }

    pub fn options(&self) -> StoreOptions {
        match self {
            Self::File(folder) => StoreOptions::new(file(folder)),
            Self::Postgres(database) => PostgresOptions::new(database.url()).into(),
        }
    }

    pub fn run(&self, statements: &str) {
        match self {
            Self::File(folder) => connect(folder).batch_execute(statements).unwrap(),
            Self::Postgres(database) => drop(psql::run(&database.url(), statements)),
        }
    }

    /// The rows of a query for one text that is called `line`.
    pub fn lines(&self, query: &str) -> Vec<String> {
        match self {
            Self::File(folder) => {
                let rows: Vec<Line> = diesel::sql_query(query).load(&mut connect(folder)).unwrap();
                rows.into_iter().map(|row| row.line).collect()
            }
            Self::Postgres(database) => psql::run(&database.url(), query).lines().map(str::to_owned).collect(),
        }
    }

    /// Sets keys of the JSON of rows, as an older version, an import or a stranger may have written them.
    pub fn set(&self, table: &str, column: &str, which: &str, keys: &Value) {
        for text in self.lines(&format!("SELECT {column} AS line FROM {table} WHERE {which}")) {
            let mut fields: Map<String, Value> = serde_json::from_str(&text).unwrap();
            fields.extend(keys.as_object().unwrap().clone());
            let (new, old) = (quoted(&Value::Object(fields).to_string()), quoted(&text));
            self.run(&format!("UPDATE {table} SET {column} = {new} WHERE {column} = {old} AND {which}"));
        }
    }

    /// Lets every update of the table change nothing, until it is thawed.
    pub fn freeze(&self, table: &str) {
        self.run(&match self {
            Self::File(_) => {
                format!("CREATE TRIGGER ice BEFORE UPDATE ON {table} BEGIN SELECT RAISE(IGNORE); END")
            }
            Self::Postgres(_) => format!("CREATE RULE ice AS ON UPDATE TO {table} DO INSTEAD NOTHING"),
        });
    }

    pub fn thaw(&self, table: &str) {
        self.run(&match self {
            Self::File(_) => "DROP TRIGGER ice".to_owned(),
            Self::Postgres(_) => format!("DROP RULE ice ON {table}"),
        });
    }

    /// Takes away what sessions are projected from, or brings it back.
    pub fn set_projectable(&self, is_projectable: bool) {
        self.run(match (self, is_projectable) {
            (Self::File(_), false) => {
                "PRAGMA legacy_alter_table = ON; ALTER TABLE task_session_turns RENAME TO lost"
            }
            (Self::File(_), true) => {
                "PRAGMA legacy_alter_table = ON; ALTER TABLE lost RENAME TO task_session_turns"
            }
            (Self::Postgres(_), false) => "ALTER VIEW session_projections RENAME TO lost",
            (Self::Postgres(_), true) => "ALTER VIEW lost RENAME TO session_projections",
        });
    }

    /// Keeps everybody else from writing, until it is dropped: what a slow disk or a stranger may do.
    pub fn hold(&self) -> Held {
        match self {
            Self::File(folder) => {
                let mut connection = connect(folder);
                connection.batch_execute("BEGIN IMMEDIATE").unwrap();
                Held::File(connection)
            }
            Self::Postgres(database) => {
                let mut session = Session::open(&database.url());
                session.run(
                    "BEGIN; LOCK TABLE task_sessions, tasks, outbox_events, backend_generations IN EXCLUSIVE MODE",
                );
                Held::Postgres(session)
            }
        }
    }
}

/// See [`Home::hold`].
pub enum Held {
    File(SqliteConnection),
    Postgres(Session),
}

impl Drop for Held {
    fn drop(&mut self) {
        match self {
            Self::File(connection) => connection.batch_execute("ROLLBACK").unwrap(),
            Self::Postgres(session) => session.run("ROLLBACK"),
        }
    }
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("test.db")
}

fn connect(folder: &TempDir) -> SqliteConnection {
    let mut connection = SqliteConnection::establish(file(folder).to_str().unwrap()).unwrap();
    connection.batch_execute("PRAGMA busy_timeout = 20000").unwrap();
    connection
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
