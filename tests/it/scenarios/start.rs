//! The start after a crash: what provably did not arrive is given back, what may have is kept, and what cannot be read
//! refuses the start. May import: the crate, the app, its siblings.

use std::sync::Arc;

use answerable::ids::{PendingId, WaiterId};
use answerable::lifecycle::{Certainty, Command};
use answerable::serve;
use serde_json::json;

use super::past::{Dead, Past};
use super::stage::*;
use crate::api::scene::*;

/// The recovery field that names the rows of a claim.
const IDS: &str = "prompt_dispatch_clarification_message_ids";

/// A row of that bundle was decided before, by an older version.
fn decided_before(dead: &Dead, pending: &PendingId) {
    let which =
        format!("pending_id = '{pending}' AND CAST(json_extract(metadata, '$.question_index') AS INTEGER) = 2");
    let response = json!({ "question_id": "q3", "custom_text": "long ago" });
    let keys = json!({ "status": "answered", "response": response });
    dead.home().set("task_session_messages", "metadata", &which, &keys);
}

/// Everything in turns and messages.
fn everything(dead: &Dead) -> Vec<String> {
    let lines =
        |table: &str| dead.home().lines(&format!("SELECT id || metadata AS line FROM {table} ORDER BY id"));
    [lines("task_session_turns"), lines("task_session_messages")].concat()
}

fn free(questions: &[&str]) -> serde_json::Value {
    questions.iter().map(|id| json!({ "questionId": id, "customText": "yes" })).collect()
}

#[tokio::test]
async fn a_reservation_without_an_attempt_is_deleted_and_exactly_its_rows_are_given_back() {
    let past = Past::begin().await;
    let id = past.asks(3, None).await;
    let dead = past.dies().await;
    decided_before(&dead, &id);
    let past = Past::again(dead).await;
    let successor = past.answers(&id, &["q1", "q2"]).await.unwrap();
    let dead = past.dies().await;
    let (session, turn) = (dead.session.clone(), dead.turn.clone());
    let app = dead.starts().await;
    assert_eq!((app.recovery().rolled_back, app.recovery().restored), (1, 1));
    let local = app.local();
    let shown = clarification(&local, id.as_str()).await;
    assert_eq!(shown["state"], "ACTIVE_DETACHED");
    let statuses: Vec<_> = shown["questions"].as_array().unwrap().iter().map(|q| q["status"].clone()).collect();
    assert_eq!(statuses, [json!("PENDING"), json!("PENDING"), json!("ANSWERED")]);
    assert_eq!(shown["questions"][2]["answer"]["customText"], "long ago", "the sibling is as it was");
    assert_eq!(turns(&local, &session).await, [turn]);
    assert!(
        local
            .ask_for("query($id: ID!) { node(id: $id) { id } }", json!({ "id": successor.as_str() }))
            .await
            .is_null()
    );
    let accepted = respond(&local, id.as_str(), "k", free(&["q1", "q2"])).await;
    assert_eq!(accepted["__typename"], "ResponseAccepted", "the same answer again: {accepted}");
    assert_eq!(app.executor.seen().len(), 1);
    app.finish().await;
}

#[tokio::test]
async fn an_attempt_without_an_acknowledgement_is_kept_as_the_current_turn_and_never_sent_again() {
    let past = Past::begin().await;
    let id = past.asks(2, None).await;
    let successor = past.answers(&id, &["q1", "q2"]).await.unwrap();
    past.does(Command::MarkAttempted(successor.clone())).await;
    let dead = past.dies().await;
    let session = dead.session.clone();
    let app = dead.starts().await;
    assert_eq!(app.recovery().kept, 1);
    let local = app.local();
    let now = current(&local, &session).await;
    assert_eq!(now["currentTurn"]["id"], successor.as_str());
    assert_eq!(now["currentTurn"]["dispatchOutcome"], "UNKNOWN");
    assert_eq!(clarification(&local, id.as_str()).await["state"], "TERMINAL");
    assert_eq!(respond(&local, id.as_str(), "k", free(&["q1", "q2"])).await["reason"], "TERMINAL");
    assert!(app.executor.seen().is_empty());
    app.finish().await;
}

#[tokio::test]
async fn every_spelling_of_the_attempt_marker_keeps_the_turn() {
    for spelling in [json!(true), json!("true"), json!("1"), json!(1)] {
        let past = Past::begin().await;
        let id = past.asks(1, None).await;
        let successor = past.answers(&id, &["q1"]).await.unwrap();
        let dead = past.dies().await;
        let keys = json!({ "prompt_dispatch_attempted": spelling, "prompt_dispatch_pending": spelling });
        dead.set_turn(&successor, &keys);
        let session = dead.session.clone();
        let app = dead.starts().await;
        let local = app.local();
        assert_eq!(current(&local, &session).await["currentTurn"]["id"], successor.as_str(), "{spelling}");
        assert_eq!(clarification(&local, id.as_str()).await["state"], "TERMINAL", "{spelling}");
        // The recovery fields are gone: the session takes the next question and its answer.
        let next = ask(&local, &session, json!([{ "prompt": "next?" }])).await;
        assert_eq!(respond(&local, &next, "k", free(&["q1"])).await["__typename"], "ResponseAccepted");
        app.finish().await;
    }
}

#[tokio::test]
async fn a_claim_that_reached_neither_a_waiter_nor_a_dispatch_is_given_back() {
    let past = Past::begin().await;
    let id = past.asks(2, Some("waiter")).await;
    assert_eq!(past.answers(&id, &["q1", "q2"]).await, None, "a waiter is to take it");
    let dead = past.dies().await;
    let app = dead.starts().await;
    assert_eq!(app.recovery().restored, 1);
    let local = app.local();
    assert_eq!(clarification(&local, id.as_str()).await["state"], "ACTIVE_DETACHED");
    let accepted = respond(&local, id.as_str(), "k", free(&["q1", "q2"])).await;
    assert_eq!(accepted["__typename"], "ResponseAccepted", "{accepted}");
    app.finish().await;
}

#[tokio::test]
async fn a_claim_that_a_newer_turn_or_the_sessions_end_overtook_is_retired_and_revives_nothing() {
    let past = Past::begin().await;
    let id = past.asks(1, Some("waiter")).await;
    past.answers(&id, &["q1"]).await;
    past.begins_a_turn().await;
    let dead = past.dies().await;
    let app = dead.starts().await;
    let local = app.local();
    assert_eq!(clarification(&local, id.as_str()).await["canRespond"], false);
    assert!(
        local.ask_for("{ pendingClarifications(first: 9) { edges { cursor } } }", json!({})).await["edges"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    app.finish().await;
}

#[tokio::test]
async fn a_confirmed_answer_is_final_after_a_crash_and_its_agent_reads_it() {
    let past = Past::begin().await;
    let id = past.asks(1, Some("waiter")).await;
    past.answers(&id, &["q1"]).await;
    let (pending_id, waiter) = (id.clone(), WaiterId::new("waiter"));
    past.does(Command::ConfirmDelivery { pending_id, waiter, watchdog: None }).await;
    let app = past.dies().await.starts().await;
    let local = app.local();
    let heard = local.ask_for(AWAIT, json!({ "id": id.as_str(), "s": 0 })).await;
    assert_eq!((&heard["status"], &heard["answers"][0]["text"]), (&json!("ANSWERED"), &json!("yes")));
    app.finish().await;
}

#[tokio::test]
async fn a_kept_turns_events_are_replayed_in_order_until_the_bus_takes_them() {
    let past = Past::begin().await;
    let id = past.asks(1, None).await;
    let successor = past.answers(&id, &["q1"]).await.unwrap();
    past.does(Command::MarkAttempted(successor.clone())).await;
    past.does(Command::Acknowledge(successor.clone(), Certainty::Accepted)).await;
    past.does(Command::CompleteTurn(successor.clone())).await;
    let dead = past.dies().await;
    for refused in [["TURN_STARTED"], ["TURN_COMPLETED"]] {
        let picky = Arc::new(Picky::default());
        picky.refuses(&refused);
        let error = dead.refuses(move |options| options.bus = picky).await;
        assert!(error.to_string().contains("its events stay in the outbox"), "{error}");
    }
    let picky = Arc::new(Picky::default());
    let bus = picky.clone();
    let app = dead.starts_with(move |options| options.bus = bus).await.unwrap();
    let told = picky.turns();
    assert_eq!(told.last(), Some(&format!("{successor} completed")), "{told:?}");
    let local = app.local();
    assert_eq!(clarification(&local, id.as_str()).await["outcome"], "ANSWERED");
    app.finish().await;
}

#[tokio::test]
async fn recovery_metadata_that_cannot_be_read_refuses_the_start_by_name_and_changes_nothing() {
    for malformed in [json!(["a", 5]), json!([""]), json!("text"), json!([])] {
        let past = Past::begin().await;
        let id = past.asks(2, None).await;
        let successor = past.answers(&id, &["q1", "q2"]).await.unwrap();
        let dead = past.dies().await;
        dead.set_turn(&successor, &json!({ IDS: malformed }));
        let before = everything(&dead);
        for _ in 0..2 {
            let error = dead.refuses(|_| {}).await;
            assert!(matches!(error, serve::Error::Recovery(_)), "{malformed}: {error}");
            assert!(error.to_string().contains(successor.as_str()), "{malformed}: {error}");
        }
        assert_eq!(everything(&dead), before, "{malformed}");
    }
}

#[tokio::test]
async fn a_start_that_cannot_recover_opens_no_port() {
    let past = Past::begin().await;
    let id = past.asks(1, None).await;
    let successor = past.answers(&id, &["q1"]).await.unwrap();
    let dead = past.dies().await;
    dead.set_turn(&successor, &json!({ IDS: 5 }));
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = dead.refuses(|options| options.listen = port).await;
    assert!(matches!(error, serve::Error::Recovery(_)), "{error}");
    assert!(std::net::TcpStream::connect(port).is_err(), "nobody listens");
    let rows =
        dead.home().lines(&format!("SELECT id AS line FROM task_session_messages WHERE pending_id = '{id}'"));
    dead.set_turn(&successor, &json!({ IDS: rows }));
    let app = dead.starts_with(|options| options.listen = port).await.unwrap();
    assert_eq!(clarification(&app.local(), id.as_str()).await["state"], "ACTIVE_DETACHED", "repaired, it goes on");
    app.finish().await;
}
