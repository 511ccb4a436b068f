//! Is the file ours, and does this program know its schema? Then it is brought up to date.
//! May import: the store's shared parts.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::migration::{Migration, MigrationSource};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use crate::store::error::Error;

use super::files::log_of;

/// The schema's versions.
pub(in crate::store) const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// Marks a file as ours: "Answ" in ASCII.
const APPLICATION_ID: i64 = 0x416e_7377;

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    value: i64,
}

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = Text)]
    version: String,
}

/// Bytes of SQLite's header.
const HEADER_BYTES: u64 = 100;

/// Refuses a file that is no database, is cut off or belongs to another program, before anything could write to it:
/// opening it for writing would make its journal ours.
pub(super) fn check_header(path: &Path) -> Result<(), Error> {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut header = Vec::new();
    file.by_ref().take(HEADER_BYTES).read_to_end(&mut header)?;
    if !header.is_empty() && !header.starts_with(MAGIC) {
        return Err(Error::Foreign(format!("{} is no SQLite file", path.display())));
    }
    // What a log holds goes before the file.
    if header.is_empty() || std::fs::metadata(log_of(path)).is_ok_and(|log| log.len() > 0) {
        return Ok(());
    }
    let (length, said) = (file.metadata()?.len(), length_said(&header).unwrap_or(HEADER_BYTES));
    if length < said {
        return Err(Error::Corrupt(format!("it is cut off: {length} bytes of {said}")));
    }
    // The number of the schema's changes is 0 as long as there is no table.
    match (number_at(&header, 40), number_at(&header, 68).map(i64::from)) {
        (_, Some(APPLICATION_ID)) | (Some(0), Some(0)) => Ok(()),
        (_, id) => Err(Error::Foreign(format!("its application id is {}", id.unwrap_or_default()))),
    }
}

/// The length of the file as its header has it; none where an older writer left it out.
fn length_said(header: &[u8]) -> Option<u64> {
    // The largest page, 65,536 bytes, is written as 1.
    let page = match number_at(header, 16)? >> 16 {
        1 => 65_536,
        page => u64::from(page),
    };
    (number_at(header, 24)? == number_at(header, 92)?).then_some(u64::from(number_at(header, 28)?) * page)
}

fn number_at(header: &[u8], at: usize) -> Option<u32> {
    header.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
}

/// Checks whose the file is and how new, then migrates it.
pub(super) fn prepare(conn: &mut SqliteConnection) -> Result<(), Error> {
    let tables = number(conn, "SELECT count(*) AS value FROM sqlite_master WHERE type = 'table'")?;
    let id = number(conn, "SELECT application_id AS value FROM pragma_application_id")?;
    match (tables, id) {
        (_, APPLICATION_ID) => {}
        (0, 0) => conn.batch_execute(&format!("PRAGMA application_id = {APPLICATION_ID}"))?,
        _ => return Err(Error::Foreign(format!("its application id is {id}"))),
    }
    check_version(conn)?;
    conn.run_pending_migrations(MIGRATIONS)
        .map(|_| ())
        .map_err(|error| Error::Corrupt(format!("its schema could not be brought up to date: {error}")))
}

/// The file is ours and has this program's schema; nothing is changed.
pub(super) fn verify(conn: &mut SqliteConnection) -> Result<(), Error> {
    let id = number(conn, "SELECT application_id AS value FROM pragma_application_id")?;
    if id != APPLICATION_ID {
        return Err(Error::Foreign(format!("its application id is {id}")));
    }
    check_version(conn)?;
    let is_behind = conn
        .has_pending_migration(MIGRATIONS)
        .map_err(|error| Error::Corrupt(format!("its schema cannot be read: {error}")))?;
    if is_behind { Err(Error::OlderSchema) } else { Ok(()) }
}

fn check_version(conn: &mut SqliteConnection) -> Result<(), Error> {
    let names = "SELECT count(*) AS value FROM sqlite_master WHERE name = '__diesel_schema_migrations'";
    if number(conn, names)? == 0 {
        return Ok(());
    }
    let migrations: Vec<Box<dyn Migration<Sqlite>>> =
        MIGRATIONS.migrations().map_err(|error| Error::Corrupt(error.to_string()))?;
    let known: Vec<String> = migrations.iter().map(|m| m.name().version().to_string()).collect();
    let applied = diesel::sql_query("SELECT version FROM __diesel_schema_migrations ORDER BY version DESC")
        .load::<Version>(conn)?;
    match applied.into_iter().find(|row| !known.contains(&row.version)) {
        Some(row) => {
            let known = known.into_iter().max().unwrap_or_default();
            Err(Error::NewerSchema { found: row.version, known })
        }
        None => Ok(()),
    }
}

fn number(conn: &mut SqliteConnection, sql: &str) -> Result<i64, Error> {
    Ok(diesel::sql_query(sql).get_result::<Number>(conn)?.value)
}
