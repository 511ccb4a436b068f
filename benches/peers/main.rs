//! Answerable beside its peers, in one run and by turns: the fan-out of one change and a burst of connections beside a
//! raw WebSocket server and Yoga, the task list beside Mercurius and Yoga on the same file. The last lines are the bars.
//! `make bench-peers`, `N=500` for a trial. The binary is also the raw server and the client of the sockets, each in a
//! process of its own. May import: its parts.

#![expect(clippy::expect_used, reason = "a measurement that breaks says so and ends")]
#![expect(clippy::disallowed_methods, reason = "it measures real time, and its clients are its own tasks")]

mod bars;
mod data;
mod fanout;
mod follower;
mod frame;
mod http;
mod limits;
mod list;
mod others;
mod process;
mod raw;
mod rounds;
mod sockets;

use std::process::ExitCode;
use std::time::Duration;

use bars::{Bars, Setting};
use others::Others;

/// As in the server, for the raw one too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The whole run, whatever hangs.
const RUN: Duration = Duration::from_secs(360);
const SOCKETS: usize = 10_000;
const ROWS: usize = 10_000;
const ROUNDS: usize = 5;

#[tokio::main]
async fn main() -> ExitCode {
    // Cargo adds a flag of its own.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let done = match args.first().map(String::as_str) {
        Some("raw") => raw::serve().await,
        Some("sockets") => sockets::play(args.get(1).map_or("", String::as_str)).await,
        _ => tokio::time::timeout(RUN, compare(&args)).await.unwrap_or(Err(format!("not done in {RUN:?}"))),
    };
    done.map_or_else(
        |fault| {
            eprintln!("no figure: {fault}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

/// `name=value`, or the default.
fn setting(args: &[String], name: &str, default: usize) -> Result<usize, String> {
    let value = args.iter().find_map(|arg| arg.strip_prefix(name)?.strip_prefix('='));
    value.map_or(Ok(default), |value| value.parse().map_err(|error| format!("{name}={value}: {error}")))
}

async fn compare(args: &[String]) -> Result<(), String> {
    let sockets = setting(args, "sockets", SOCKETS)?;
    let rows = setting(args, "rows", ROWS)?;
    let rounds = setting(args, "rounds", ROUNDS)?;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(|error| error.to_string())?;
    let others = Others::watch();
    let before = limits::measure(folder.path()).await;
    println!("{}", limits::machine());
    println!("before: {before}");
    let fanout = fanout::measure(folder.path(), sockets, rounds, &others).await?;
    let list = list::measure(folder.path(), rows, rounds, &others).await?;
    let after = limits::measure(folder.path()).await;
    println!("after:  {after}");
    let setting = Setting { is_trial: sockets < SOCKETS || rows < ROWS || rounds < ROUNDS, before, after };
    let mut bars = Bars::new(setting);
    fanout.judge(&mut bars);
    list.judge(&mut bars);
    println!("{bars}");
    Ok(())
}
