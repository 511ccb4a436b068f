//! Answers per second through the store's door: ask, respond, confirm, each durable (synchronous=FULL), at several
//! numbers of clients with group commit on and off, beside the rate of fdatasync measured in the same run.
//!
//! May import: what measurements share, the crate.

#![expect(clippy::expect_used, reason = "a measurement that breaks says so and ends")]
#![expect(clippy::disallowed_methods, reason = "it measures real time, and its clients are its own tasks")]

#[path = "support/cycle.rs"]
mod cycle;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use answerable::ids::Epoch;
use answerable::store::{SqliteOptions, Store};
use cycle::count;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CLIENTS: [usize; 3] = [1, 16, 64];
const CELL: Duration = Duration::from_secs(2);

async fn open(directory: &Path, is_group_commit_on: bool) -> (Store, Epoch) {
    let mut options = SqliteOptions::new(directory.join(format!("{is_group_commit_on}.db")));
    options.is_group_commit_on = is_group_commit_on;
    cycle::open(&options.into()).await
}

/// CPU time of the writer threads so far, in microseconds; ticks of 10 ms.
fn writer_cpu() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    let ticks = |stat: String| {
        let (head, tail) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = tail.split_whitespace().collect();
        let sum = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
        head.contains("store-writer").then_some(sum)
    };
    stats.filter_map(ticks).sum::<f64>() * 10_000.0
}

/// Answers per second, the 99th percentile of one answer in milliseconds, and the writer's CPU time of one
/// transaction in microseconds.
async fn measure(store: &Store, epoch: Epoch, clients: usize) -> (f64, f64, f64) {
    let cpu = writer_cpu();
    let (times, elapsed) = cycle::answers(store, epoch, clients, CELL).await;
    let late = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    let per_transaction = (writer_cpu() - cpu) / (count(times.len()) * 3.0);
    (count(times.len()) / elapsed.as_secs_f64(), late.as_secs_f64() * 1_000.0, per_transaction)
}

/// fdatasync calls per second of one thread that appends 4 KiB each time.
fn sync_rate(directory: &Path) -> f64 {
    let mut file = File::create(directory.join("sync")).expect("a file");
    let (start, mut syncs) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(1) {
        file.write_all(&[7; 4096]).expect("a write");
        file.sync_data().expect("a sync");
        syncs += 1;
    }
    count(syncs) / start.elapsed().as_secs_f64()
}

#[tokio::main]
async fn main() {
    let directory = tempfile::tempdir_in(".").expect("a directory on the disk");
    let (on, on_epoch) = open(directory.path(), true).await;
    let (off, off_epoch) = open(directory.path(), false).await;
    println!("clients  group commit  answers/s  transactions/s  p99 ms  writer us/tx  x fdatasync/s");
    let mut last = (0.0, 0.0, 0.0);
    for clients in CLIENTS {
        let syncs = sync_rate(directory.path());
        let (grouped, grouped_p99, grouped_cpu) = measure(&on, on_epoch, clients).await;
        let (single, single_p99, single_cpu) = measure(&off, off_epoch, clients).await;
        let cells = [("on ", grouped, grouped_p99, grouped_cpu), ("off", single, single_p99, single_cpu)];
        for (name, rate, p99, cpu) in cells {
            let transactions = rate * 3.0;
            let ratio = transactions / syncs;
            println!(
                "{clients:7}  {name:12}  {rate:9.0}  {transactions:14.0}  {p99:6.1}  {cpu:13.0}  {ratio:6.2} of {syncs:.0}"
            );
        }
        last = (grouped / single, grouped * 3.0 / syncs, syncs);
    }
    let (gain, per_sync, _) = last;
    println!("at 64 clients: {gain:.1} x group commit off, {per_sync:.2} x one thread's fdatasync rate");
    on.close().await.expect("it closes");
    off.close().await.expect("it closes");
}
