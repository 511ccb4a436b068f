//! What a server is started with, and what each of its settings means to the room that it is for.
//! May import: every room.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::authority::{Limits, Membership};
use crate::bus::{Engine, InProcess};
use crate::config::{self, Settings};
use crate::dispatch::{Bounds as AcpBounds, Executors, Pace as WebhookPace, Room};
use crate::graphql;
use crate::mcp;
use crate::metrics::Metrics;
use crate::outbox::{Pace, Retention};
use crate::ports::{Clock, System};
use crate::store::{PostgresOptions, SqliteOptions, StoreOptions};
use crate::transport;

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The database.
    pub store: StoreOptions,
    /// What it counts.
    pub metrics: Metrics,
    /// How it is known to other servers of the database.
    pub membership: Membership,
    /// Bounds of the use cases.
    pub limits: Limits,
    /// The relay's.
    pub pace: Pace,
    /// How long events are kept.
    pub retention: Retention,
    /// Decides which events the bus takes.
    pub bus: Arc<dyn Engine>,
    /// Events that the bus keeps for its slowest listener.
    pub bus_capacity: usize,
    /// The MCP endpoint's.
    pub mcp: mcp::Settings,
    /// What strangers may learn of the schema.
    pub profile: graphql::Profile,
    /// Limits of GraphQL requests.
    pub graphql: graphql::Limits,
    /// The file of trusted documents, and whether nothing else is executed.
    pub documents: (Option<PathBuf>, bool),
    /// How long a peer may take, and how much its heads.
    pub patience: transport::Patience,
    /// Bounds of the transports.
    pub transport: transport::Settings,
    /// Executors that the settings name.
    pub endpoints: BTreeMap<String, config::Executor>,
    /// How long the steps of a webhook may take.
    pub webhooks: WebhookPace,
    /// What ACP agents may take.
    pub acp: AcpBounds,
    /// This binary, which bridges to the MCP endpoint for agents that do not reach it over HTTP.
    pub bridge: PathBuf,
    /// Further executors, by name.
    pub executors: Executors,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// This binary, where the demo is wanted.
    pub demo: Option<PathBuf>,
    /// How long a shutdown waits for what is under way.
    pub shutdown: Duration,
}

impl Options {
    /// What the settings say.
    pub fn new(settings: &Settings, demo: Option<PathBuf>) -> Self {
        let (limits, metrics) = (&settings.limits, Metrics::default());
        Self {
            listen: settings.listen,
            store: store_options(settings, &metrics),
            membership: Membership {
                server: settings.server_name.clone(),
                heartbeat: Duration::from_millis(limits.server_heartbeat_ms),
                lapse: Duration::from_millis(limits.server_lapse_ms),
            },
            metrics,
            limits: authority_limits(limits),
            pace: Pace {
                period: Duration::from_millis(limits.relay_period_ms),
                batch: rows(limits.relay_batch),
                settle: Duration::from_millis(limits.relay_settle_ms),
            },
            retention: Retention {
                keep: Duration::from_millis(limits.event_retention_ms),
                period: Duration::from_millis(limits.retention_period_ms),
                batch: rows(limits.retention_batch),
            },
            bus: Arc::new(InProcess),
            bus_capacity: count(limits.bus_capacity),
            mcp: mcp_settings(settings),
            profile: profile(settings.profile),
            graphql: graphql_limits(limits),
            documents: (settings.trusted_documents.clone(), settings.is_trusted_only),
            patience: transport::Patience {
                head_bytes_max: count(limits.head_bytes_max),
                head: Duration::from_millis(limits.head_timeout_ms),
                idle: Duration::from_millis(limits.idle_timeout_ms),
                body: Duration::from_millis(limits.body_timeout_ms),
                write: Duration::from_millis(limits.write_timeout_ms),
                gone: Duration::from_millis(limits.peer_gone_ms),
            },
            transport: transport_settings(settings),
            endpoints: settings.executors.clone(),
            webhooks: webhook_pace(limits),
            acp: acp_bounds(limits),
            bridge: std::env::current_exe().unwrap_or_default(),
            executors: own_executors(settings),
            clock: Arc::new(System),
            demo,
            shutdown: Duration::from_millis(limits.shutdown_ms),
        }
    }
}

fn store_options(settings: &Settings, metrics: &Metrics) -> StoreOptions {
    let limits = &settings.limits;
    match &settings.database {
        config::Database::Sqlite(path) => StoreOptions::Sqlite(SqliteOptions {
            path: path.clone(),
            readers: count(limits.readers),
            batch_max: count(limits.writer_batch),
            queue_max: count(limits.writer_queue),
            read_queue_max: count(limits.read_queue),
            views_max: count(limits.kept_views),
            busy_timeout_ms: limits.busy_timeout_ms,
            is_group_commit_on: true,
            metrics: metrics.clone(),
        }),
        config::Database::Postgres(url) => StoreOptions::Postgres(PostgresOptions {
            url: url.clone(),
            connections_max: count(limits.postgres_connections),
            queue_max: count(limits.postgres_queue),
            connect: Duration::from_millis(limits.postgres_connect_ms),
            statement: Duration::from_millis(limits.postgres_statement_ms),
            lock: Duration::from_millis(limits.postgres_lock_ms),
            idle: Duration::from_millis(limits.postgres_idle_ms),
            transaction: Duration::from_millis(limits.postgres_transaction_ms),
            metrics: metrics.clone(),
        }),
    }
}

#[cfg(not(feature = "failpoints"))]
fn own_executors(_settings: &Settings) -> Executors {
    Executors::default()
}

/// Builds for crash tests have an agent whose dispatches can be counted.
#[cfg(feature = "failpoints")]
fn own_executors(settings: &Settings) -> Executors {
    let beside = match &settings.database {
        config::Database::Sqlite(path) => path.clone(),
        config::Database::Postgres(_) => PathBuf::from(config::DATABASE),
    };
    let recording = crate::dispatch::Recording::beside(&beside);
    Executors::default().with(crate::dispatch::Recording::NAME, Arc::new(recording))
}

fn count(setting: u64) -> usize {
    usize::try_from(setting).unwrap_or(usize::MAX)
}

fn rows(setting: u64) -> i64 {
    i64::try_from(setting).unwrap_or(i64::MAX)
}

fn authority_limits(limits: &config::Limits) -> Limits {
    Limits {
        persistence: Duration::from_millis(limits.persistence_timeout_ms),
        hand_over: Duration::from_millis(limits.respond_wait_ms),
        dispatch: Duration::from_millis(limits.dispatch_timeout_ms),
        lease: Duration::from_millis(limits.lease_ms.min(limits.lease_max_ms)),
        lease_max: Duration::from_millis(limits.lease_max_ms),
        publish: Duration::from_millis(limits.publish_timeout_ms),
        ready: Duration::from_millis(limits.ready_wait_ms),
        reattach_grace: Duration::from_millis(limits.reattach_grace_ms),
        poll: Duration::from_millis(limits.wait_poll_ms),
        watchdog: Duration::from_millis(limits.watchdog_ms),
        watchdog_period: Duration::from_millis(limits.watchdog_period_ms),
        watchdog_batch: rows(limits.watchdog_batch),
        offers_max: rows(limits.offers_max),
        summary: Duration::from_millis(limits.summary_ms),
        summary_attempts: u32::try_from(limits.summary_attempts).unwrap_or(u32::MAX),
        summary_pause: Duration::from_millis(limits.summary_pause_ms),
        summary_settle: Duration::from_millis(limits.summary_settle_ms),
        summary_repairs_max: count(limits.summary_repairs_max),
        message_chars_max: count(limits.message_chars_max),
    }
}

fn webhook_pace(limits: &config::Limits) -> WebhookPace {
    WebhookPace {
        connect: Duration::from_millis(limits.webhook_connect_ms),
        attempt: Duration::from_millis(limits.webhook_attempt_ms),
        redelivery: Duration::from_millis(limits.webhook_redelivery_ms),
    }
}

fn acp_bounds(limits: &config::Limits) -> AcpBounds {
    AcpBounds {
        agents_max: count(limits.acp_agents_max),
        idle: Duration::from_millis(limits.acp_idle_ms),
        open: Duration::from_millis(limits.acp_open_ms),
        cancel: Duration::from_millis(limits.acp_cancel_ms),
        grace: Duration::from_millis(limits.acp_grace_ms),
        write: Duration::from_millis(limits.acp_write_ms),
        line_bytes_max: count(limits.acp_line_bytes_max),
        room: Room {
            message_chars_max: count(limits.message_chars_max),
            turn_chars_max: count(limits.acp_turn_chars_max),
        },
    }
}

fn profile(profile: config::Profile) -> graphql::Profile {
    let is_open = profile == config::Profile::Development;
    graphql::Profile { is_introspection_on: is_open, are_suggestions_on: is_open }
}

fn graphql_limits(limits: &config::Limits) -> graphql::Limits {
    graphql::Limits {
        document_bytes_max: count(limits.document_bytes_max),
        tokens_max: count(limits.tokens_max),
        nesting_max: count(limits.nesting_max),
        depth_max: count(limits.depth_max),
        recursion_max: count(limits.recursion_max),
        selections_max: count(limits.selections_max),
        root_fields_max: count(limits.root_fields_max),
        aliases_max: count(limits.aliases_max),
        directives_max: count(limits.directives_max),
        complexity_max: count(limits.complexity_max),
        task_sessions_max: rows(limits.task_sessions_max),
        wait: Duration::from_millis(limits.answer_wait_ms),
    }
}

fn transport_settings(settings: &Settings) -> transport::Settings {
    let limits = &settings.limits;
    transport::Settings {
        public_hosts: settings.public_hosts.clone(),
        is_loopback_only: false,
        body_bytes_max: count(limits.body_bytes_max),
        query: Duration::from_millis(limits.query_timeout_ms),
        init: Duration::from_millis(limits.ws_init_timeout_ms),
        operations_max: count(limits.ws_operations_max),
        answers_max: count(limits.ws_answers_max),
        message_bytes_max: count(limits.ws_message_bytes_max),
        message: Duration::from_millis(limits.ws_message_timeout_ms),
        pings_max: count(limits.ws_pings_max),
        connections_max: count(limits.connections_max),
        connections_each_max: count(limits.connections_each_max),
        feed_max: count(limits.feed_max),
        heartbeat: Duration::from_millis(limits.sse_heartbeat_ms),
        ping: Duration::from_millis(limits.ws_ping_ms),
        write: Duration::from_millis(limits.ws_write_timeout_ms),
        close: Duration::from_millis(limits.ws_close_ms),
        recheck: Duration::from_millis(limits.ws_recheck_ms),
        is_get_open: settings.profile == config::Profile::Development,
        is_graphiql_on: settings.profile == config::Profile::Development,
        metrics: settings.metrics,
    }
}

fn mcp_settings(settings: &Settings) -> mcp::Settings {
    let (limits, base) = (&settings.limits, mcp::Settings::default());
    let origins =
        settings.public_hosts.iter().flat_map(|host| [format!("https://{host}"), format!("http://{host}")]);
    mcp::Settings {
        soft_deadline: Duration::from_millis(limits.soft_deadline_ms),
        soft_deadline_silent: Duration::from_millis(limits.silent_deadline_ms),
        progress_period: Duration::from_millis(limits.progress_period_ms),
        ping_period: Duration::from_millis(limits.ping_period_ms),
        resume_grace: Duration::from_millis(limits.resume_grace_ms),
        allowed_hosts: base.allowed_hosts.into_iter().chain(settings.public_hosts.iter().cloned()).collect(),
        allowed_origins: base.allowed_origins.into_iter().chain(origins).collect(),
        body_bytes_max: count(limits.body_bytes_max),
        closing: base.closing,
    }
}
