//! The sweep: a path runs under a tracer that kills the server at the n-th write, sync or send, for every n or for some;
//! it covers what no name stands for. May import: its siblings, the crate.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;

use answerable::lifecycle::BundleState;

use super::after::{acts, facts, kind};
use super::base::{Base, Engine};
use super::scene::{Acts, Scene, Template, ask};
use super::server::{Server, Start};

/// What is killed at; each is counted for itself.
const CALLS: [&str; 3] = ["pwrite64", "fdatasync,fsync", "sendto"];
/// Kills per path and call of a sample, spread over the calls that the path makes.
const SAMPLE: usize = 4;

/// How much of the sweep runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Sample,
    Full,
}

const PATHS: &[&str] = &[
    "ask",
    "wait and answer",
    "wait and skip",
    "skip",
    "answer",
    "answer, refused",
    "newer turn",
    "detach",
    "cancel",
    "end the session",
    "delete",
    "recover",
];

/// Runs the path as far as the server lives.
async fn walk(path: &str, acts: &Acts<'_>, scene: &Scene) {
    let names = acts.names;
    match path {
        "ask" => drop(ask(&acts.caller, &names.fresh, names.size, 0).await),
        "wait and answer" | "wait and skip" | "cancel" | "detach" => {
            let act = async {
                // A server that dies says nothing more; then there is nothing to wait for.
                for _ in 0..200 {
                    match acts.state().await.as_str() {
                        "ACTIVE_LIVE" | "" => break,
                        _ => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
                    }
                }
                match path {
                    "wait and answer" => drop(acts.respond("answer").await),
                    "wait and skip" => drop(acts.skip("skip").await),
                    "cancel" => drop(acts.cancel().await),
                    _ => drop(acts.detach().await),
                }
            };
            tokio::join!(acts.wait(3), act);
        }
        "skip" => drop(acts.skip("skip").await),
        "answer" | "answer, refused" => drop(acts.respond("answer").await),
        "newer turn" => drop(acts.start_turn().await),
        "end the session" => drop(acts.end_session("FAILED").await),
        "delete" => {
            let rows = scene.read("SELECT id AS line FROM task_session_messages WHERE is_question ORDER BY id");
            for row in rows {
                drop(acts.delete_message(&row).await);
            }
        }
        _ => {}
    }
}

fn points(path: &str) -> &'static str {
    if path == "answer, refused" { "agent=return(reject)" } else { "" }
}

/// A scene in which the path begins: for the start itself, one that a dispatch was cut off in.
async fn begin(template: &Template, path: &str) -> Scene {
    let scene = template.copy();
    if path == "recover" {
        super::answers::die(&scene, "CP-28=return", super::answers::answer_detached).await;
    }
    scene
}

/// How often the path makes these calls, its start included.
async fn count(template: &Template, path: &str, calls: &str) -> usize {
    let scene = begin(template, path).await;
    let log = scene.database.beside("strace");
    let args = ["-D", "-f", "-qq", "-e", "signal=none", "-e"].map(str::to_owned).to_vec();
    let args = [args, vec![format!("trace={calls}"), "-o".to_owned(), log.display().to_string()]].concat();
    let Start::Listens(server) = Server::start_under("strace", &args, &scene.database, points(path)).await else {
        panic!("{path}: the server did not start under strace")
    };
    walk(path, &acts(&scene, &server), &scene).await;
    server.kill().await;
    lines(&log)
}

fn lines(log: &Path) -> usize {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().filter(|line| line.contains('(') && !line.contains("resumed>")).count()
}

/// Kills at the n-th of the calls, starts again, and looks.
async fn kill_at(template: &Template, path: &str, calls: &str, n: usize) {
    let scene = begin(template, path).await;
    let args = ["-D", "-f", "-qq", "-e", "signal=none", "-o", "/dev/null", "-e"].map(str::to_owned).to_vec();
    let inject = format!("inject={calls}:signal=KILL:when={n}");
    let args = [args, vec![format!("trace={calls}"), "-e".to_owned(), inject]].concat();
    if let Start::Listens(server) = Server::start_under("strace", &args, &scene.database, points(path)).await {
        walk(path, &acts(&scene, &server), &scene).await;
        server.kill().await;
    }
    stands(&scene, path).await;
}

/// Nothing is violated, nothing is there by half, nothing was dispatched twice, and the bundle has a way on.
async fn stands(scene: &Scene, path: &str) {
    let server = scene.restart().await;
    let acts = acts(scene, &server);
    assert!(scene.dispatches() <= 1, "{:?}", scene.agent_lines());
    if path == "delete" && acts.state().await.is_empty() {
        return server.kill().await;
    }
    let found = facts(scene).await;
    let state = found.bundle.state();
    // Some of its questions may be deleted: those that are left are answered.
    let left = |id: &&&str| found.own(scene).iter().any(|q| q.spec.id.as_str() == **id);
    let open = scene.names.open.iter().filter(left).copied().collect();
    let names = super::scene::Names { open, ..scene.names.clone() };
    let told = Acts { caller: acts.caller.clone(), names: &names }.respond("on").await;
    match state {
        BundleState::ActiveDetached => assert_eq!(kind(&told), "ResponseAccepted", "{told:?}"),
        BundleState::Terminal | BundleState::SupersededHistory => {
            assert_eq!(kind(&told), "ResponseConflict", "{told:?}");
        }
        other => panic!("{other:?} after a start"),
    }
    assert!(scene.dispatches() <= 1, "{:?}", scene.agent_lines());
    facts(scene).await;
    server.kill().await;
}

/// Which of so many calls are killed at.
fn chosen(extent: Extent, calls: usize) -> Vec<usize> {
    match extent {
        Extent::Full => (1..=calls).collect(),
        Extent::Sample => {
            let step = |n: usize| 1 + (2 * n + 1) * calls.saturating_sub(1) / (2 * SAMPLE);
            let mut some: Vec<_> = (0..SAMPLE.min(calls)).map(step).collect();
            some.dedup();
            some
        }
    }
}

/// Runs the sweep: how many kills there were, and which left something that must not be.
pub fn run(extent: Extent, at_once: usize) -> (usize, Vec<String>) {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sizes: &[usize] = if extent == Extent::Full { &[1, 3] } else { &[3] };
    let templates: Vec<_> = sizes
        .iter()
        .map(|size| (*size, runtime().block_on(Template::new(Base::new(Engine::Sqlite), *size))))
        .collect();
    let walks: Vec<_> = templates
        .iter()
        .flat_map(|template| PATHS.iter().map(move |path| (template, *path)))
        .flat_map(|(template, path)| CALLS.iter().map(move |calls| (template, path, *calls)))
        .collect();
    let (queue, kills, broken) = (Mutex::new(walks.iter()), Mutex::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(((size, template), path, calls)) = next(&queue) {
            let all = runtime().block_on(count(template, path, calls));
            for n in chosen(extent, all) {
                *kills.lock().unwrap() += 1;
                let run = || runtime().block_on(kill_at(template, path, calls, n));
                if catch_unwind(AssertUnwindSafe(run)).is_err() {
                    broken.lock().unwrap().push(format!("{path} with {size}, {calls} number {n} of {all}"));
                }
            }
        }
    };
    std::thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(work))));
    (kills.into_inner().unwrap(), broken.into_inner().unwrap())
}

fn next<'q, T>(queue: &Mutex<std::slice::Iter<'q, T>>) -> Option<&'q T> {
    queue.lock().unwrap().next()
}
