//! The crash matrix and the sweep: the real binary, built with the feature `failpoints`, is killed with SIGKILL at
//! every crash point and at the n-th system call, started again, checked, and compared with what must stand then.
//! `make crash`; the last line is `cells=… sweep=… faults=… violations=0`. May import: its parts, the crate.
//!
//! Every crash point of the design has a cell, or a reason to have none in [`matrix`].

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that breaks says so")]
#![expect(clippy::panic, clippy::indexing_slicing, reason = "a test that breaks says so")]
#![expect(clippy::disallowed_methods, reason = "the run is told its size by the environment")]

mod after;
mod answers;
mod base;
mod coder;
mod cuts;
mod dispatch;
mod fallback;
mod loops;
mod matrix;
mod peers;
#[path = "../support/postgres.rs"]
#[expect(dead_code, reason = "databases are those of cells here")]
mod postgres;
mod power;
#[path = "../support/proxy.rs"]
#[expect(dead_code, reason = "silence and slowness are for other tests")]
mod proxy;
mod scene;
mod server;
mod starts;
mod stops;
mod sweep;
mod turns;
mod waits;
mod world;

use std::process::ExitCode;

use base::Engine;

/// Servers at work at once; most of the time is waiting for one to start.
const AT_ONCE: usize = 3;

/// `ANSWERABLE_TEST_ENGINE=postgres`: the cells on that one instead of a file. The sweep is of this process's own calls on its
/// file; loops break calls above the engines.
fn engines() -> Vec<Engine> {
    match std::env::var("ANSWERABLE_TEST_ENGINE").as_deref() {
        Ok("sqlite") | Err(_) => vec![Engine::Sqlite],
        Ok("postgres") => vec![Engine::Postgres],
        Ok(other) => panic!("ANSWERABLE_TEST_ENGINE is {other}, and must be sqlite or postgres"),
    }
}

/// Arguments name the cells to run, and leave out the sweep; `SWEEP=full` runs all of it, `SWEEP=none` nothing.
fn main() -> ExitCode {
    let only: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let engines = engines();
    let (cells, mut broken) = matrix::run(&engines, &only, AT_ONCE);
    broken.extend(matrix::uncovered());
    let extent = match std::env::var("SWEEP").as_deref() {
        _ if !only.is_empty() || !engines.contains(&Engine::Sqlite) => None,
        Ok("full") => Some(sweep::Extent::Full),
        Ok("none") => None,
        _ => Some(sweep::Extent::Sample),
    };
    let (kills, found) = extent.map(|extent| sweep::run(extent, AT_ONCE)).unwrap_or_default();
    broken.extend(found);
    let is_full = std::env::var("SWEEP").as_deref() == Ok("full");
    let has_loops = engines.contains(&Engine::Sqlite) && (only.is_empty() || only == ["loops"]);
    let faults = if has_loops { loops::run(is_full) } else { loops::Found::default() };
    broken.extend(faults.broken);
    broken.sort();
    broken.iter().for_each(|name| println!("broken: {name}"));
    println!("cells={cells} sweep={kills} faults={} violations={}", faults.combinations, broken.len());
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
