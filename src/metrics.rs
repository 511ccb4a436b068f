//! What a server counts, for `/metrics`. Every name stands in [`ALL`], which the README prints. Each server has a
//! registry of its own, so servers that share a process count apart. Labels come from closed sets; no id, name or
//! text of a caller becomes one. May import: nothing of this crate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};

const PREFIX: &str = "answerable";

/// The type in which metrics are written.
pub const MEDIA: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a metric is called, without the prefix, and says.
#[derive(Clone, Copy, Debug)]
pub struct About {
    name: &'static str,
    labels: &'static str,
    help: &'static str,
}

impl About {
    /// The family's name, as the exposition says it: without the suffix of counters.
    pub fn family(&self) -> String {
        format!("{PREFIX}_{}", self.name.strip_suffix("_total").unwrap_or(self.name))
    }
}

macro_rules! names {
    ($($constant:ident = $name:literal [$labels:literal] $help:literal;)*) => {
        $(const $constant: About = About { name: $name, labels: $labels, help: $help };)*
        /// Every metric, in the order of the README.
        pub const ALL: &[About] = &[$($constant),*];
    };
}

names! {
    WRITER_QUEUE = "writer_queue" [""] "Transactions that wait for the writer";
    WRITER_GROUP = "writer_group" [""] "Transactions that one commit carried";
    WRITER_SECONDS = "writer_commit_seconds" [""] "How long commits took, sync included";
    STATEMENTS = "store_statements_total" [""] "Statements that the store executed";
    OUTBOX_WAITING = "outbox_waiting" [""] "Events that the bus has not taken; counted up to relay_batch";
    REQUESTS = "requests_total" ["transport, outcome"] "GraphQL operations and MCP calls: ok, executed with errors, or rejected";
    REQUEST_SECONDS = "request_seconds" ["transport"] "How long GraphQL queries and mutations took";
    ERRORS = "errors_total" ["code"] "Top-level GraphQL errors, by their extensions.code";
    CONNECTIONS = "connections" ["transport"] "Open WebSockets and event streams";
    SUBSCRIPTIONS = "subscriptions" [""] "Subscriptions that are followed now";
    FEEDS = "feeds" [""] "Feeds; equal subscriptions share one";
    CLOSED = "sockets_closed_total" ["reason"] "WebSockets that the server closed; too_slow is an eviction";
    WAITERS = "waiters" [""] "Agents that wait for an answer now";
    DISPATCHES = "dispatches_total" ["outcome"] "Dispatches of answers and prompts, by how they ended";
    TASKS = "background_tasks" [""] "Tasks that run now and outlive their requests";
}

/// By what a caller comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// GraphQL over HTTP.
    Http,
    /// GraphQL over WebSocket.
    Socket,
    /// GraphQL over server-sent events.
    Events,
    /// MCP.
    Mcp,
}

impl Transport {
    /// Its name in metrics and traces.
    pub fn label(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Socket => "websocket",
            Self::Events => "events",
            Self::Mcp => "mcp",
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Without errors.
    Ok,
    /// It was executed, and has errors.
    Errors,
    /// It was not executed.
    Rejected,
}

impl Outcome {
    fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Errors => "errors",
            Self::Rejected => "rejected",
        }
    }
}

/// What is sampled when it is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Events that wait in the outbox; none: they could not be read.
    pub outbox_waiting: Option<usize>,
    /// Statements executed so far.
    pub statements: u64,
    /// Tasks that run.
    pub tasks: usize,
}

type Label = [(&'static str, &'static str); 1];
type Labels = [(&'static str, &'static str); 2];

struct Inner {
    registry: Registry,
    writer_queue: Gauge,
    writer_group: Histogram,
    writer_commit: Histogram,
    statements: Counter,
    outbox_waiting: Gauge,
    requests: Family<Labels, Counter>,
    request_seconds: Family<Label, Histogram>,
    errors: Family<Label, Counter>,
    connections: Family<Label, Gauge>,
    subscriptions: Gauge,
    feeds: Gauge,
    closed: Family<Label, Counter>,
    waiters: Gauge,
    dispatches: Family<Label, Counter>,
    tasks: Gauge,
}

/// The metrics of one server. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// 100 microseconds to about 26 seconds.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.000_1, 4.0, 10))
}

/// 1 to 1,024 transactions.
fn sizes() -> Histogram {
    Histogram::new(exponential_buckets(1.0, 2.0, 11))
}

fn add<M: Metric + Clone>(registry: &mut Registry, about: About, metric: M) -> M {
    // The registry puts the suffix of counters itself.
    let name = about.name.strip_suffix("_total").unwrap_or(about.name);
    registry.register(name, about.help, metric.clone());
    metric
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let r = &mut registry;
        Self(Arc::new(Inner {
            writer_queue: add(r, WRITER_QUEUE, Gauge::default()),
            writer_group: add(r, WRITER_GROUP, sizes()),
            writer_commit: add(r, WRITER_SECONDS, seconds()),
            statements: add(r, STATEMENTS, Counter::default()),
            outbox_waiting: add(r, OUTBOX_WAITING, Gauge::default()),
            requests: add(r, REQUESTS, Family::default()),
            request_seconds: add(r, REQUEST_SECONDS, Family::new_with_constructor(seconds)),
            errors: add(r, ERRORS, Family::default()),
            connections: add(r, CONNECTIONS, Family::default()),
            subscriptions: add(r, SUBSCRIPTIONS, Gauge::default()),
            feeds: add(r, FEEDS, Gauge::default()),
            closed: add(r, CLOSED, Family::default()),
            waiters: add(r, WAITERS, Gauge::default()),
            dispatches: add(r, DISPATCHES, Family::default()),
            tasks: add(r, TASKS, Gauge::default()),
            registry,
        }))
    }
}

/// One of those that a gauge counts, until it is dropped.
#[derive(Debug)]
#[must_use = "it counts while it is held"]
pub struct Counted(Gauge);

impl Counted {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Metrics {
    /// A transaction waits for the writer.
    pub fn write_queued(&self) {
        self.0.writer_queue.inc();
    }

    /// The writer took that many, or they were not let in.
    pub fn write_taken(&self, count: usize) {
        self.0.writer_queue.dec_by(whole(count));
    }

    /// One commit carried that many transactions.
    pub fn committed(&self, count: usize, took: Duration) {
        self.0.writer_group.observe(f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
        self.0.writer_commit.observe(took.as_secs_f64());
    }

    /// A request ended, or a subscription began.
    pub fn requested(&self, transport: Transport, outcome: Outcome) {
        let labels = [("transport", transport.label()), ("outcome", outcome.label())];
        self.0.requests.get_or_create(&labels).inc();
    }

    /// A query or mutation took so long.
    pub fn took(&self, transport: Transport, took: Duration) {
        self.0.request_seconds.get_or_create(&[("transport", transport.label())]).observe(took.as_secs_f64());
    }

    /// An error of that code, one of a closed set, was told.
    pub fn failed(&self, code: &'static str) {
        self.0.errors.get_or_create(&[("code", code)]).inc();
    }

    /// A WebSocket or an event stream is open.
    pub fn connection(&self, transport: Transport) -> Counted {
        Counted::new(&self.0.connections.get_or_create(&[("transport", transport.label())]))
    }

    /// A subscription is followed.
    pub fn subscription(&self) -> Counted {
        Counted::new(&self.0.subscriptions)
    }

    /// A feed is there.
    pub fn feed(&self) -> Counted {
        Counted::new(&self.0.feeds)
    }

    /// An agent waits.
    pub fn waiter(&self) -> Counted {
        Counted::new(&self.0.waiters)
    }

    /// The server closed a socket for that reason, one of a closed set.
    pub fn closed(&self, reason: &'static str) {
        self.0.closed.get_or_create(&[("reason", reason)]).inc();
    }

    /// A dispatch ended so, one of a closed set.
    pub fn dispatched(&self, outcome: &'static str) {
        self.0.dispatches.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// All of it, as [`MEDIA`] says.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn render(&self, sample: Sample) -> Result<String, fmt::Error> {
        let inner = &self.0;
        if let Some(waiting) = sample.outbox_waiting {
            inner.outbox_waiting.set(whole(waiting));
        }
        let known = inner.statements.get();
        inner.statements.inc_by(sample.statements.saturating_sub(known));
        inner.tasks.set(whole(sample.tasks));
        let mut text = String::new();
        encode(&mut text, &inner.registry)?;
        Ok(text)
    }
}

/// The table of the README.
pub fn table() -> String {
    let row = |about: &About| {
        let labels = if about.labels.is_empty() { String::new() } else { format!("`{}`", about.labels) };
        format!("| `{PREFIX}_{}` | {labels} | {} |\n", about.name, about.help)
    };
    let rows: String = ALL.iter().map(row).collect();
    format!("| name | labels | what it says |\n|---|---|---|\n{rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_lists_every_metric() {
        let readme = include_str!("../README.md");
        let (_, rest) = readme.split_once("<!-- metrics -->\n").unwrap();
        let (listed, _) = rest.split_once("<!-- /metrics -->").unwrap();
        assert_eq!(listed, table());
    }

    #[test]
    fn what_is_held_counts_until_it_is_dropped_and_servers_count_apart() {
        let (own, other) = (Metrics::default(), Metrics::default());
        let held = (own.waiter(), own.connection(Transport::Socket));
        let text = own.render(Sample::default()).unwrap();
        assert!(text.contains("answerable_waiters 1\n"), "{text}");
        assert!(text.contains("answerable_connections{transport=\"websocket\"} 1\n"), "{text}");
        assert!(other.render(Sample::default()).unwrap().contains("answerable_waiters 0\n"));
        drop(held);
        assert!(own.render(Sample::default()).unwrap().contains("answerable_waiters 0\n"));
    }
}
