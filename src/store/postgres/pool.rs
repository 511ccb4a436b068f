//! Connections: how one is made, and how many there are. A connection that broke, or that a failure left inside a
//! transaction, never goes back. May import: the store's shared parts.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::TimeoutType;
use diesel::ConnectionError;
use diesel_async::pooled_connection::deadpool::{Object, Pool as Connections, PoolError};
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use futures_util::{FutureExt, TryFutureExt};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{Client, Config, Connection, NoTls, Socket};

use crate::store::error::Error;
use crate::store::meter::{Meter, instrument};
use crate::store::options::PostgresOptions;

use super::Conn;
use super::transaction::within;

/// A connection that is lent out.
pub(super) type Lent = Object<Conn>;

/// How connections are made.
#[derive(Clone)]
pub(super) struct Maker {
    config: Config,
    settings: String,
    patience: Duration,
    meter: Arc<Meter>,
}

impl Maker {
    pub(super) fn new(options: &PostgresOptions, meter: &Arc<Meter>) -> Result<Self, Error> {
        let mut config = Config::from_str(&options.url).map_err(|error| Error::Address(error.to_string()))?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(Error::Address("sslmode=require, and this version has no TLS to a database".to_owned()));
        }
        if config.get_application_name().is_none() {
            config.application_name("answerable");
        }
        config.connect_timeout(options.connect).keepalives_idle(Duration::from_secs(30));
        config.keepalives_interval(Duration::from_secs(10)).keepalives_retries(3);
        // A peer that says nothing for longer than a statement may take is gone.
        config.tcp_user_timeout(options.statement);
        Ok(Self {
            config,
            settings: session_settings(options),
            patience: options.connect,
            meter: Arc::clone(meter),
        })
    }

    /// A bare connection, and what drives it.
    pub(super) async fn connect(&self) -> Result<(Client, Connection<Socket, NoTlsStream>), Error> {
        self.answered(self.config.connect(NoTls)).await
    }

    /// What the server answers, within the time for a first answer.
    pub(super) async fn answered<R>(
        &self,
        call: impl Future<Output = Result<R, tokio_postgres::Error>>,
    ) -> Result<R, Error> {
        within(self.patience, call.map_err(|error| Error::Unreachable(words(&error)))).await
    }

    /// A connection with its settings.
    pub(super) async fn make(&self) -> Result<Conn, ConnectionError> {
        let refused = |error: Error| ConnectionError::BadConnection(error.to_string());
        let (client, connection) = self.connect().await.map_err(refused)?;
        let mut conn = AsyncPgConnection::try_from_client_and_connection(client, connection).await?;
        conn.batch_execute(&self.settings).await.map_err(ConnectionError::CouldntSetupConfiguration)?;
        conn.set_instrumentation(instrument(Arc::clone(&self.meter)));
        Ok(conn)
    }

    /// As many of them as may be at a time.
    pub(super) fn pool(self, options: &PostgresOptions) -> Result<Connections<Conn>, Error> {
        let mut config = ManagerConfig::default();
        // What is closed or inside a transaction is seen without a statement; what broke unseen fails at its BEGIN.
        config.recycling_method = RecyclingMethod::Fast;
        config.custom_setup = Box::new(move |_url| {
            let maker = self.clone();
            async move { maker.make().await }.boxed()
        });
        Connections::builder(AsyncDieselConnectionManager::new_with_config(String::new(), config))
            .max_size(options.connections_max.max(1))
            .runtime(deadpool::Runtime::Tokio1)
            .wait_timeout(Some(2 * options.connect))
            .create_timeout(Some(options.connect))
            .recycle_timeout(Some(options.connect))
            .build()
            .map_err(|error| Error::Address(error.to_string()))
    }
}

/// An error of the client with its cause, which says what happened.
fn words(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Bounds of everything that waits. Diesel hands on the words of an error and not its code, so the server is asked to
/// speak English where this role may. An acknowledged change survives the server's fall, so no role may turn that off.
fn session_settings(options: &PostgresOptions) -> String {
    format!(
        "SET statement_timeout = {}; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}; \
         SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'; \
         SELECT set_config('lc_messages', 'C', false) WHERE has_parameter_privilege('lc_messages', 'SET')",
        options.statement.as_millis(),
        options.lock.as_millis(),
        options.idle.as_millis(),
    )
}

/// A connection from the pool.
pub(super) async fn lend(pool: &Connections<Conn>) -> Result<Lent, Error> {
    pool.get().await.map_err(|error| match error {
        PoolError::Timeout(TimeoutType::Wait) => Error::Busy,
        PoolError::Closed => Error::Closed,
        other => Error::Unreachable(other.to_string()),
    })
}
