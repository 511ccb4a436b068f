//! Cells of claims, of answers and skips that somebody waits for, and of skips that nobody does.
//! May import: its siblings, the crate.

use std::time::Duration;

use answerable::lifecycle::{BundleState, Status};

use super::after::{acts, facts, is_answerable, is_pending, is_retired, is_settled, kind};
use super::scene::{Acts, Scene};

/// Runs a path on an armed server until its point kills it.
pub async fn die(scene: &Scene, points: &str, path: impl AsyncFnOnce(Acts<'_>)) {
    let server = scene.armed(points).await;
    let acts = acts(scene, &server);
    let (_, ended) = tokio::join!(path(acts), server.gone());
    ended.assert_killed();
}

/// Somebody waits, and a person answers.
pub async fn answer_live(acts: Acts<'_>) {
    let respond = async {
        acts.until_live().await;
        acts.respond("answer").await
    };
    let (heard, answered) = tokio::join!(acts.wait(20), respond);
    assert!(heard.is_none() && answered.is_none(), "told before the crash: {heard:?} {answered:?}");
}

pub async fn answer_detached(acts: Acts<'_>) {
    let answered = acts.respond("answer").await;
    assert!(answered.is_none(), "told before the crash: {answered:?}");
}

pub async fn restored(scene: &Scene, points: &str, path: impl AsyncFnOnce(Acts<'_>)) {
    die(scene, points, path).await;
    assert_eq!(scene.dispatches(), 0);
    is_answerable(scene, scene.restart().await).await;
}

pub async fn cp_09(scene: &Scene) {
    restored(scene, "CP-09=return", answer_live).await;
}

pub async fn cp_09_detached(scene: &Scene) {
    restored(scene, "CP-09=return", answer_detached).await;
}

pub async fn cp_10(scene: &Scene) {
    restored(scene, "CP-10=return", answer_detached).await;
}

pub async fn cp_11(scene: &Scene) {
    restored(scene, "CP-11=return", answer_live).await;
}

async fn skip_live(acts: Acts<'_>) {
    let skip = async {
        acts.until_live().await;
        acts.skip("skip").await
    };
    let (heard, skipped) = tokio::join!(acts.wait(20), skip);
    assert!(heard.is_none() && skipped.is_none());
}

/// Given back, a skipped bundle takes an answer as well as a skip.
pub async fn cp_12(scene: &Scene) {
    restored(scene, "CP-12=return", skip_live).await;
}

pub async fn cp_12_skip(scene: &Scene) {
    die(scene, "CP-12=return", skip_live).await;
    let server = scene.restart().await;
    is_pending(scene).await;
    assert_eq!(kind(&acts(scene, &server).skip("skip").await), "ResponseAccepted");
    is_settled(scene, server, Status::Rejected).await;
}

const NEWER_TURN: &str =
    "INSERT INTO task_session_turns (id, session_id, ordinal, kind, generation, started_us, wall_us,
        has_evidence, metadata)
    SELECT 'newer', session_id, ordinal + 50, 'work', generation + 50, started_us + 1000000000, wall_us, FALSE, '{}'
        FROM task_session_turns WHERE id = $turn;
    INSERT INTO outbox_events (event_id, body, workspace_id, task_id, session_id, created_us)
        SELECT 'newer', '{\"kind\":\"TURN_STARTED\",\"turn_id\":\"newer\"}', workspace_id, task_id, id, updated_us
        FROM task_sessions WHERE id = $session;
    UPDATE task_sessions SET last_ordinal = last_ordinal + 50, last_started_us = last_started_us + 1000000000,
        generation = generation + 50 WHERE id = $session;";

pub async fn cp_13(scene: &Scene) {
    die(scene, "CP-11=return", answer_live).await;
    scene.plant(NEWER_TURN);
    is_retired(scene, scene.restart().await).await;
}

/// The same without a hand: the newer turn is accepted while the response is held behind its claim.
pub async fn cp_13_alive(scene: &Scene) {
    die(scene, "CP-11=sleep(20000);CP-42=return", async |acts| {
        let turn = async {
            while acts.state().await != "DELIVERY_CLAIMED" {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            acts.start_turn().await
        };
        let respond = async {
            acts.until_live().await;
            acts.respond("answer").await
        };
        let (_, answered, _) = tokio::join!(acts.wait(20), respond, turn);
        assert!(answered.is_none());
    })
    .await;
    is_retired(scene, scene.restart().await).await;
}

pub async fn cp_14(scene: &Scene) {
    die(scene, "CP-11=return", answer_live).await;
    scene.plant("UPDATE task_sessions SET state = 'FAILED' WHERE id = $session");
    is_retired(scene, scene.restart().await).await;
}

/// Holds a response behind its claim and hangs up on it.
async fn hang_up(scene: &Scene) -> super::server::Server {
    let server = scene.armed("CP-11=sleep(1500)").await;
    let acts = acts(scene, &server);
    let claimed = async {
        while acts.state().await != "DELIVERY_CLAIMED" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let respond = async {
        acts.until_live().await;
        acts.respond("answer").await
    };
    let both = async { tokio::join!(acts.wait(20), respond) };
    tokio::select! {
        told = both => panic!("{told:?}"),
        () = claimed => {}
    }
    server
}

pub async fn cp_15(scene: &Scene) {
    hang_up(scene).await.kill().await;
    is_answerable(scene, scene.restart().await).await;
}

/// The same, left alive: the claim has an end within its bound.
pub async fn cp_15_alive(scene: &Scene) {
    let server = hang_up(scene).await;
    for _ in 0..500 {
        if acts(scene, &server).state().await != "DELIVERY_CLAIMED" {
            server.kill().await;
            drop(scene.restart().await);
            facts(scene).await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("a claim has no end");
}

pub async fn cp_16(scene: &Scene) {
    restored(scene, "CP-16=return", answer_live).await;
}

pub async fn cp_17(scene: &Scene) {
    restored(scene, "CP-17=return", answer_live).await;
}

pub async fn cp_18(scene: &Scene) {
    die(scene, "CP-18=return", answer_live).await;
    is_settled(scene, scene.restart().await, Status::Answered).await;
}

pub async fn cp_19(scene: &Scene) {
    die(scene, "CP-19=return", async |acts| {
        let respond = async {
            acts.until_live().await;
            acts.respond("answer").await
        };
        let (_, answered) = tokio::join!(acts.wait(20), respond);
        assert!(answered.is_none());
    })
    .await;
    let server = scene.restart().await;
    let again = acts(scene, &server).respond("answer").await.unwrap();
    assert_eq!((&again["__typename"], &again["replayed"]), (&"ResponseAccepted".into(), &true.into()));
    is_settled(scene, server, Status::Answered).await;
}

/// The waiter is held before it confirms, so the responder gives the claim back.
pub async fn cp_20(scene: &Scene) {
    restored(scene, "CP-16=sleep(20000);CP-20=return", answer_live).await;
}

pub async fn cp_20_restored(scene: &Scene) {
    restored(scene, "CP-16=sleep(20000);CP-36=return", answer_live).await;
}

/// Confirm and restore meet; the kill falls behind whichever won.
pub async fn cp_20_race(scene: &Scene) {
    die(scene, "CP-16=sleep(1500);CP-18=return;CP-36=return", answer_live).await;
    let server = scene.restart().await;
    match facts(scene).await.bundle.state() {
        BundleState::Terminal => is_settled(scene, server, Status::Answered).await,
        _ => is_answerable(scene, server).await,
    }
}

pub async fn cp_22(scene: &Scene) {
    die(scene, "CP-22=return", async |acts| assert!(acts.skip("skip").await.is_none())).await;
    let server = scene.restart().await;
    is_pending(scene).await;
    assert_eq!(kind(&acts(scene, &server).skip("skip").await), "ResponseAccepted");
    is_settled(scene, server, Status::Rejected).await;
}

pub async fn cp_23(scene: &Scene) {
    die(scene, "CP-23=return", async |acts| assert!(acts.skip("skip").await.is_none())).await;
    is_settled(scene, scene.restart().await, Status::Rejected).await;
}
