//! Every setting of a server: a flag, an environment variable and a key of an optional TOML file, in that order of
//! precedence. The only reader of the environment (by way of clap). May import: nothing of this crate.

mod acp;
mod address;
mod executors;
mod limits;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Deserialize;

pub use acp::{Acp, AcpVersion};
pub use address::is_public;
pub use executors::{Executor, Redelivery, Secret, Webhook};
pub use limits::{LimitFlags, Limits};

use limits::LimitFile;

/// Where a server listens, if nothing is said.
pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);
/// What is logged, if nothing is said.
pub const LOG_FILTER: &str = "info";
/// The database, if nothing is said.
pub const DATABASE: &str = "sqlite:answerable.db";

/// What strangers may learn of the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Introspection, suggestions.
    Development,
    /// Neither.
    #[default]
    Production,
}

/// Who may read the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricsReaders {
    /// Operators; without tokens that is whoever reaches the loopback address.
    #[default]
    Operators,
    /// Whoever reaches the port.
    Anyone,
    /// Nobody.
    Nobody,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A line for people.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

/// Where the state is kept.
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    /// A file.
    Sqlite(PathBuf),
    /// A PostgreSQL server; its URL may hold a password and is never shown.
    Postgres(String),
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            Self::Postgres(_) => f.write_str("Postgres(…)"),
        }
    }
}

/// The flags of `serve`.
#[derive(Clone, Debug, Default, Args)]
pub struct Flags {
    /// A TOML file with settings, named as the flags with `_` for `-`.
    #[arg(long, value_name = "FILE", env = "ANSWERABLE_CONFIG")]
    pub config: Option<PathBuf>,
    /// The address to listen on [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDRESS:PORT", env = "ANSWERABLE_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// The database, `sqlite:FILE` or `postgres://USER:PASSWORD@HOST/NAME` [default: sqlite:answerable.db]
    #[arg(long, value_name = "URL", env = "ANSWERABLE_DATABASE", hide_env_values = true)]
    pub database: Option<String>,
    /// This server's name among those of one database; who starts under it takes the place of whoever had it
    /// [default: the machine's host name]
    #[arg(long, value_name = "NAME", env = "ANSWERABLE_SERVER_NAME")]
    pub server_name: Option<String>,
    /// Host names and web origins beside the loopback ones by which clients reach the server, such as
    /// `answers.example.org` [default: none]
    #[arg(long = "public-host", value_name = "HOST", env = "ANSWERABLE_PUBLIC_HOST", value_delimiter = ',')]
    pub public_hosts: Option<Vec<String>>,
    /// What strangers may learn of the schema [default: production]
    #[arg(long, env = "ANSWERABLE_PROFILE")]
    pub profile: Option<Profile>,
    /// How the log is written [default: text]
    #[arg(long, env = "ANSWERABLE_LOG_FORMAT")]
    pub log_format: Option<LogFormat>,
    /// What is logged, such as `info,answerable=debug` [default: info]
    #[arg(long, value_name = "DIRECTIVES", env = "ANSWERABLE_LOG_FILTER")]
    pub log_filter: Option<String>,
    /// A JSON file of documents by their SHA-256, which requests may name instead of sending them [default: none]
    #[arg(long, value_name = "FILE", env = "ANSWERABLE_TRUSTED_DOCUMENTS")]
    pub trusted_documents: Option<PathBuf>,
    /// Executes trusted documents only [default: false]
    #[arg(long, value_name = "BOOL", env = "ANSWERABLE_ONLY_TRUSTED_DOCUMENTS", num_args = 0..=1, default_missing_value = "true")]
    pub only_trusted_documents: Option<bool>,
    /// Who may read `/metrics` [default: operators]
    #[arg(long, env = "ANSWERABLE_METRICS")]
    pub metrics: Option<MetricsReaders>,
    /// The collector that traces are sent to by OTLP over HTTP, such as `http://localhost:4318` [default: none]
    #[arg(long, value_name = "URL", env = "ANSWERABLE_OTLP_ENDPOINT")]
    pub otlp_endpoint: Option<String>,
    /// Every limit.
    #[command(flatten, next_help_heading = "Limits")]
    pub limits: LimitFlags,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    listen: Option<SocketAddr>,
    database: Option<String>,
    server_name: Option<String>,
    public_hosts: Option<Vec<String>>,
    profile: Option<Profile>,
    log_format: Option<LogFormat>,
    log_filter: Option<String>,
    trusted_documents: Option<PathBuf>,
    only_trusted_documents: Option<bool>,
    metrics: Option<MetricsReaders>,
    otlp_endpoint: Option<String>,
    #[serde(default)]
    limits: LimitFile,
    #[serde(default)]
    executors: BTreeMap<String, executors::Table>,
}

/// Settings with every question answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The database.
    pub database: Database,
    /// This server's name among those of one database.
    pub server_name: String,
    /// Host names beside the loopback ones.
    pub public_hosts: Vec<String>,
    /// What strangers may learn of the schema.
    pub profile: Profile,
    /// How the log is written.
    pub log_format: LogFormat,
    /// What is logged.
    pub log_filter: String,
    /// The collector that traces are sent to.
    pub otlp_endpoint: Option<String>,
    /// The file of trusted documents.
    pub trusted_documents: Option<PathBuf>,
    /// Nothing but trusted documents is executed.
    pub is_trusted_only: bool,
    /// Who may read the metrics.
    pub metrics: MetricsReaders,
    /// Every limit.
    pub limits: Limits,
    /// Who gives prompts to agents, by the name that a session gives; only the file has them.
    pub executors: BTreeMap<String, Executor>,
}

/// Settings that cannot be used; exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read {path}: {1}", path = .0.display())]
    Read(PathBuf, std::io::Error),
    /// The file is no TOML, or has an unknown key or a value of the wrong type.
    ///
    /// The line itself is not shown: it may hold a secret.
    #[error("{path}, line {1}: {2}", path = .0.display())]
    Parse(PathBuf, usize, String),
    /// A limit is outside its range.
    #[error("{name} is {value}, and must be from {min} to {max}")]
    Range {
        /// The setting.
        name: &'static str,
        /// What it was set to.
        value: u64,
        /// The least value.
        min: u64,
        /// The greatest value.
        max: u64,
    },
    /// The database's kind is not known. Its text may hold a password.
    #[error("database must be sqlite:FILE or postgres://USER:PASSWORD@HOST/NAME")]
    Database,
    /// An executor cannot be used.
    #[error("executors.{name}.{key} {message}")]
    Executor {
        /// Which.
        name: String,
        /// What of it.
        key: &'static str,
        /// What it must be.
        message: &'static str,
    },
}

impl Settings {
    /// Puts flags (which hold the environment too), file and defaults together.
    ///
    /// # Errors
    /// [`Error`] names the setting.
    pub fn load(flags: Flags) -> Result<Self, Error> {
        let file = flags.config.as_deref().map(read).transpose()?.unwrap_or_default();
        let database = flags.database.or(file.database).unwrap_or_else(|| DATABASE.into());
        Ok(Self {
            listen: flags.listen.or(file.listen).unwrap_or(LISTEN),
            database: Database::parse(&database)?,
            server_name: flags.server_name.or(file.server_name).unwrap_or_else(host_name),
            public_hosts: flags.public_hosts.or(file.public_hosts).unwrap_or_default(),
            profile: flags.profile.or(file.profile).unwrap_or_default(),
            log_format: flags.log_format.or(file.log_format).unwrap_or_default(),
            log_filter: flags.log_filter.or(file.log_filter).unwrap_or_else(|| LOG_FILTER.into()),
            trusted_documents: flags.trusted_documents.or(file.trusted_documents),
            is_trusted_only: flags.only_trusted_documents.or(file.only_trusted_documents).unwrap_or_default(),
            otlp_endpoint: flags.otlp_endpoint.or(file.otlp_endpoint),
            metrics: flags.metrics.or(file.metrics).unwrap_or_default(),
            limits: Limits::load(flags.limits, file.limits)?,
            executors: executors::load(file.executors)?,
        })
    }
}

impl Database {
    /// Reads a URL.
    ///
    /// # Errors
    /// Another kind of database.
    pub fn parse(url: &str) -> Result<Self, Error> {
        match url.strip_prefix("sqlite:") {
            Some(path) if !path.is_empty() => Ok(Self::Sqlite(PathBuf::from(path))),
            None if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Ok(Self::Postgres(url.to_owned()))
            }
            _ => Err(Error::Database),
        }
    }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn read(path: &Path) -> Result<File, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::Read(path.to_owned(), error))?;
    toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        Error::Parse(path.to_owned(), before.lines().count().max(1), error.message().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    fn load(flags: Flags, text: &str) -> Result<Settings, Error> {
        let file = file(text);
        Settings::load(Flags { config: Some(file.path().into()), ..flags })
    }

    #[test]
    fn a_flag_goes_before_the_file_and_the_file_before_the_default() {
        let text =
            "database = 'sqlite:file.db'\nprofile = 'development'\n[limits]\nreaders = 3\nrelay_batch = 7\n";
        let limits = LimitFlags { readers: Some(5), ..LimitFlags::default() };
        let flags = Flags { database: Some("sqlite:flag.db".into()), limits, ..Flags::default() };
        let settings = load(flags, text).unwrap();
        assert_eq!(settings.database, Database::Sqlite(PathBuf::from("flag.db")));
        assert_eq!(settings.profile, Profile::Development);
        assert_eq!((settings.limits.readers, settings.limits.relay_batch), (5, 7));
        assert_eq!(settings.listen, LISTEN);
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        for text in ["listne = 'x'", "[limits]\nreaderz = 1"] {
            let error = load(Flags::default(), text).unwrap_err().to_string();
            assert!(error.contains("unknown field"), "{error}");
        }
    }

    #[test]
    fn a_limit_outside_its_range_is_refused_by_name_and_range() {
        let error = load(Flags::default(), "[limits]\nreaders = 0").unwrap_err().to_string();
        assert_eq!(error, "readers is 0, and must be from 1 to 64");
    }

    #[test]
    fn another_kind_of_database_is_refused_in_words_without_its_password() {
        let error = load(Flags::default(), "database = 'mysql://me:secret@x'").unwrap_err().to_string();
        assert_eq!(error, "database must be sqlite:FILE or postgres://USER:PASSWORD@HOST/NAME");
        let settings = load(Flags::default(), "database = 'postgres://me:secret@x'").unwrap();
        assert_eq!(settings.database, Database::Postgres("postgres://me:secret@x".to_owned()));
        assert!(!format!("{settings:?}").contains("secret"));
    }
}
