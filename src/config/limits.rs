//! Every limit and time bound, one line each: name, default, range, environment variable, what it is. The budget
//! of deadlines is the part that ends in `_ms` (decisions 40). May import: nothing of this crate.

use clap::Args;
use serde::Deserialize;

use super::Error;

macro_rules! limits {
    ($($name:ident = $default:literal in $min:literal ..= $max:literal, $env:literal, $doc:literal;)*) => {
        /// Every limit, answered. Units stand last in the names; what has none counts items.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Limits {
            $(#[doc = $doc] pub $name: u64,)*
        }

        /// The limits among the flags.
        #[derive(Clone, Copy, Debug, Default, Args)]
        pub struct LimitFlags {
            $(
                #[doc = $doc]
                #[arg(long, value_name = "N", env = $env, help = concat!($doc, " [default: ", $default, "]"))]
                pub $name: Option<u64>,
            )*
        }

        #[derive(Clone, Copy, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct LimitFile {
            $(pub(super) $name: Option<u64>,)*
        }

        impl Limits {
            pub(super) fn load(flags: LimitFlags, file: LimitFile) -> Result<Self, Error> {
                Ok(Self {
                    $($name: check(
                        stringify!($name),
                        flags.$name.or(file.$name).unwrap_or($default),
                        $min,
                        $max,
                    )?,)*
                })
            }
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        #[cfg(test)]
        const DEFAULTS: &[(&str, u64, u64, u64)] = &[$((stringify!($name), $default, $min, $max),)*];
    };
}

limits! {
    readers = 2 in 1..=64, "ANSWERABLE_READERS", "Reading connections of the store.";
    writer_batch = 128 in 1..=10_000, "ANSWERABLE_WRITER_BATCH", "Transactions that one commit may carry.";
    writer_queue = 1_024 in 1..=100_000, "ANSWERABLE_WRITER_QUEUE", "Transactions that may wait for the writer.";
    read_queue = 1_024 in 1..=100_000, "ANSWERABLE_READ_QUEUE", "Reads that may wait for a reader.";
    kept_views = 1_024 in 0..=1_000_000, "ANSWERABLE_KEPT_VIEWS", "Sessions whose state the writer keeps in memory between two changes.";
    busy_timeout_ms = 5_000 in 1..=600_000, "ANSWERABLE_BUSY_TIMEOUT_MS", "How long to wait for a lock of the database file.";
    postgres_connections = 16 in 1..=1_000, "ANSWERABLE_POSTGRES_CONNECTIONS", "Connections to a PostgreSQL server at a time.";
    postgres_queue = 1_024 in 1..=100_000, "ANSWERABLE_POSTGRES_QUEUE", "Reads and transactions that may wait for a connection.";
    postgres_connect_ms = 5_000 in 10..=600_000, "ANSWERABLE_POSTGRES_CONNECT_MS", "How long making a connection may take, and how long its first answer; a read or a transaction waits twice as long for one.";
    postgres_statement_ms = 30_000 in 10..=3_600_000, "ANSWERABLE_POSTGRES_STATEMENT_MS", "How long one statement may run on the server.";
    postgres_lock_ms = 10_000 in 10..=600_000, "ANSWERABLE_POSTGRES_LOCK_MS", "How long a statement may wait for a lock on the server.";
    postgres_idle_ms = 10_000 in 10..=600_000, "ANSWERABLE_POSTGRES_IDLE_MS", "How long a transaction may stand still before the server ends it.";
    postgres_transaction_ms = 60_000 in 10..=3_600_000, "ANSWERABLE_POSTGRES_TRANSACTION_MS", "How long the reads of a transaction, and its writes, may take before its connection is given up as silent.";
    server_heartbeat_ms = 2_000 in 10..=60_000, "ANSWERABLE_SERVER_HEARTBEAT_MS", "How often a server says that it lives, where several can be on one database.";
    server_lapse_ms = 10_000 in 100..=600_000, "ANSWERABLE_SERVER_LAPSE_MS", "A server that said nothing for so long is gone: another one takes up what it left.";
    persistence_timeout_ms = 30_000 in 100..=600_000, "ANSWERABLE_PERSISTENCE_TIMEOUT_MS", "How long one durable step may take.";
    respond_wait_ms = 10_000 in 100..=600_000, "ANSWERABLE_RESPOND_WAIT_MS", "How long a response waits for its agent to take it.";
    dispatch_timeout_ms = 30_000 in 100..=600_000, "ANSWERABLE_DISPATCH_TIMEOUT_MS", "How long an executor may take to acknowledge.";
    webhook_connect_ms = 3_000 in 10..=600_000, "ANSWERABLE_WEBHOOK_CONNECT_MS", "How long a connection to a webhook may take.";
    webhook_attempt_ms = 15_000 in 10..=600_000, "ANSWERABLE_WEBHOOK_ATTEMPT_MS", "How long one POST to a webhook may take, its response included.";
    webhook_redelivery_ms = 1_000 in 10..=600_000, "ANSWERABLE_WEBHOOK_REDELIVERY_MS", "Between two POSTs of one dispatch to a webhook that takes each once.";
    acp_agents_max = 16 in 1..=10_000, "ANSWERABLE_ACP_AGENTS_MAX", "Processes of one ACP executor at a time; an idle one is ended for a new one.";
    acp_open_ms = 20_000 in 100..=600_000, "ANSWERABLE_ACP_OPEN_MS", "How long an ACP agent may take from its start until it can be prompted.";
    acp_cancel_ms = 5_000 in 10..=600_000, "ANSWERABLE_ACP_CANCEL_MS", "How long an ACP agent may take to stop its work before it is ended.";
    acp_grace_ms = 1_000 in 0..=600_000, "ANSWERABLE_ACP_GRACE_MS", "How long an ACP agent may take to end before its process group is killed.";
    acp_idle_ms = 600_000 in 10..=86_400_000, "ANSWERABLE_ACP_IDLE_MS", "How long an ACP agent without work is kept.";
    acp_write_ms = 500 in 0..=60_000, "ANSWERABLE_ACP_WRITE_MS", "How long what an ACP agent says waits to be written with what follows.";
    acp_line_bytes_max = 8_388_608 in 1_024..=104_857_600, "ANSWERABLE_ACP_LINE_BYTES_MAX", "Bytes of a line from an ACP agent; a longer one ends it.";
    acp_turn_chars_max = 1_000_000 in 1_000..=100_000_000, "ANSWERABLE_ACP_TURN_CHARS_MAX", "Unicode code points that are kept of what an ACP agent says in a turn.";
    lease_ms = 30_000 in 100..=600_000, "ANSWERABLE_LEASE_MS", "How long a worker that claimed a dispatch may take to acknowledge, if it asks for no other time.";
    lease_max_ms = 60_000 in 100..=600_000, "ANSWERABLE_LEASE_MAX_MS", "The same at most, extensions included.";
    publish_timeout_ms = 5_000 in 100..=600_000, "ANSWERABLE_PUBLISH_TIMEOUT_MS", "How long the bus may take to accept a turn's start.";
    ready_wait_ms = 35_000 in 100..=600_000, "ANSWERABLE_READY_WAIT_MS", "How long a prompt or ready event waits for an unresolved dispatch.";
    reattach_grace_ms = 30_000 in 0..=86_400_000, "ANSWERABLE_REATTACH_GRACE_MS", "How long an agent that lost its wait may take to come back before its turn is paused.";
    wait_poll_ms = 5_000 in 10..=600_000, "ANSWERABLE_WAIT_POLL_MS", "How often a wait looks again without a hint.";
    watchdog_ms = 15_000 in 100..=86_400_000, "ANSWERABLE_WATCHDOG_MS", "How long an agent that took an answer may stay silent before a session with a watchdog prompts it.";
    watchdog_period_ms = 1_000 in 10..=600_000, "ANSWERABLE_WATCHDOG_PERIOD_MS", "How often watchdogs are looked for without a hint.";
    watchdog_batch = 100 in 1..=10_000, "ANSWERABLE_WATCHDOG_BATCH", "Watchdogs that are read at a time.";
    offers_max = 100 in 1..=10_000, "ANSWERABLE_OFFERS_MAX", "Dispatches on offer that one subscription of a worker looks at, the earliest first.";
    summary_ms = 1_000 in 10..=600_000, "ANSWERABLE_SUMMARY_MS", "How long one try to bring a task's summary up to date may take.";
    summary_attempts = 3 in 1..=100, "ANSWERABLE_SUMMARY_ATTEMPTS", "Tries to bring a task's summary up to date where another writer was quicker.";
    summary_pause_ms = 1 in 0..=10_000, "ANSWERABLE_SUMMARY_PAUSE_MS", "Between the first two of these tries; each later pause is longer by as much.";
    summary_settle_ms = 20 in 0..=60_000, "ANSWERABLE_SUMMARY_SETTLE_MS", "How long a change waits for more before the summary of its task is brought up to date.";
    summary_repairs_max = 101 in 0..=10_000, "ANSWERABLE_SUMMARY_REPAIRS_MAX", "Task summaries that one read brings up to date.";
    message_chars_max = 100_000 in 1..=10_000_000, "ANSWERABLE_MESSAGE_CHARS_MAX", "Unicode code points of a message, prompt or title.";
    relay_period_ms = 1_000 in 10..=600_000, "ANSWERABLE_RELAY_PERIOD_MS", "How often the relay looks again without a hint.";
    relay_settle_ms = 20 in 0..=10_000, "ANSWERABLE_RELAY_SETTLE_MS", "How long what the bus took waits for more before it is written down as accepted.";
    relay_batch = 256 in 1..=10_000, "ANSWERABLE_RELAY_BATCH", "Events that the relay takes at a time.";
    event_retention_ms = 604_800_000 in 1_000..=31_536_000_000, "ANSWERABLE_EVENT_RETENTION_MS", "How long events are kept for those who come back; an older cursor is a gap.";
    retention_period_ms = 60_000 in 100..=86_400_000, "ANSWERABLE_RETENTION_PERIOD_MS", "How often events that are too old are looked for.";
    retention_batch = 1_000 in 1..=100_000, "ANSWERABLE_RETENTION_BATCH", "Events that one write forgets.";
    bus_capacity = 4_096 in 1..=1_000_000, "ANSWERABLE_BUS_CAPACITY", "Events kept for the slowest subscriber before it re-reads the log.";
    soft_deadline_ms = 7_200_000 in 100..=86_400_000, "ANSWERABLE_SOFT_DEADLINE_MS", "When a blocked MCP call that hears progress ends as pending.";
    silent_deadline_ms = 50_000 in 100..=86_400_000, "ANSWERABLE_SILENT_DEADLINE_MS", "The same for MCP clients that hear no progress.";
    progress_period_ms = 15_000 in 100..=600_000, "ANSWERABLE_PROGRESS_PERIOD_MS", "Between two progress notifications of a blocked MCP call.";
    ping_period_ms = 15_000 in 100..=600_000, "ANSWERABLE_PING_PERIOD_MS", "Between two keep-alive comments of an MCP stream.";
    resume_grace_ms = 10_000 in 0..=600_000, "ANSWERABLE_RESUME_GRACE_MS", "How long a lost call of the older MCP era can be resumed.";
    body_bytes_max = 1_048_576 in 1_024..=104_857_600, "ANSWERABLE_BODY_BYTES_MAX", "Bytes of a request's body.";
    head_bytes_max = 65_536 in 8_192..=1_048_576, "ANSWERABLE_HEAD_BYTES_MAX", "Bytes of a request's head.";
    head_timeout_ms = 10_000 in 10..=600_000, "ANSWERABLE_HEAD_TIMEOUT_MS", "How long the first request's head on a connection may take to come.";
    idle_timeout_ms = 75_000 in 10..=3_600_000, "ANSWERABLE_IDLE_TIMEOUT_MS", "How long after a request the head of the next one on its connection may take to come; longer than proxies keep connections.";
    body_timeout_ms = 30_000 in 10..=600_000, "ANSWERABLE_BODY_TIMEOUT_MS", "How long the body of a request may take to come.";
    write_timeout_ms = 10_000 in 10..=600_000, "ANSWERABLE_WRITE_TIMEOUT_MS", "How long a client may take nothing of a response or an event stream before its connection is closed.";
    peer_gone_ms = 30_000 in 6_000..=600_000, "ANSWERABLE_PEER_GONE_MS", "How long a peer may acknowledge nothing on the level of TCP before its connection is closed, in whole seconds.";
    query_timeout_ms = 10_000 in 100..=600_000, "ANSWERABLE_QUERY_TIMEOUT_MS", "How long a GraphQL query may run.";
    answer_wait_ms = 600_000 in 1_000..=86_400_000, "ANSWERABLE_ANSWER_WAIT_MS", "How long one GraphQL call may wait for an answer.";
    document_bytes_max = 32_768 in 256..=10_485_760, "ANSWERABLE_DOCUMENT_BYTES_MAX", "Bytes of a GraphQL document.";
    tokens_max = 5_000 in 10..=1_000_000, "ANSWERABLE_TOKENS_MAX", "Tokens of a document.";
    nesting_max = 64 in 4..=1_000, "ANSWERABLE_NESTING_MAX", "Nested brackets of a document or JSON body.";
    depth_max = 12 in 2..=100, "ANSWERABLE_DEPTH_MAX", "Nested fields of a document; introspection is exempt.";
    recursion_max = 32 in 4..=1_000, "ANSWERABLE_RECURSION_MAX", "Nested selections of a document with its fragments.";
    selections_max = 10_000 in 10..=10_000_000, "ANSWERABLE_SELECTIONS_MAX", "Selections of a document, those of a fragment as often as it is used.";
    root_fields_max = 20 in 1..=1_000, "ANSWERABLE_ROOT_FIELDS_MAX", "Root fields of a document.";
    aliases_max = 100 in 0..=10_000, "ANSWERABLE_ALIASES_MAX", "Aliases of a document.";
    directives_max = 20 in 0..=10_000, "ANSWERABLE_DIRECTIVES_MAX", "Directives of a document.";
    complexity_max = 5_000 in 10..=10_000_000, "ANSWERABLE_COMPLEXITY_MAX", "What the fields of a document cost together.";
    task_sessions_max = 500 in 1..=10_000, "ANSWERABLE_TASK_SESSIONS_MAX", "Sessions that taskSessions returns.";
    ws_init_timeout_ms = 3_000 in 100..=600_000, "ANSWERABLE_WS_INIT_TIMEOUT_MS", "How long a WebSocket may take to introduce itself.";
    ws_operations_max = 100 in 1..=10_000, "ANSWERABLE_WS_OPERATIONS_MAX", "Operations of one WebSocket.";
    ws_answers_max = 16 in 1..=10_000, "ANSWERABLE_WS_ANSWERS_MAX", "Answers of one WebSocket that wait to be written; its operations wait with them.";
    ws_message_bytes_max = 262_144 in 1_024..=104_857_600, "ANSWERABLE_WS_MESSAGE_BYTES_MAX", "Bytes of a WebSocket message from a client.";
    ws_message_timeout_ms = 10_000 in 10..=600_000, "ANSWERABLE_WS_MESSAGE_TIMEOUT_MS", "How long a WebSocket message from a client may take from its first byte to its last.";
    ws_pings_max = 20 in 1..=10_000, "ANSWERABLE_WS_PINGS_MAX", "Pings that a WebSocket client may send in a second.";
    connections_max = 50_000 in 1..=1_000_000, "ANSWERABLE_CONNECTIONS_MAX", "Sockets and event streams in all.";
    connections_each_max = 20_000 in 1..=1_000_000, "ANSWERABLE_CONNECTIONS_EACH_MAX", "Sockets and event streams of one token.";
    feed_max = 256 in 1..=100_000, "ANSWERABLE_FEED_MAX", "Changes kept for the slowest of those that follow the same before it reads the log again.";
    sse_heartbeat_ms = 12_000 in 100..=600_000, "ANSWERABLE_SSE_HEARTBEAT_MS", "Between two comments of an event stream.";
    ws_ping_ms = 15_000 in 100..=600_000, "ANSWERABLE_WS_PING_MS", "Between two pings of a WebSocket.";
    ws_write_timeout_ms = 10_000 in 100..=600_000, "ANSWERABLE_WS_WRITE_TIMEOUT_MS", "How long one WebSocket message may take to be written.";
    ws_close_ms = 2_000 in 10..=600_000, "ANSWERABLE_WS_CLOSE_MS", "How long a WebSocket client may take to hear why it is closed.";
    ws_recheck_ms = 1_000 in 100..=600_000, "ANSWERABLE_WS_RECHECK_MS", "How often a WebSocket's access is looked at again.";
    shutdown_ms = 5_000 in 0..=600_000, "ANSWERABLE_SHUTDOWN_MS", "How long a shutdown waits for what is under way.";
}

fn check(name: &'static str, value: u64, min: u64, max: u64) -> Result<u64, Error> {
    if (min..=max).contains(&value) { Ok(value) } else { Err(Error::Range { name, value, min, max }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_inside_its_range() {
        for (name, default, min, max) in DEFAULTS {
            assert!(check(name, *default, *min, *max).is_ok(), "{name}");
        }
    }
}
