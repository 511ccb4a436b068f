//! What a detached answer waits for: syncs of the database between its request and its success, seen by a tracer on the
//! real binary. They are the transactions of its path: claim with reservation, attempt marker, acknowledgement, the end
//! of the claim once the bus took the start. That the bus took it is written down later, together with other events,
//! and nobody waits for it; the cell puts it off, so that what is seen is waited for. May import: its siblings.

use std::time::{SystemTime, UNIX_EPOCH};

use super::after::{acts, kind};
use super::scene::Scene;
use super::server::{Server, Start};

/// Syncs that an answer waits for. Six is the bound; each transaction more is a decision.
const SYNCS: usize = 4;

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

/// A line such as `4711 1790000000.123456 fdatasync(9</tmp/x/cell.db-wal>) = 0`; when its call began.
fn began(line: &str) -> Option<f64> {
    let is_database = line.contains(".db") && !line.contains("resumed>");
    line.split_whitespace().nth(1).filter(|_| is_database)?.parse().ok()
}

pub async fn answer_waits(scene: &Scene) {
    let log = scene.database.beside("strace");
    let args = ["-D", "-f", "-y", "-ttt", "-qq", "-e", "signal=none", "-e", "trace=fdatasync,fsync", "-o"];
    let later =
        ["RELAY_SETTLE", "SUMMARY_SETTLE"].map(|name| ["-E".to_owned(), format!("ANSWERABLE_{name}_MS=10000")]);
    let later = later.concat();
    let args = [later, args.map(str::to_owned).to_vec(), vec![log.display().to_string()]].concat();
    let Start::Listens(server) = Server::start_under("strace", &args, &scene.database, "").await else {
        panic!("the server did not start under strace")
    };
    let begin = now();
    let answered = acts(scene, &server).respond("answer").await;
    let end = now();
    assert_eq!(kind(&answered), "ResponseAccepted", "{answered:?}");
    assert_eq!(scene.dispatches(), 1);
    server.kill().await;
    let text = std::fs::read_to_string(&log).unwrap();
    let within: Vec<_> =
        text.lines().filter(|line| began(line).is_some_and(|at| (begin..=end).contains(&at))).collect();
    assert_eq!(within.len(), SYNCS, "{within:#?}");
}
