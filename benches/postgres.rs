//! Answers per second on PostgreSQL at 16 clients, beside pgbench with the statement of a claim on the same rows of the
//! same server, by turns; then how long an answer given at one server takes to the agent that waits at another.
//! The server is a private one that syncs. May import: what measurements share, the private server, the crate.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement that breaks says so and ends"
)]
#![expect(clippy::indexing_slicing, reason = "what it measures is there")]
#![expect(clippy::disallowed_methods, reason = "it measures real time, and its clients are its own tasks")]

#[path = "support/cycle.rs"]
mod cycle;
#[path = "support/pair.rs"]
mod pair;
#[path = "../tests/support/postgres.rs"]
#[expect(dead_code, reason = "restarts are for tests")]
mod postgres;

use std::io::Write;
use std::time::Duration;

use answerable::ids::Epoch;
use answerable::store::{PostgresOptions, Store};
use cycle::count;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CLIENTS: usize = 16;
const ROUNDS: usize = 5;
const CELL: Duration = Duration::from_secs(5);
/// Claimable rows for pgbench.
const ROWS: usize = 10_000;

/// A claim as the door writes it, over copies of the question that was answered first: one row, found by its id and
/// guarded.
fn claims(url: &str) -> tempfile::NamedTempFile {
    let row = |column: &str| {
        printed(url, &format!("SELECT {column} FROM task_session_messages WHERE is_question ORDER BY id LIMIT 1"))
    };
    let (metadata, session, status) = (row("metadata"), row("session_id"), row("status"));
    let columns = printed(
        url,
        "SELECT string_agg(column_name, ', ') FROM information_schema.columns WHERE table_name = 'task_session_messages'
        AND is_generated = 'NEVER' AND column_name <> 'id'",
    );
    let id = row("id");
    printed(
        url,
        &format!(
            "INSERT INTO task_session_messages (id, {columns}) SELECT 'row' || n, {columns} FROM task_session_messages,
            generate_series(1, {ROWS}) AS n WHERE id = '{id}'; ANALYZE"
        ),
    );
    let mut script = tempfile::NamedTempFile::new().expect("a file");
    // A colon before a letter would be a variable of the script.
    let metadata = metadata.replace('\'', "''").replace(':', ": ");
    writeln!(
        script,
        "\\set n random(1, {ROWS})\nUPDATE task_session_messages SET metadata = '{metadata}', updated_us = updated_us + 1 \
        WHERE id = 'row' || :n::int AND session_id = '{session}' AND status = '{status}' AND NOT has_intent;"
    )
    .expect("it is written");
    script
}

fn printed(url: &str, sql: &str) -> String {
    let output = postgres::psql(url).args(["-c", sql]).output().expect("psql runs");
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// Claims per second of pgbench.
fn claimed(url: &str, script: &tempfile::NamedTempFile) -> f64 {
    let clients = CLIENTS.to_string();
    let output = postgres::pgbench()
        .args(["-n", "-M", "prepared", "-j", "2", "-c", &clients, "-T", &CELL.as_secs().to_string(), "-f"])
        .arg(script.path())
        .arg(url)
        .output()
        .expect("pgbench runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let rate = told.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.unwrap_or_else(|| panic!("{told}{}", String::from_utf8_lossy(&output.stderr)))
}

async fn answered(store: &Store, epoch: Epoch) -> f64 {
    let (times, elapsed) = cycle::answers(store, epoch, CLIENTS, CELL).await;
    count(times.len()) / elapsed.as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::main]
async fn main() {
    let server = postgres::Server::start_durable();
    let url = server.url(&server.database());
    let (store, epoch) = cycle::open(&PostgresOptions::new(&url).into()).await;
    cycle::answers(&store, epoch, CLIENTS, Duration::from_secs(1)).await;
    let script = claims(&url);
    let mut ratios = Vec::new();
    println!("round  answers/s  pgbench claims/s  ratio");
    for round in 1..=ROUNDS {
        let (own, peer) = (answered(&store, epoch).await, claimed(&url, &script));
        println!("{round:5}  {own:9.0}  {peer:16.0}  {:5.2}", own / peer);
        ratios.push(own / peer);
    }
    store.close().await.expect("it closes");
    println!("answers beside claims: {:.2}, the median of {ROUNDS} rounds", median(ratios));
    pair::measure(&server.url(&server.database())).await;
}
