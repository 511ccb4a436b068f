//! What the command line does beside serving. Tokens and migrations take a database file for themselves, so no
//! server may run on it, and so does an import; a check and an inspection only read. May import: store, access, lifecycle, config, ids, ports.

mod check;
mod import;
mod inspect;

use std::time::Duration;

use clap::Subcommand;

use crate::access::{Role, new_token};
use crate::config;
use crate::ids::{Micros, SessionId, TokenId, WorkspaceId};
use crate::ports::{Clock, IdSource, System};
use crate::store::{self, PostgresOptions, Store, StoreOptions, TokenRow};

pub use check::check;
pub use import::import;
pub use inspect::inspect;

/// `answerable token …`
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Makes a token and prints it, this once.
    Create {
        /// The database, `sqlite:FILE` or `postgres://…`.
        #[arg(long, default_value = config::DATABASE, env = "ANSWERABLE_DATABASE", hide_env_values = true)]
        database: String,
        /// Who it stands for: person, runtime, agent or operator.
        #[arg(long)]
        role: String,
        /// What it is for, to know it again.
        #[arg(long, default_value = "")]
        name: String,
        /// A workspace that it may see; none: all.
        #[arg(long = "workspace")]
        workspaces: Vec<String>,
        /// The one session of an agent's token.
        #[arg(long)]
        session: Option<String>,
        /// Seconds until it expires; none: never.
        #[arg(long)]
        expires_in_s: Option<i64>,
    },
    /// Takes a token back, at once.
    Revoke {
        /// The database, `sqlite:FILE` or `postgres://…`.
        #[arg(long, default_value = config::DATABASE, env = "ANSWERABLE_DATABASE", hide_env_values = true)]
        database: String,
        /// The token's id, which stands before its text.
        id: String,
    },
}

/// A command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database's URL.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// No such role.
    #[error("role is {0:?}, and must be person, runtime, agent or operator")]
    Role(String),
    /// An agent's token without a session, or one that does not exist.
    #[error("an agent's token needs --session with a session that exists")]
    Session,
    /// What must hold does not.
    #[error("{0} violations")]
    Violations(usize),
    /// No such token.
    #[error("there is no token {0} that still stands")]
    NoToken(String),
}

/// A check or an import of a large database may take as long as somebody watches it; its statements are bounded.
const PATIENCE: Duration = Duration::from_hours(24);

fn options(database: &str) -> Result<StoreOptions, Error> {
    Ok(match config::Database::parse(database)? {
        config::Database::Sqlite(path) => StoreOptions::new(path),
        config::Database::Postgres(url) => {
            PostgresOptions { transaction: PATIENCE, ..PostgresOptions::new(url) }.into()
        }
    })
}

async fn open(database: &str) -> Result<Store, Error> {
    Ok(Store::open(&options(database)?).await?)
}

async fn open_to_read(database: &str) -> Result<Store, Error> {
    Ok(Store::open_to_read(&options(database)?).await?)
}

/// Opening migrates.
///
/// # Errors
/// The database cannot be opened or brought to this schema.
pub async fn migrate(database: &str) -> Result<(), Error> {
    let store = open(database).await?;
    Ok(store.close().await?)
}

/// Makes or takes back a token.
///
/// # Errors
/// [`Error`] says what is wrong with the arguments or the store.
pub async fn token(command: TokenCommand) -> Result<(), Error> {
    match command {
        TokenCommand::Create { database, role, name, workspaces, session, expires_in_s } => {
            let role = Role::parse(&role).ok_or(Error::Role(role))?;
            let store = open(&database).await?;
            let session_id = session.map(SessionId::new);
            let is_known = match &session_id {
                Some(id) => !store.sessions(std::slice::from_ref(id)).await?.is_empty(),
                None => role != Role::Agent,
            };
            if !is_known {
                return Err(Error::Session);
            }
            let workspaces: Vec<_> = workspaces.into_iter().map(WorkspaceId::new).collect();
            let (text, hash) = new_token();
            let now = System.now();
            let id = TokenId::from(System.fresh());
            let token = TokenRow {
                id: id.clone(),
                hash,
                role: role.as_str().into(),
                workspaces: Some(workspaces).filter(|ids| !ids.is_empty()),
                session_id,
                name,
                created_at: now,
                expires_at: expires_in_s.map(|s| Micros(now.0.saturating_add(s.saturating_mul(1_000_000)))),
                revoked_at: None,
            };
            store.token_insert(token).await?;
            store.close().await?;
            println!("{id} {text}");
            Ok(())
        }
        TokenCommand::Revoke { database, id } => {
            let store = open(&database).await?;
            let is_revoked = store.token_revoke(&TokenId::new(id.as_str()), System.now()).await?;
            store.close().await?;
            if is_revoked { Ok(()) } else { Err(Error::NoToken(id)) }
        }
    }
}
