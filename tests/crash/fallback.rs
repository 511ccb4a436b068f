//! Cells of the watchdog: an agent took its answer and never heard of it, for its server was killed behind the
//! confirmation; the next one prompts it, and is killed on the way. May import: its siblings, the crate.

use std::time::Duration;

use answerable::lifecycle::{BundleState, DispatchOutcome, Status};

use super::after::{Facts, events, facts, stays};
use super::answers::{answer_live, die};
use super::scene::Scene;
use super::server::Server;

/// The session's turns beside the one that asked, as far as `which` is true of them.
fn successors(scene: &Scene, which: &str) -> Vec<String> {
    let (session, turn) = (&scene.names.session, &scene.names.turn);
    scene.read(&format!(
        "SELECT id AS line FROM task_session_turns WHERE session_id = '{session}' AND id <> '{turn}' AND {which}"
    ))
}

fn armed(scene: &Scene) -> Vec<String> {
    scene.read("SELECT id AS line FROM task_session_turns WHERE has_watchdog")
}

/// Killed when the confirmation was durable and nothing had been returned.
async fn silent(scene: &Scene) {
    scene.plant("UPDATE task_sessions SET is_watchdog_on = TRUE WHERE id = $session");
    die(scene, "CP-21=return", answer_live).await;
    assert_eq!(armed(scene), [scene.names.turn.as_str()]);
    assert_eq!(scene.dispatches(), 0);
}

/// The same, and the next server is killed at this point of the fallback.
async fn fallen(scene: &Scene, points: &str) {
    silent(scene).await;
    scene.armed(points).await.gone().await.assert_killed();
}

/// The answer stays the one that was confirmed, its fallback is spent, and no start calls anybody any more.
async fn is_over(scene: &Scene, server: Server, dispatches: usize) -> Facts {
    let seen = facts(scene).await;
    assert_eq!(seen.bundle.state(), BundleState::Terminal);
    for question in seen.own(scene) {
        assert!(question.status == Status::Answered && question.is_watchdog_spent, "{question:?}");
    }
    assert_eq!(armed(scene), Vec::<String>::new());
    assert_eq!(scene.dispatches(), dispatches, "{:?}", scene.agent_lines());
    stays(scene, server, dispatches).await;
    seen
}

/// The agent was prompted, or may have been, and its turn is the current one.
async fn is_prompted(scene: &Scene, outcome: DispatchOutcome, dispatches: usize) {
    // Not `restart`: what is due runs as soon as the port is open, and its events may wait already.
    let server = Server::start_whole(&scene.database).await;
    for _ in 0..1_000 {
        if !successors(scene, "NOT is_reserved").is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let seen = is_over(scene, server, dispatches).await;
    let turn = seen.session.current_turn.expect("no turn");
    assert_eq!(successors(scene, "TRUE"), [turn.as_str()], "one fallback");
    assert_eq!(seen.view.turn(&turn).and_then(|turn| turn.dispatch_outcome), Some(outcome));
    assert_eq!(events(scene, "TURN_STARTED", turn.as_str()), 1);
}

pub async fn cp_21(scene: &Scene) {
    silent(scene).await;
    is_prompted(scene, DispatchOutcome::Accepted, 1).await;
}

/// Before the reservation is committed.
pub async fn cp_21_fired(scene: &Scene) {
    fallen(scene, "CP-21=return").await;
    assert_eq!(successors(scene, "TRUE"), Vec::<String>::new());
    is_prompted(scene, DispatchOutcome::Accepted, 1).await;
}

/// Reserved and not attempted: due again.
pub async fn cp_26_fallback(scene: &Scene) {
    fallen(scene, "CP-26=return").await;
    assert_eq!(successors(scene, "is_reserved").len(), 1);
    is_prompted(scene, DispatchOutcome::Accepted, 1).await;
}

pub async fn cp_27_fallback(scene: &Scene) {
    fallen(scene, "CP-27=return").await;
    is_prompted(scene, DispatchOutcome::Accepted, 1).await;
}

pub async fn cp_28_fallback(scene: &Scene) {
    fallen(scene, "CP-28=return").await;
    is_prompted(scene, DispatchOutcome::Unknown, 0).await;
}

pub async fn cp_29_fallback(scene: &Scene) {
    fallen(scene, "CP-29=return").await;
    is_prompted(scene, DispatchOutcome::Unknown, 1).await;
}

pub async fn cp_30_fallback(scene: &Scene) {
    fallen(scene, "CP-30=return").await;
    is_prompted(scene, DispatchOutcome::Unknown, 1).await;
}

pub async fn cp_31_fallback(scene: &Scene) {
    fallen(scene, "CP-31=return").await;
    is_prompted(scene, DispatchOutcome::Accepted, 1).await;
}

pub async fn cp_34_fallback(scene: &Scene) {
    fallen(scene, "agent=return(reject);CP-34=return").await;
    is_prompted(scene, DispatchOutcome::Unknown, 0).await;
}

/// Refused and rolled back: its agent may work on, and is not prompted a second time.
pub async fn cp_36_fallback(scene: &Scene) {
    fallen(scene, "agent=return(reject);CP-36=return").await;
    let seen = is_over(scene, scene.restart().await, 0).await;
    assert_eq!(seen.session.current_turn.map(|id| id.to_string()), Some(scene.names.turn.clone()));
    assert_eq!(successors(scene, "TRUE"), Vec::<String>::new());
}
