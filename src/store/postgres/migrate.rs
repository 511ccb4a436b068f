//! Is the database ours, and does this program know its schema? Then it is brought up to date, by one server at a
//! time. May import: the store's shared parts.

use diesel::migration::{Migration, MigrationSource};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use tokio::sync::oneshot;

use crate::store::error::Error;

use super::Conn;
use super::seam::{LOCKS, MIGRATIONS as LOCK};

/// The schema's versions.
pub(in crate::store) const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/postgres");

type Blocking = AsyncConnectionWrapper<Conn>;

#[derive(QueryableByName)]
struct Flag {
    #[diesel(sql_type = Bool)]
    value: bool,
}

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = Text)]
    version: String,
}

/// Checks whose the database is and how new; then migrates it, if it may. Migrations block, so they have a thread.
pub(super) async fn prepare(conn: Conn, is_writable: bool) -> Result<(), Error> {
    let (end, ended) = oneshot::channel();
    let run = move || {
        let mut conn = Blocking::from(conn);
        let result = if is_writable { migrate(&mut conn) } else { verify(&mut conn) };
        drop(conn);
        let _ = end.send(result);
    };
    std::thread::Builder::new().name("store-migrate".to_owned()).spawn(run)?;
    ended.await.unwrap_or(Err(Error::Panicked))
}

fn migrate(conn: &mut Blocking) -> Result<(), Error> {
    conn.transaction(|conn| {
        let alone = format!(
            "SELECT set_config('statement_timeout', '0', true) IS NULL OR set_config('lock_timeout', '0', true) IS NULL \
             OR pg_advisory_xact_lock({LOCKS}, {LOCK}) IS NULL AS value"
        );
        flag(conn, &alone)?;
        let is_known = has_table(conn, "__diesel_schema_migrations")?;
        let is_empty = "SELECT NOT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema()) AS value";
        if !is_known && !flag(conn, is_empty)? {
            return Err(Error::Foreign("it has tables of something else".to_owned()));
        }
        if is_known {
            check_version(conn)?;
        }
        conn.run_pending_migrations(MIGRATIONS).map(|_| ()).map_err(|error| {
            Error::Corrupt(format!("its schema could not be brought up to date: {error}"))
        })
    })
}

/// The database is ours and has this program's schema; nothing is changed.
fn verify(conn: &mut Blocking) -> Result<(), Error> {
    if !has_table(conn, "__diesel_schema_migrations")? {
        return Err(Error::Foreign("it has no schema of ours".to_owned()));
    }
    let applied = check_version(conn)?;
    if applied < known()?.len() { Err(Error::OlderSchema) } else { Ok(()) }
}

fn known() -> Result<Vec<String>, Error> {
    let migrations: Vec<Box<dyn Migration<Pg>>> =
        MIGRATIONS.migrations().map_err(|error| Error::Corrupt(error.to_string()))?;
    Ok(migrations.iter().map(|migration| migration.name().version().to_string()).collect())
}

/// How many versions the database has, all of them known.
fn check_version(conn: &mut Blocking) -> Result<usize, Error> {
    let known = known()?;
    let applied = diesel::sql_query("SELECT version FROM __diesel_schema_migrations ORDER BY version DESC")
        .load::<Version>(conn)?;
    if !applied.is_empty() && !has_table(conn, "store_meta")? {
        return Err(Error::Foreign("its migrations are those of something else".to_owned()));
    }
    match applied.iter().find(|row| !known.contains(&row.version)) {
        Some(row) => {
            let known = known.into_iter().max().unwrap_or_default();
            Err(Error::NewerSchema { found: row.version.clone(), known })
        }
        None => Ok(applied.len()),
    }
}

fn has_table(conn: &mut Blocking, name: &str) -> Result<bool, Error> {
    flag(conn, &format!("SELECT to_regclass('{name}') IS NOT NULL AS value"))
}

fn flag(conn: &mut Blocking, sql: &str) -> Result<bool, Error> {
    Ok(diesel::sql_query(sql).get_result::<Flag>(conn)?.value)
}
