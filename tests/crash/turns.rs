//! Cells of asking and waiting, of newer turns, deletion, cancellation, the end of a session, and of other writes.
//! May import: its siblings, the crate.

use answerable::lifecycle::{BundleState, PendingAction, Status};

use super::after::{acts, conflicts, facts, is_answerable, is_pending, is_superseded, kind, sibling};
use super::answers::die;
use super::scene::{Acts, Scene, ask, text};

async fn die_asking(scene: &Scene, points: &str, wait_s: u32) {
    die(scene, points, async |acts| {
        assert!(ask(&acts.caller, &acts.names.fresh, acts.names.size, wait_s).await.is_none());
    })
    .await;
}

/// Asked again with the same key, there is one bundle, and it is answerable.
async fn asks_once(scene: &Scene, is_known: bool) {
    let server = scene.restart().await;
    facts(scene).await;
    let fresh = scene.names.fresh.clone();
    let count = || {
        scene.read(&format!(
            "SELECT id AS line FROM task_session_messages WHERE is_question AND session_id = '{fresh}'"
        ))
    };
    assert_eq!(count().len(), if is_known { scene.names.size } else { 0 }, "all rows or none");
    let detached = scene.read(&format!(
        "SELECT id AS line FROM task_session_messages WHERE is_question AND is_detached AND session_id = '{fresh}'"
    ));
    assert_eq!(detached.len(), count().len(), "nobody waits, and it does not say so");
    let first = ask(&server.caller(), &fresh, scene.names.size, 0).await.unwrap();
    assert_eq!(first["isNew"], !is_known);
    let again = ask(&server.caller(), &fresh, scene.names.size, 0).await.unwrap();
    assert_eq!((&again["pendingId"], &again["isNew"]), (&first["pendingId"], &false.into()));
    assert_eq!(count().len(), scene.names.size);
    server.kill().await;
}

pub async fn cp_01(scene: &Scene) {
    die_asking(scene, "CP-01=return", 0).await;
    asks_once(scene, false).await;
}

pub async fn cp_02(scene: &Scene) {
    die_asking(scene, if scene.names.size > 1 { "CP-02=1*off->return" } else { "CP-02=return" }, 0).await;
    asks_once(scene, false).await;
}

pub async fn cp_03(scene: &Scene) {
    die_asking(scene, "CP-03=return", 0).await;
    asks_once(scene, true).await;
}

pub async fn cp_04(scene: &Scene) {
    die_asking(scene, "CP-04=return", 20).await;
    asks_once(scene, true).await;
}

/// A waiter registered again, killed before and behind its commit.
pub async fn cp_03_again(scene: &Scene) {
    die(scene, "CP-03=return", async |acts| drop(acts.wait(20).await)).await;
    is_answerable(scene, scene.restart().await).await;
}

pub async fn cp_04_again(scene: &Scene) {
    die(scene, "CP-04=return", async |acts| drop(acts.wait(20).await)).await;
    is_answerable(scene, scene.restart().await).await;
}

/// A wait whose client hangs up.
async fn lose_the_wait(acts: Acts<'_>) {
    tokio::select! {
        heard = acts.wait(20) => panic!("{heard:?}"),
        () = acts.until_live() => {}
    }
}

/// The client hangs up while its wait is being written down: what is written is taken back (INV-37).
pub async fn cp_04_hang_up(scene: &Scene) {
    let server = scene.armed("CP-04=sleep(300)").await;
    lose_the_wait(acts(scene, &server)).await;
    for _ in 0..500 {
        if acts(scene, &server).state().await == "ACTIVE_DETACHED" {
            return is_answerable(scene, server).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("somebody who hung up still waits");
}

pub async fn cp_05(scene: &Scene) {
    die(scene, "CP-05=return", lose_the_wait).await;
    is_answerable(scene, scene.restart().await).await;
}

pub async fn cp_06(scene: &Scene) {
    die(scene, "CP-06=return", lose_the_wait).await;
    let server = scene.restart().await;
    is_pending(scene).await;
    let before = scene.dump();
    let again = acts(scene, &server).detach().await.unwrap();
    assert_eq!(again["detached"], 0);
    assert_eq!(scene.dump(), before, "a second detach changed something");
    is_answerable(scene, server).await;
}

async fn turn_stands(scene: &Scene, session: &str, turn: &str) {
    let end = scene
        .read(&format!("SELECT COALESCE(end_kind, 'open') AS line FROM task_session_turns WHERE id = '{turn}'"));
    assert_eq!(end, ["open"]);
    let newest = scene
        .read(&format!("SELECT current_turn_id AS line FROM session_projections WHERE session_id = '{session}'"));
    assert_eq!(newest, [turn]);
}

pub async fn cp_07(scene: &Scene) {
    die(scene, "CP-07=return", async |acts| {
        let cancel = async {
            acts.until_live().await;
            acts.detach().await;
            acts.cancel_turn(&acts.names.session, Some(&acts.names.turn)).await
        };
        let (_, cancelled) = tokio::join!(acts.wait(20), cancel);
        assert!(cancelled.is_none());
    })
    .await;
    turn_stands(scene, &scene.names.session, &scene.names.turn).await;
    is_answerable(scene, scene.restart().await).await;
}

/// A pause that saw no turn does not stop the first one.
pub async fn cp_08(scene: &Scene) {
    let server = scene.armed("").await;
    let first = ask(&server.caller(), &scene.names.empty, scene.names.size, 0).await.unwrap();
    let late = acts(scene, &server).cancel_turn(&scene.names.empty, None).await;
    assert_eq!(kind(&late), "Refused", "{late:?}");
    server.kill().await;
    let server = scene.restart().await;
    facts(scene).await;
    let turn = scene
        .read(&format!("SELECT id AS line FROM task_session_turns WHERE session_id = '{}'", scene.names.empty));
    turn_stands(scene, &scene.names.empty, &turn[0]).await;
    assert!(first["pendingId"].is_string());
    server.kill().await;
}

pub async fn cp_41(scene: &Scene) {
    die(scene, "CP-41=return", async |acts| assert!(acts.start_turn().await.is_none())).await;
    is_answerable(scene, scene.restart().await).await;
}

pub async fn cp_42(scene: &Scene) {
    die(scene, "CP-42=return", async |acts| assert!(acts.start_turn().await.is_none())).await;
    is_superseded(scene, scene.restart().await).await;
}

/// The waiter of the old turn is not woken any more, and never returns an answer.
pub async fn cp_43(scene: &Scene) {
    die(scene, "CP-42=return", async |acts| {
        let turn = async {
            acts.until_live().await;
            acts.start_turn().await
        };
        let (heard, _) = tokio::join!(acts.wait(20), turn);
        assert!(heard.is_none(), "{heard:?}");
    })
    .await;
    is_superseded(scene, scene.restart().await).await;
}

async fn delete_newer_messages(scene: &Scene, points: &str) {
    die(scene, points, async |acts| {
        let turn = text(&acts.start_turn().await.unwrap()["turnId"]);
        let rows = scene.read(&format!("SELECT id AS line FROM task_session_messages WHERE turn_id = '{turn}'"));
        assert_eq!(rows.len(), 1);
        assert!(acts.delete_message(&rows[0]).await.is_none());
    })
    .await;
    is_superseded(scene, scene.restart().await).await;
}

pub async fn cp_44(scene: &Scene) {
    delete_newer_messages(scene, "CP-44=return").await;
}

pub async fn cp_44_committed(scene: &Scene) {
    delete_newer_messages(scene, "CP-45=return").await;
}

/// A bundle is deleted row by row; another one stays as it is.
pub async fn cp_45(scene: &Scene) {
    let server = scene.armed("").await;
    let other = ask(&server.caller(), &scene.names.fresh, 1, 0).await.unwrap();
    server.kill().await;
    let others = || {
        scene.read(&format!(
            "SELECT metadata AS line FROM task_session_messages WHERE pending_id = {}",
            other["pendingId"].to_string().replace('"', "'")
        ))
    };
    let (before, last) = (others(), scene.names.size - 1);
    let points = if last == 0 { "CP-45=return".to_owned() } else { format!("CP-45={last}*off->return") };
    die(scene, &points, async |acts| {
        let rows = scene.read("SELECT id AS line FROM task_session_messages WHERE is_question ORDER BY id");
        let own = scene.read(&format!(
            "SELECT id AS line FROM task_session_messages WHERE pending_id = '{}'",
            acts.names.bundle
        ));
        for row in rows.iter().filter(|id| own.contains(id)) {
            drop(acts.delete_message(row).await);
        }
    })
    .await;
    let server = scene.restart().await;
    assert_eq!(acts(scene, &server).state().await, "", "the bundle is still there");
    assert_eq!(others(), before);
    server.kill().await;
}

async fn cancelled_or_pending(scene: &Scene, points: &str) {
    die(scene, points, async |acts| {
        let cancel = async {
            acts.until_live().await;
            acts.cancel().await
        };
        let (heard, cancelled) = tokio::join!(acts.wait(20), cancel);
        assert!(heard.is_none() && cancelled.is_none());
    })
    .await;
    let server = scene.restart().await;
    let facts = facts(scene).await;
    assert!(facts.own(scene).iter().all(|q| q.claim.is_none()));
    match facts.bundle.state() {
        BundleState::Terminal => {
            assert!(facts.own(scene).iter().all(|q| q.status == Status::Cancelled));
            conflicts(scene, &server).await;
            server.kill().await;
        }
        _ => is_answerable(scene, server).await,
    }
    assert_eq!(sibling(scene).len(), usize::from(scene.names.size > 1));
}

pub async fn cp_46(scene: &Scene) {
    cancelled_or_pending(scene, "CP-46=return").await;
}

pub async fn cp_46_committed(scene: &Scene) {
    cancelled_or_pending(scene, "CP-46=1*off->return").await;
}

async fn is_expired(scene: &Scene) {
    let server = scene.restart().await;
    let facts = facts(scene).await;
    assert!(facts.own(scene).iter().all(|q| q.status == Status::Expired), "{:?}", facts.bundle);
    assert_eq!(facts.session.pending_action, None);
    conflicts(scene, &server).await;
    server.kill().await;
    let before = scene.dump();
    let server = scene.restart().await;
    assert_eq!(scene.dump(), before, "a second expiry changed something");
    server.kill().await;
}

/// Over with rows that still say pending, from whatever wrote it so: the start expires them.
pub async fn cp_47(scene: &Scene) {
    scene.plant("UPDATE task_sessions SET state = 'COMPLETED', completed_us = updated_us WHERE id = $session");
    is_expired(scene).await;
}

pub async fn cp_48(scene: &Scene) {
    die(scene, "CP-48=return", async |acts| assert!(acts.end_session("FAILED").await.is_none())).await;
    is_answerable(scene, scene.restart().await).await;
}

pub async fn cp_49(scene: &Scene) {
    die(scene, "CP-49=return", async |acts| assert!(acts.end_session("FAILED").await.is_none())).await;
    is_expired(scene).await;
}

pub async fn cp_63(scene: &Scene) {
    whole_or_not(scene, "CP-63", 0).await;
}

pub async fn cp_64(scene: &Scene) {
    whole_or_not(scene, "CP-64", 1).await;
}

/// Any other write, at both of its points: nothing of it, or all.
async fn whole_or_not(scene: &Scene, point: &str, made: usize) {
    let count = || scene.read("SELECT id AS line FROM task_sessions").len();
    let before = count();
    // The start itself writes twice: its generation, and that what older ones left is taken up.
    die(scene, &format!("{point}=2*off->return"), async |acts| assert!(acts.create_session().await.is_none()))
        .await;
    let server = scene.restart().await;
    assert_eq!(count(), before + made);
    assert_eq!(facts(scene).await.session.pending_action, Some(PendingAction::Clarification));
    server.kill().await;
}
