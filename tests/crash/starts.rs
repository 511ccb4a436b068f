//! Cells of the start itself: recovery cut short anywhere, replay refused, metadata that cannot be read, a second
//! server. May import: its siblings, the crate.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use answerable::lifecycle::DispatchOutcome;
use serde_json::Value;

use super::after::{acts, events, facts, is_answerable, is_kept, is_pending, kind};
use super::answers::{answer_detached, die};
use super::dispatch::cp_40_wreck;
use super::scene::{Acts, Scene, ask};
use super::server::{Server, Start, program};

/// Kills start after start at this point until one gets through; says how many it took.
async fn starts_until_whole(scene: &Scene, point: &str) -> usize {
    for passed in 0..100 {
        let points = if passed == 0 { format!("{point}=return") } else { format!("{point}={passed}*off->return") };
        match Server::start(&scene.database, &points).await {
            Start::Ended(ended) => ended.assert_killed(),
            Start::Listens(server) => {
                server.kill().await;
                return passed;
            }
        }
    }
    panic!("no start gets through");
}

/// Leaves a little of everything: a reservation without and one with a marker, a claim, a waiter, each in a session of
/// its own, all in one life of a server.
async fn wreck(scene: &Scene) {
    let server = scene.armed("CP-26=1*sleep(20000);CP-28=1*sleep(20000)").await;
    let caller = server.caller();
    let mut asked = Vec::new();
    for session in [&scene.names.fresh, &scene.names.empty] {
        asked.push(ask(&caller, session, 1, 0).await.unwrap());
    }
    let answer = |bundle: String| {
        let mut names = scene.names.clone();
        (names.bundle, names.open) = (bundle, vec!["q1"]);
        names
    };
    let names: Vec<_> = asked.iter().map(|a| answer(a["pendingId"].as_str().unwrap().to_owned())).collect();
    let [first, second] = [0, 1].map(|n| Acts { caller: caller.clone(), names: &names[n] });
    let own = acts(scene, &server);
    let behind = async {
        while scene.read("SELECT id AS line FROM task_session_turns WHERE is_reserved").is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        second.respond("b").await
    };
    let held = async { tokio::join!(first.respond("a"), behind, own.wait(20)) };
    let ready = async {
        acts(scene, &server).until_live().await;
        let marked = "SELECT id AS line FROM task_session_turns WHERE is_attempted";
        while scene.read(marked).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        told = held => panic!("{told:?}"),
        () = ready => {}
    }
    server.kill().await;
}

/// Where every bundle stands, without what differs between two runs of one recovery.
fn end_state(scene: &Scene) -> BTreeMap<String, String> {
    let rows = scene.read(
        "SELECT m.session_id || '/' || json_extract(m.metadata, '$.question.id') || '=' || m.status || m.has_intent
            || m.is_detached || COALESCE(json_extract(m.metadata, '$.dispatch_outcome'), '') AS line
        FROM task_session_messages m WHERE m.is_question
        UNION ALL SELECT session_id || '/turns=' || COUNT(*) FILTER (WHERE is_reserved)
            || COUNT(*) FILTER (WHERE is_visible) FROM task_session_turns
            GROUP BY session_id
        UNION ALL SELECT session_id || '/' || json_extract(body, '$.kind') || '=' || COUNT(*) FROM outbox_events
            WHERE session_id IS NOT NULL GROUP BY session_id, json_extract(body, '$.kind')",
    );
    rows.into_iter().filter_map(|row| row.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()))).collect()
}

/// A recovery that is cut short at each passage of a point ends where an unbroken one ends.
async fn confluent(scene: &Scene, point: &str, passages: usize) {
    wreck(scene).await;
    let wreck = scene.database.copy();
    scene.restart().await.kill().await;
    facts(scene).await;
    let unbroken = end_state(scene);
    scene.database.become_like(&wreck);
    let kills = starts_until_whole(scene, point).await;
    assert!(kills >= passages, "{point} was passed {kills} times");
    facts(scene).await;
    assert_eq!(end_state(scene), unbroken);
    assert_eq!(scene.dispatches(), 0);
}

pub async fn cp_50(scene: &Scene) {
    confluent(scene, "CP-50", 1).await;
}

pub async fn cp_50_rows(scene: &Scene) {
    confluent(scene, "CP-25", 1).await;
}

pub async fn cp_51(scene: &Scene) {
    confluent(scene, "CP-51", 1).await;
}

pub async fn cp_52(scene: &Scene) {
    confluent(scene, "CP-52", 1).await;
}

pub async fn cp_53(scene: &Scene) {
    confluent(scene, "CP-53", 1).await;
}

/// Start and end of one turn wait; the kill falls between the two.
pub async fn cp_53_order(scene: &Scene) {
    cp_40_wreck(scene).await;
    assert!(starts_until_whole(scene, "CP-53").await > 1);
    let turn = scene.read(
        "SELECT json_extract(body, '$.turn_id') AS line FROM outbox_events
        WHERE json_extract(body, '$.kind') = 'TURN_STARTED' ORDER BY position DESC LIMIT 1",
    );
    assert_eq!((events(scene, "TURN_STARTED", &turn[0]), events(scene, "TURN_COMPLETED", &turn[0])), (1, 1));
    is_kept(scene, scene.restart().await, DispatchOutcome::Accepted, 1).await;
}

/// The bus refuses the replay: no port, another exit code than 0, everything is still there for the next start.
pub async fn cp_54(scene: &Scene) {
    die(scene, "CP-31=return", answer_detached).await;
    let Start::Ended(ended) = Server::start(&scene.database, "bus=return").await else { panic!("it listens") };
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let waiting = scene.read("SELECT event_id AS line FROM outbox_events WHERE accepted_us IS NULL");
    assert!(!waiting.is_empty(), "events went nowhere");
    is_kept(scene, scene.restart().await, DispatchOutcome::Accepted, 1).await;
}

/// Lists of claimed ids that cannot be read, and one that leaves out a row that the claim took.
const MALFORMED: &[&str] = &[
    "json('[1]')",
    "json('[\"\"]')",
    "'text'",
    "json('{}')",
    "json('[\"a\",\"a\"]')",
    "json('[]')",
    "json('[null]')",
];

/// The start is refused by name and changes nothing, of this session or of any other.
pub async fn cp_55(scene: &Scene) {
    wreck(scene).await;
    let turns = scene.read("SELECT id AS line FROM task_session_turns WHERE is_reserved ORDER BY is_attempted");
    for turn in &turns {
        let whole = scene.read(&format!("SELECT metadata AS line FROM task_session_turns WHERE id = '{turn}'"));
        for list in MALFORMED {
            scene.plant(&format!(
                "UPDATE task_session_turns SET metadata =
                json_set(metadata, '$.prompt_dispatch_clarification_message_ids', {list}) WHERE id = '{turn}'"
            ));
            refuses(scene, turn).await;
        }
        scene.plant(&format!(
            "UPDATE task_session_turns SET metadata = '{}' WHERE id = '{turn}'",
            whole[0].replace('\'', "''")
        ));
    }
    scene.restart().await.kill().await;
    is_pending(scene).await;
}

async fn refuses(scene: &Scene, turn: &str) {
    let before = scene.dump();
    let Start::Ended(ended) = Server::start(&scene.database, "").await else { panic!("it listens") };
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.log.contains(turn), "the row is not named: {}", ended.log);
    assert_eq!(scene.dump(), before, "a refused start changed something");
    let (code, told) = tool("inspect", scene);
    assert!(code == Some(0) && told.contains(turn) && told.contains("REFUSED"), "{told}");
    let (code, told) = tool("check", scene);
    assert!(code == Some(1) && told.contains(turn), "{told}");
}

/// Runs a command of the binary on the database: its exit code and what it says.
fn tool(name: &str, scene: &Scene) -> (Option<i32>, String) {
    run(&[name], scene)
}

fn run(args: &[&str], scene: &Scene) -> (Option<i32>, String) {
    let run = Command::new(program()).args(args).args(["--database", &scene.database.url()]).output().unwrap();
    (run.status.code(), String::from_utf8(run.stdout).unwrap())
}

/// Every spelling of a flag that is true counts as the marker; every other does not.
pub async fn flags(scene: &Scene) {
    die(scene, "CP-28=return", answer_detached).await;
    let wreck = scene.database.copy();
    let spellings = [
        ("json('true')", true),
        ("'true'", true),
        ("'1'", true),
        ("1", true),
        ("json('false')", false),
        ("'0'", false),
    ];
    for (spelling, is_true) in spellings {
        scene.database.become_like(&wreck);
        scene.plant(&format!(
            "UPDATE task_session_turns SET metadata = json_set(
            json_set(metadata, '$.prompt_dispatch_attempted', {spelling}), '$.prompt_dispatch_pending', 1)
            WHERE is_reserved"
        ));
        let server = scene.restart().await;
        if is_true {
            is_kept(scene, server, DispatchOutcome::Unknown, 0).await;
        } else {
            is_pending(scene).await;
            server.kill().await;
        }
    }
}

pub async fn cp_56(scene: &Scene) {
    let epoch = || {
        scene.read("SELECT CAST(MAX(epoch) AS TEXT) AS line FROM backend_generations")[0].parse::<i64>().unwrap()
    };
    let before = epoch();
    let Start::Ended(ended) = Server::start(&scene.database, "CP-56=return").await else { panic!("it listens") };
    ended.assert_killed();
    assert_eq!(epoch(), before + 1);
    let server = scene.restart().await;
    assert_eq!(epoch(), before + 2);
    is_answerable(scene, server).await;
}

pub async fn cp_57(scene: &Scene) {
    wreck(scene).await;
    let Start::Ended(ended) = Server::start(&scene.database, "CP-57=return").await else { panic!("it listens") };
    ended.assert_killed();
    let before = scene.dump();
    scene.restart().await.kill().await;
    assert_eq!(scene.dump(), before, "a second recovery changed something");
}

pub async fn cp_62(scene: &Scene) {
    let first = scene.restart().await;
    let Start::Ended(second) = Server::start(&scene.database, "").await else { panic!("two servers on one file") };
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.log.contains(&first.pid().to_string()), "the holder is not named: {}", second.log);
    let (code, told) = tool("check", scene);
    assert_eq!((code, told.as_str()), (Some(0), "violations=0\n"), "beside a running server");
    is_answerable(scene, first).await;
}

/// Who starts under a server's name takes its place: the first one writes nothing more and ends by itself.
pub async fn cp_62_fenced(scene: &Scene) {
    let first = scene.restart().await;
    let caller = acts(scene, &first);
    let second = scene.restart().await;
    let late = caller.respond("late").await;
    assert_ne!(kind(&late), "ResponseAccepted", "a fenced server took an answer");
    assert_eq!(first.gone().await.code, Some(1));
    assert_eq!(tool("check", scene), (Some(0), "violations=0\n".to_owned()), "beside a running server");
    is_answerable(scene, second).await;
}

/// A dispatch of unknown outcome is listed, with the mutation that settles it.
pub async fn inspected(scene: &Scene) {
    die(scene, "CP-28=return", answer_detached).await;
    let (_, told) = tool("inspect", scene);
    assert!(told.contains("claims=1 reservations=1 ambiguous=0 malformed=0"), "{told}");
    scene.restart().await.kill().await;
    let (code, told) = tool("inspect", scene);
    assert!(code == Some(0) && told.contains("resolveAmbiguousDispatch"), "{told}");
    assert!(told.contains("claims=0 reservations=0 ambiguous=1 malformed=0"), "{told}");
    assert_eq!(tool("check", scene), (Some(0), "violations=0\n".to_owned()));
    let told: Value = serde_json::from_str(&run(&["check", "--json"], scene).1).unwrap();
    let all = ["checked", "notShown"].map(|key| told[key].as_array().unwrap().len());
    assert!(told["violations"] == serde_json::json!([]) && all.iter().sum::<usize>() > 40, "{told}");
}
