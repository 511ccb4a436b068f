//! One cell's database, a file or one of a private PostgreSQL server, and the files beside it. What a cell does to it
//! from outside is done here in either's words. May import: the private server, the crate.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use answerable::store::{PostgresOptions, StoreOptions};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use tempfile::TempDir;

use super::postgres::{Server, psql};

/// Which of the two a cell runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// A database, gone when this is.
pub struct Base {
    folder: TempDir,
    /// None: it is a file in the folder.
    database: Option<Database>,
}

struct Database {
    server: Arc<Server>,
    name: String,
}

/// What SQLite brings and only cells write with. PostgreSQL has a type `json`, by whose name JSON is written in both.
const WORDS: &str = "
    CREATE FUNCTION json_set(document TEXT, path TEXT, value JSON) RETURNS TEXT LANGUAGE SQL RETURN
        jsonb_set(document::jsonb, string_to_array(substr(path, 3), '.'), value::jsonb)::text;
    CREATE FUNCTION json_set(document TEXT, path TEXT, value TEXT) RETURNS TEXT LANGUAGE SQL RETURN
        json_set(document, path, to_json(value));
    CREATE FUNCTION json_set(document TEXT, path TEXT, value INTEGER) RETURNS TEXT LANGUAGE SQL RETURN
        json_set(document, path, to_json(value));";

/// The PostgreSQL server that the cells share; it goes away with the process.
fn shared() -> Arc<Server> {
    static SERVER: OnceLock<Arc<Server>> = OnceLock::new();
    Arc::clone(SERVER.get_or_init(|| Arc::new(Server::start())))
}

impl Base {
    pub fn new(engine: Engine) -> Self {
        match engine {
            Engine::Sqlite => Self { folder: TempDir::new().unwrap(), database: None },
            Engine::Postgres => Self::on(shared()),
        }
    }

    /// A new one on that server.
    pub fn on(server: Arc<Server>) -> Self {
        let name = server.database();
        Self { folder: TempDir::new().unwrap(), database: Some(Database { server, name }) }
    }

    /// Cells may write JSON from now on.
    pub fn teach(&self) {
        if self.database.is_some() {
            self.run(WORDS);
        }
    }

    /// A copy of one that no server runs on.
    pub fn copy(&self) -> Self {
        let folder = TempDir::new().unwrap();
        let database = self.database.as_ref().map(|database| {
            let (server, name) = (Arc::clone(&database.server), format!("cell{}", uuid::Uuid::now_v7().simple()));
            database.admin(&format!("CREATE DATABASE {name} TEMPLATE {}", database.name));
            Database { server, name }
        });
        let copy = Self { folder, database };
        if copy.database.is_none() {
            copy_file(&self.file(), &copy.file());
        }
        copy
    }

    /// Holds from now on what the other one holds; no server runs on either.
    pub fn become_like(&self, other: &Self) {
        match (&self.database, &other.database) {
            (Some(own), Some(other)) => {
                own.admin(&format!("DROP DATABASE {} WITH (FORCE)", own.name));
                own.admin(&format!("CREATE DATABASE {} TEMPLATE {}", own.name, other.name));
            }
            _ => copy_file(&other.file(), &self.file()),
        }
    }

    /// For `--database`.
    pub fn url(&self) -> String {
        match &self.database {
            None => format!("sqlite:{}", self.file().display()),
            Some(database) => database.server.url(&database.name),
        }
    }

    /// The same by a proxy before its server.
    pub fn url_by(&self, proxy: std::net::SocketAddr) -> String {
        let name = self.database.as_ref().map(|database| database.name.as_str());
        format!("postgres://answerable@{proxy}/{}", name.expect("a file has no proxy"))
    }

    /// What the clients of its server on this machine connect to.
    pub fn socket(&self) -> PathBuf {
        self.database.as_ref().expect("a file has no server").server.socket()
    }

    pub fn options(&self) -> StoreOptions {
        match &self.database {
            None => StoreOptions::new(self.file()),
            Some(_) => PostgresOptions::new(self.url()).into(),
        }
    }

    /// Where the server under test runs, so that what it writes beside its database is this cell's.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file of this cell's own.
    pub fn beside(&self, extension: &str) -> PathBuf {
        self.file().with_extension(extension)
    }

    /// Where the recording agent writes; without a database file, beside the default's name.
    pub fn dispatches(&self) -> PathBuf {
        match self.database {
            None => self.beside("dispatches"),
            Some(_) => self.folder().join(answerable::config::DATABASE).with_extension("dispatches"),
        }
    }

    pub fn run(&self, sql: &str) {
        match &self.database {
            None => connect(&self.file()).batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}")),
            Some(_) => drop(printed(&self.url(), sql)),
        }
    }

    /// The rows of a query for one text that is called `line`.
    pub fn read(&self, sql: &str) -> Vec<String> {
        match &self.database {
            None => {
                let rows: Vec<Line> = diesel::sql_query(sql)
                    .load(&mut connect(&self.file()))
                    .unwrap_or_else(|error| panic!("{sql}: {error}"));
                rows.into_iter().map(|row| row.line).collect()
            }
            Some(_) => printed(&self.url(), sql).lines().map(str::to_owned).collect(),
        }
    }

    /// The database, where it is one.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("cell.db")
    }
}

impl Database {
    fn admin(&self, sql: &str) {
        printed(&self.server.url("postgres"), sql);
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let _gone = psql(&self.server.url("postgres")).args(["-c", &sql]).output();
    }
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = diesel::sql_types::Text)]
    line: String,
}

fn connect(file: &Path) -> SqliteConnection {
    let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    conn.batch_execute("PRAGMA busy_timeout = 5000").unwrap();
    conn
}

fn printed(url: &str, sql: &str) -> String {
    let output = psql(url).args(["-c", sql]).output().unwrap();
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The file and its log; the index of the log is rebuilt by whoever opens it.
fn copy_file(from: &Path, to: &Path) {
    for end in ["", "-wal", "-shm"] {
        let of = |path: &Path| Path::new(&format!("{}{end}", path.display())).to_owned();
        let _absent = std::fs::remove_file(of(to));
        if of(from).exists() && end != "-shm" {
            std::fs::copy(of(from), of(to)).unwrap();
        }
    }
}
