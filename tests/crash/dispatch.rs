//! Cells of answers that nobody waits for: reserved, marked, sent, acknowledged, published, taken back.
//! May import: its siblings, the crate.

use std::time::Duration;

use answerable::lifecycle::{DispatchOutcome, Status};

use super::after::{acts, conflicts, events, facts, is_answerable, is_kept, kind};
use super::answers::{answer_detached, die, restored};
use super::scene::Scene;

/// No reservation where the claim has one: it cannot come to be here, and is recovered all the same.
const WITHOUT_RESERVATION: &str = "DELETE FROM task_session_turns WHERE is_reserved AND session_id = $session";

pub async fn cp_24(scene: &Scene) {
    die(scene, "CP-26=return", answer_detached).await;
    scene.plant(WITHOUT_RESERVATION);
    is_answerable(scene, scene.restart().await).await;
}

pub async fn cp_25(scene: &Scene) {
    restored(scene, "CP-25=return", answer_detached).await;
}

pub async fn cp_26(scene: &Scene) {
    restored(scene, "CP-26=return", answer_detached).await;
}

pub async fn cp_27(scene: &Scene) {
    restored(scene, "CP-27=return", answer_detached).await;
}

async fn kept(scene: &Scene, points: &str, outcome: DispatchOutcome, dispatches: usize) {
    die(scene, points, answer_detached).await;
    is_kept(scene, scene.restart().await, outcome, dispatches).await;
}

pub async fn cp_28(scene: &Scene) {
    kept(scene, "CP-28=return", DispatchOutcome::Unknown, 0).await;
}

pub async fn cp_29(scene: &Scene) {
    kept(scene, "CP-29=return", DispatchOutcome::Unknown, 1).await;
}

pub async fn cp_30(scene: &Scene) {
    kept(scene, "CP-30=return", DispatchOutcome::Unknown, 1).await;
}

pub async fn cp_31(scene: &Scene) {
    kept(scene, "CP-31=return", DispatchOutcome::Accepted, 1).await;
}

/// Markers gone and the intent left: it cannot come to be here, and is recovered all the same.
pub async fn cp_32(scene: &Scene) {
    die(scene, "CP-31=return", answer_detached).await;
    scene.plant(
        "UPDATE task_session_turns SET metadata = '{\"dispatch_outcome\":\"ACCEPTED\"}'
        WHERE is_reserved AND session_id = $session",
    );
    let server = scene.restart().await;
    assert_eq!(scene.dispatches(), 1);
    assert!(facts(scene).await.own(scene).iter().all(|q| q.status == Status::Answered && !q.has_intent()));
    conflicts(scene, &server).await;
    server.kill().await;
}

pub async fn cp_33(scene: &Scene) {
    kept(scene, "CP-33=return", DispatchOutcome::Accepted, 1).await;
}

pub async fn cp_33_unknown(scene: &Scene) {
    kept(scene, "agent=return(unknown);CP-33=return", DispatchOutcome::Unknown, 1).await;
}

/// A refusal that was not written down is unknown: nothing is sent again.
pub async fn cp_34(scene: &Scene) {
    kept(scene, "agent=return(reject);CP-34=return", DispatchOutcome::Unknown, 0).await;
}

pub async fn cp_34_rows(scene: &Scene) {
    kept(scene, "agent=return(reject);CP-35=return", DispatchOutcome::Unknown, 0).await;
}

pub async fn cp_35(scene: &Scene) {
    die(scene, "agent=return(reject);CP-34=return", answer_detached).await;
    scene.plant(WITHOUT_RESERVATION);
    is_answerable(scene, scene.restart().await).await;
}

pub async fn cp_36(scene: &Scene) {
    restored(scene, "agent=return(reject);CP-36=return", answer_detached).await;
}

/// A call that was taken back counts as refused.
pub async fn cp_36_revoked(scene: &Scene) {
    die(scene, "agent=return(hang);revoke=return(revoked);CP-36=return", answer_detached).await;
    is_answerable(scene, scene.restart().await).await;
}

/// The reservation's id, which nobody outside may know.
fn reservation(scene: &Scene) -> Option<String> {
    scene.read("SELECT id AS line FROM task_session_turns WHERE is_reserved").pop()
}

async fn until_reserved(scene: &Scene) -> String {
    for _ in 0..500 {
        if let Some(turn) = reservation(scene) {
            return turn;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nothing is reserved");
}

/// A message on the reservation is evidence, before any marker.
pub async fn cp_37(scene: &Scene) {
    die(scene, "CP-26=sleep(20000);CP-37=return", async |acts| {
        let speak = async { acts.append(&until_reserved(scene).await).await };
        let (answered, _) = tokio::join!(acts.respond("answer"), speak);
        assert!(answered.is_none());
    })
    .await;
    is_kept(scene, scene.restart().await, DispatchOutcome::Unknown, 0).await;
}

/// A rollback of unknown outcome: while the server lives, no prompt enters where it did not happen.
async fn lost_rollback(scene: &Scene, when: &str) {
    let server = scene.armed(&format!("agent=return(reject);CP-38=return({when})")).await;
    let acts = acts(scene, &server);
    let told = acts.respond("answer").await.unwrap();
    assert_eq!((&told["__typename"], &told["retryable"]), (&"DeliveryFailed".into(), &false.into()));
    if when == "before" {
        let prompt = acts.send_prompt().await.unwrap();
        assert_eq!(prompt["refusal"], "DISPATCH_UNRESOLVED", "{prompt}");
    }
    server.kill().await;
}

pub async fn cp_38(scene: &Scene) {
    lost_rollback(scene, "before").await;
    is_kept(scene, scene.restart().await, DispatchOutcome::Unknown, 0).await;
}

pub async fn cp_38_committed(scene: &Scene) {
    lost_rollback(scene, "after").await;
    is_answerable(scene, scene.restart().await).await;
}

/// The agent took it and the bus refuses its start.
pub async fn cp_39(scene: &Scene) {
    let server = scene.armed("bus=return").await;
    let told = acts(scene, &server).respond("answer").await.unwrap();
    assert_eq!((&told["code"], &told["retryable"]), (&"PUBLICATION_FAILED".into(), &false.into()));
    server.kill().await;
    is_kept(scene, scene.restart().await, DispatchOutcome::Accepted, 1).await;
}

pub async fn cp_39_committed(scene: &Scene) {
    kept(scene, "CP-39=return", DispatchOutcome::Accepted, 1).await;
}

/// The agent is done before its start is announced: both events wait.
pub async fn cp_40_wreck(scene: &Scene) {
    die(scene, "bus=return;CP-40=return", async |acts| {
        let complete = async {
            let turn = until_reserved(scene).await;
            while kind(&acts.complete_turn(&turn).await) == "Refused" {}
        };
        let (answered, ()) = tokio::join!(acts.respond("answer"), complete);
        assert!(answered.is_none());
    })
    .await;
}

pub async fn cp_40(scene: &Scene) {
    cp_40_wreck(scene).await;
    let turn = reservation(scene).unwrap();
    let server = scene.restart().await;
    assert_eq!((events(scene, "TURN_STARTED", &turn), events(scene, "TURN_COMPLETED", &turn)), (1, 1));
    is_kept(scene, server, DispatchOutcome::Accepted, 1).await;
}
