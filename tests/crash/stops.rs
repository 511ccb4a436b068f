//! CP-61: a server that is asked to stop while it is held at a point ends in order, and leaves what a kill would leave.
//! May import: its siblings, the crate.

use std::time::Duration;

use answerable::lifecycle::BundleState;
use serde_json::Value;

use super::after::{acts, facts};
use super::scene::Scene;

/// Held at a point, asked to stop: what is under way ends in order, or is taken up by the next start.
pub async fn cp_61(scene: &Scene) {
    for point in ["CP-09", "CP-26", "CP-27", "CP-28", "CP-29", "CP-30", "CP-39", "CP-31", "CP-33"] {
        let cell = Scene::copied(scene);
        let server = cell.armed(&format!("{point}=sleep(300)")).await;
        let acts = acts(&cell, &server);
        let stop = async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            server.terminate().await
        };
        let (answered, ended) = tokio::join!(acts.respond("answer"), stop);
        assert_eq!(ended.code, Some(0), "{point}: {ended:?}");
        let server = cell.restart().await;
        let state = facts(&cell).await;
        let is_told = answered.as_ref().is_some_and(|told: &Value| told["__typename"] == "ResponseAccepted");
        let is_open = !state.open().is_empty();
        assert!(!(is_told && is_open), "{point}: an acknowledged answer is gone");
        assert!(
            cell.dispatches() <= 1 && !(is_open && cell.dispatches() > 0),
            "{point}: {:?}",
            cell.agent_lines()
        );
        server.kill().await;
    }
}

/// The same while somebody waits.
pub async fn cp_61_live(scene: &Scene) {
    for point in ["CP-09", "CP-11", "CP-16", "CP-17", "CP-18", "CP-19"] {
        let cell = Scene::copied(scene);
        let server = cell.armed(&format!("{point}=sleep(300)")).await;
        let acts = acts(&cell, &server);
        let act = async {
            acts.until_live().await;
            let stop = async {
                tokio::time::sleep(Duration::from_millis(150)).await;
                server.terminate().await
            };
            tokio::join!(acts.respond("answer"), stop)
        };
        let (heard, (answered, ended)) = tokio::join!(acts.wait(20), act);
        assert_eq!(ended.code, Some(0), "{point}: {ended:?}");
        let server = cell.restart().await;
        let state = facts(&cell).await;
        let is_told = answered.as_ref().is_some_and(|told| told["__typename"] == "ResponseAccepted");
        let has_heard = heard.as_ref().is_some_and(|heard| heard["status"] == "ANSWERED");
        assert!(!((is_told || has_heard) && !state.open().is_empty()), "{point}: {answered:?} {heard:?}");
        // A waiter that a stop takes away may send its responder round the detached path (decisions 4).
        let may_be = usize::from(!has_heard && state.open().is_empty());
        assert!(cell.dispatches() <= may_be, "{point}: {:?}", cell.agent_lines());
        server.kill().await;
    }
}

/// The same for what others do: each is done whole or not at all, and the bundle is where that leaves it.
pub async fn cp_61_others(scene: &Scene) {
    for point in [
        "CP-03", "CP-04", "CP-05", "CP-12", "CP-22", "CP-23", "CP-41", "CP-42", "CP-44", "CP-45", "CP-46",
        "CP-48", "CP-49",
    ] {
        let cell = Scene::copied(scene);
        let server = cell.armed(&format!("{point}=sleep(300)")).await;
        let acts = acts(&cell, &server);
        let act = async {
            match point {
                "CP-03" | "CP-04" => drop(acts.wait(20).await),
                "CP-05" => drop(acts.detach().await),
                "CP-12" | "CP-22" | "CP-23" => drop(acts.skip("skip").await),
                "CP-41" | "CP-42" => drop(acts.start_turn().await),
                "CP-46" => drop(acts.cancel().await),
                "CP-48" | "CP-49" => drop(acts.end_session("FAILED").await),
                _ => {
                    let rows = cell
                        .read("SELECT id AS line FROM task_session_messages WHERE is_question ORDER BY id DESC");
                    drop(acts.delete_message(&rows[0]).await);
                }
            }
        };
        let stop = async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            server.terminate().await
        };
        let ((), ended) = tokio::join!(act, stop);
        assert_eq!(ended.code, Some(0), "{point}: {ended:?}");
        let server = cell.restart().await;
        // The one question of a small bundle may be gone with its row.
        if !self::acts(&cell, &server).state().await.is_empty() {
            let state = facts(&cell).await.bundle.state();
            assert!(
                !matches!(state, BundleState::DeliveryClaimed | BundleState::ActiveLive),
                "{point}: {state:?}"
            );
        }
        assert_eq!(cell.dispatches(), 0, "{point}");
        server.kill().await;
    }
}
