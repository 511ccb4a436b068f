//! Histories under a nemesis: the real server, clients who write down what they do and are told, faults from a seed, and
//! a checker. `make nemesis`; the last line of each engine is `nemesis: engine=… seed=… faults=… violations=0`.
//! May import: its parts, the crate.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that breaks says so")]
#![expect(clippy::panic, clippy::indexing_slicing, reason = "a test that breaks says so")]
#![expect(clippy::disallowed_methods, reason = "the run is told its size by the environment, and spawns")]

mod agent;
#[path = "../crash/base.rs"]
#[expect(dead_code, reason = "cells change their database by hand")]
mod base;
mod board;
mod calls;
mod clients;
mod faults;
mod follow;
mod history;
mod model;
mod network;
mod planted;
#[path = "../support/postgres.rs"]
#[expect(dead_code, reason = "databases are those of runs here")]
mod postgres;
#[path = "../support/proxy.rs"]
#[expect(dead_code, reason = "a nemesis does not look whether it met something")]
mod proxy;
mod search;
mod server;
mod totals;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::Rng as _;

use agent::Agent;
use base::{Base, Engine};
use clients::World;
use faults::{Done, Nemesis};
use history::{History, Op};
use network::Network;
use server::Server;

/// What the next call after all faults may still be told.
const HEALS: Duration = Duration::from_secs(5);
/// For so long every call has to be told yes or no.
const CALM: Duration = Duration::from_secs(2);
/// Open files of a server that nobody calls any more, beyond those of its start: its database has more connections
/// after a while.
const FILES_MORE: usize = 24;

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text}, and must be a number")))
}

/// One run on one engine; whether it found nothing.
async fn run(engine: Engine, seconds: u64, seed: u64) -> bool {
    println!("nemesis: {engine:?} for {seconds} s, SEED={seed}");
    let mut random = clients::random(seed);
    let (base, network) = stage(engine).await;
    let url = network.as_ref().map_or_else(|| base.url(), |network| network.url(&base));
    let mut agent = Agent::start();
    let mut server = Server::start(&base, url, &agent.url()).await;
    let at_start = server.open_files();
    let world = Arc::new(World {
        history: History::new(),
        board: Default::default(),
        followers: Default::default(),
        address: server.address(),
        is_over: AtomicBool::new(false),
    });
    let tasks = clients::begin(&world, &mut random);
    let random = clients::random(random.next_u64());
    let (server, agent) = (&mut server, &mut agent);
    let mut nemesis = Nemesis { base: &base, network, server, agent, random, done: Done::default() };
    nemesis.rage(Duration::from_secs(seconds)).await;
    tokio::time::sleep(HEALS).await;
    let calm_ns = world.history.now_ns();
    tokio::time::sleep(CALM).await;
    world.is_over.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    clients::look_at_all(&world).await;
    let mut wrong = world.followers.wrong(&world).await;
    wrong.extend(keeps_files(nemesis.server, at_start).await);
    let status = nemesis.server.terminate().await;
    wrong.extend((!status.success()).then(|| format!("the last stop: {status}")));
    nemesis.check("of what is left").await;
    let Done { faults, kills, wrong: seen } = nemesis.done;
    wrong.extend(seen);
    wrong.extend(totals::defects(&nemesis.server.log()));
    let ops = world.history.all();
    wrong.extend(totals::not_live(&ops, calm_ns));
    keep(engine, seed, &ops);
    let told = world.history.told();
    wrong.extend(totals::wrong_bundles(ops, nemesis.agent.dispatches(), &world.board.known()));
    wrong.iter().for_each(|line| println!("violation: {line}"));
    println!(
        "nemesis: engine={engine:?} seed={seed} faults={faults} operations={told} kills={kills} violations={}",
        wrong.len()
    );
    wrong.is_empty()
}

/// What the server still holds of clients that are gone, given time to notice.
async fn keeps_files(server: &Server, at_start: usize) -> Option<String> {
    let end = tokio::time::Instant::now() + HEALS;
    while server.open_files() > at_start + FILES_MORE && tokio::time::Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let open = server.open_files();
    (open > at_start + FILES_MORE).then(|| format!("{open} files are open, {at_start} were at the start"))
}

/// A database, and what a nemesis has in hand of its server.
async fn stage(engine: Engine) -> (Base, Option<Network>) {
    if engine == Engine::Sqlite {
        return (Base::new(engine), None);
    }
    let postgres = Arc::new(postgres::Server::start());
    let base = Base::on(Arc::clone(&postgres));
    let network = Network::before(&base, postgres).await;
    (base, Some(network))
}

/// The history as lines of JSON, for who looks into a violation.
fn keep(engine: Engine, seed: u64, ops: &[Op]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("nemesis-{engine:?}-{seed}.jsonl").to_lowercase());
    history::write(ops, &file).unwrap();
    println!("history: {}", file.display());
}

/// `SECONDS_SQLITE`, `SECONDS_POSTGRES`: how long each is tried, 0 for not; `SEED`: of what both do.
#[tokio::main]
async fn main() -> ExitCode {
    let misjudged = planted::misjudged();
    misjudged.iter().for_each(|name| println!("violation: {name}"));
    let seed = setting("SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let mut is_good = misjudged.is_empty();
    for (engine, name, seconds) in
        [(Engine::Sqlite, "SECONDS_SQLITE", 60), (Engine::Postgres, "SECONDS_POSTGRES", 90)]
    {
        let seconds = setting(name).unwrap_or(seconds);
        if is_good && seconds > 0 {
            is_good = run(engine, seconds, seed).await;
        }
    }
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
