//! Cells of a coding agent over ACP, the one of `tests/acp/peer`: its server is killed when the prompt was on its way,
//! and the agent, which takes no notice of its closed input, ends with it. May import: its siblings, the crate.

use std::path::Path;
use std::time::Duration;

use answerable::lifecycle::DispatchOutcome;
use serde_json::Value;

use super::after::{acts, is_answerable, is_kept};
use super::answers::{answer_detached, die};
use super::scene::Scene;

const NAME: &str = "coder";

/// The session's agent is one that does this with its prompt.
fn settle(scene: &Scene, does: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp/peer/agent.mjs");
    let is_there = script.with_file_name("node_modules/.package-lock.json").exists();
    assert!(is_there, "the agent is not installed: npm ci --prefix tests/acp/peer, or make it");
    let journal = scene.database.beside("journal");
    let settings = format!(
        "[executors.{NAME}]\nkind = 'acp'\ncommand = 'node'\nargs = [{script:?}]\ncwd = '/'\n\
        env_inherit = ['PATH']\nenv = {{ PEER_JOURNAL = {journal:?}, PEER_START = 'deaf', PEER_DO = '{does}' }}\n",
    );
    std::fs::write(scene.database.beside("toml"), settings).unwrap();
    scene.plant(&format!("UPDATE task_sessions SET executor = '{NAME}' WHERE id = $session"));
}

fn journal(scene: &Scene, event: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(scene.database.beside("journal")).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] == event).collect()
}

/// It runs no more; one that nobody waited for is no orphan that runs.
fn is_gone(pid: &Value) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

/// Every agent that ran is gone.
async fn alone(scene: &Scene) {
    for start in journal(scene, "start") {
        for _ in 0..1_000 {
            if is_gone(&start["pid"]) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(is_gone(&start["pid"]), "an agent outlives its server");
    }
}

async fn kept(scene: &Scene, outcome: DispatchOutcome, prompts: usize) {
    alone(scene).await;
    assert_eq!(journal(scene, "prompt").len(), prompts);
    // None of them went by the executor that the scene counts.
    is_kept(scene, scene.restart().await, outcome, 0).await;
    assert_eq!(journal(scene, "prompt").len(), prompts, "prompted again");
}

pub async fn cp_27_coder(scene: &Scene) {
    settle(scene, "twice");
    die(scene, "CP-27=return", answer_detached).await;
    assert_eq!(journal(scene, "start").len(), 0);
    scene.plant("UPDATE task_sessions SET executor = 'recording' WHERE id = $session");
    is_answerable(scene, scene.restart().await).await;
}

pub async fn cp_28_coder(scene: &Scene) {
    settle(scene, "twice");
    die(scene, "CP-28=return", answer_detached).await;
    kept(scene, DispatchOutcome::Unknown, 0).await;
}

/// Killed from outside, when the agent has read its prompt and said nothing.
pub async fn cp_29_coder(scene: &Scene) {
    settle(scene, "hang");
    let server = scene.armed("").await;
    let acts = acts(scene, &server);
    let read = async {
        while journal(scene, "prompt").is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        server.kill().await;
    };
    let (answered, ()) = tokio::join!(acts.respond("answer"), read);
    assert!(answered.is_none(), "{answered:?}");
    kept(scene, DispatchOutcome::Unknown, 1).await;
}

pub async fn cp_30_coder(scene: &Scene) {
    settle(scene, "twice");
    die(scene, "CP-30=return", answer_detached).await;
    kept(scene, DispatchOutcome::Unknown, 1).await;
}

pub async fn cp_31_coder(scene: &Scene) {
    settle(scene, "twice");
    die(scene, "CP-31=return", answer_detached).await;
    kept(scene, DispatchOutcome::Accepted, 1).await;
}
