//! A response on its way: taken once, given back where it provably did not arrive, final else.
//! May import: the crate, the app, its siblings.

use std::sync::Arc;
use std::time::Duration;

use answerable::access::Viewer;
use answerable::dispatch::{Outcome, Revocation, Script};
use answerable::ids::PendingId;
use answerable::lifecycle::OutcomeStatus;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::stage::*;
use crate::api::scene::*;
use crate::app::{App, Caller, EXECUTOR};

fn responding(caller: &Caller, id: &str) -> JoinHandle<Value> {
    let (caller, id) = (caller.clone(), id.to_owned());
    tokio::spawn(async move { respond(&caller, &id, "k", answers()).await })
}

#[tokio::test]
async fn an_answer_that_is_not_accepted_can_be_sent_again_and_arrives_once() {
    let (app, gate) = gated().await;
    let local = app.local();
    let scene = scene(&local, Some(GATE)).await;
    let id = ask(&local, &scene.session, questions()).await;
    gate.refuses();
    let failed = respond(&local, &id, "k", answers()).await;
    assert_eq!((&failed["retryable"], &failed["code"]), (&json!(true), &json!("REJECTED")), "{failed}");
    assert_eq!(pending(&local, &scene).await, only(&id));
    assert_eq!(turns(&local, &scene.session).await, [scene.turn.as_str()], "no turn is left of it");
    gate.answers(Outcome::Accepted);
    let accepted = respond(&local, &id, "k", answers()).await;
    assert_eq!(accepted["__typename"], "ResponseAccepted", "{accepted}");
    let dispatched = gate.called(2).await;
    assert_eq!(turns(&local, &scene.session).await, [scene.turn.clone(), dispatched.turn_id.as_str().into()]);
    assert_eq!(gate.count(), 2, "one refused, one accepted");
    app.finish().await;
}

#[tokio::test]
async fn an_accepted_answer_whose_turn_cannot_be_announced_stays_final_and_is_announced_by_the_next_start() {
    let (app, picky) = picky_with(|options| {
        options.limits.publish = Duration::from_millis(300);
        options.limits.hand_over = Duration::from_millis(300);
    })
    .await;
    let local = app.local();
    let scene = scene(&local, Some(EXECUTOR)).await;
    let id = ask(&local, &scene.session, questions()).await;
    picky.refuses(&["TURN_STARTED"]);
    let failed = respond(&local, &id, "k", answers()).await;
    assert_eq!((&failed["retryable"], &failed["code"]), (&json!(false), &json!("PUBLICATION_FAILED")), "{failed}");
    let again = respond(&local, &id, "k", answers()).await;
    assert_eq!((&again["retryable"], &again["code"]), (&failed["retryable"], &failed["code"]), "its own outcome");
    assert_eq!(respond(&local, &id, "another", answers()).await["reason"], "DELIVERY_CLAIMED");
    assert_eq!(app.executor.seen().len(), 1, "nothing is sent again");
    let successor = app.executor.seen()[0].turn_id.to_string();
    let again = Arc::new(Picky::default());
    let bus = again.clone();
    let app = app.restart(move |options| options.bus = bus).await;
    assert_eq!(again.turns().first(), Some(&format!("{successor} started")));
    let local = app.local();
    assert_eq!(clarification(&local, &id).await["outcome"], "ANSWERED");
    assert_eq!(current(&local, &scene.session).await["currentTurn"]["id"], successor.as_str());
    assert!(app.executor.seen().is_empty());
    app.finish().await;
}

#[tokio::test]
async fn a_turn_that_cannot_be_announced_yet_is_settled_when_the_bus_takes_it() {
    let (app, picky) = picky_with(|options| {
        options.limits.publish = Duration::from_millis(300);
        options.pace.period = Duration::from_millis(50);
    })
    .await;
    let local = app.local();
    let scene = scene(&local, Some(EXECUTOR)).await;
    let id = ask(&local, &scene.session, questions()).await;
    picky.refuses(&["TURN_STARTED"]);
    assert_eq!(respond(&local, &id, "k", answers()).await["code"], "PUBLICATION_FAILED");
    picky.refuses(&[]);
    until(&local, &id, "TERMINAL").await;
    let next = ask(&local, &scene.session, json!([{ "prompt": "next?" }])).await;
    assert_eq!(skip(&local, &next, "k", "").await["__typename"], "ResponseAccepted", "the session goes on");
    app.finish().await;
}

#[tokio::test]
async fn an_accepted_answer_whose_agent_fails_afterwards_is_not_reopened() {
    let (app, gate) = gated().await;
    let local = app.local();
    let scene = scene(&local, Some(GATE)).await;
    let id = ask(&local, &scene.session, questions()).await;
    let responder = responding(&local, &id);
    gate.called(1).await;
    // The person's connection is lost in the middle; the answer goes on without it.
    responder.abort();
    gate.answers(Outcome::Accepted);
    until(&local, &id, "TERMINAL").await;
    let failed = local.ask_for(SET_STATE, json!({ "id": scene.session, "state": "FAILED" })).await;
    assert_eq!(failed["session"]["state"], "FAILED");
    let shown = clarification(&local, &id).await;
    assert_eq!((&shown["state"], &shown["outcome"]), (&json!("TERMINAL"), &json!("ANSWERED")));
    assert_eq!(
        current(&local, &scene.session).await["currentTurn"]["end"],
        "SESSION_ENDED",
        "its turn is cleaned up"
    );
    assert_eq!(respond(&local, &id, "another", answers()).await["reason"], "TERMINAL");
    assert_eq!(gate.count(), 1);
    app.finish().await;
}

#[tokio::test]
async fn an_answer_is_not_returned_before_its_confirmation_is_durable() {
    let app = App::start_with(|options| crate::app::set_busy_timeout(options, 20_000)).await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let id = ask(&local, &scene.session, questions()).await;
    let waiting = app.authority().await_answer(&Viewer::local(), &PendingId::new(&id)).await.unwrap().waiting;
    let responder = responding(&local, &id);
    until(&local, &id, "DELIVERY_CLAIMED").await;
    let held = app.home().hold();
    let waiter = tokio::spawn(waiting.unwrap().outcome(Duration::from_secs(60)));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiter.is_finished() && !responder.is_finished(), "neither side knows an answer that is not durable");
    assert_eq!(clarification(&local, &id).await["state"], "DELIVERY_CLAIMED");
    drop(held);
    let (outcome, receipt) = waiter.await.unwrap().unwrap();
    receipt.received();
    assert_eq!(outcome.status, OutcomeStatus::Answered);
    assert_eq!(responder.await.unwrap()["__typename"], "ResponseAccepted");
    app.finish().await;
}

#[tokio::test]
async fn a_confirmation_that_outlives_the_responders_wait_wins_or_loses_whole() {
    let app = App::start_with(|options| {
        crate::app::set_busy_timeout(options, 20_000);
        options.limits.hand_over = Duration::from_millis(400);
    })
    .await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let id = ask(&local, &scene.session, questions()).await;
    let waiting = app.authority().await_answer(&Viewer::local(), &PendingId::new(&id)).await.unwrap().waiting;
    let responder = responding(&local, &id);
    until(&local, &id, "DELIVERY_CLAIMED").await;
    let held = app.home().hold();
    let waiter = tokio::spawn(waiting.unwrap().outcome(Duration::from_secs(60)));
    // Longer than the responder waits: now both want to write.
    tokio::time::sleep(Duration::from_millis(800)).await;
    drop(held);
    let (outcome, receipt) = waiter.await.unwrap().unwrap();
    receipt.received();
    let told = responder.await.unwrap();
    let state = clarification(&local, &id).await;
    if outcome.status == OutcomeStatus::Answered {
        assert_eq!(told["__typename"], "ResponseAccepted", "{told}");
        assert_eq!(state["state"], "TERMINAL");
    } else {
        assert_eq!((outcome.status, &told["retryable"]), (OutcomeStatus::Pending, &json!(true)), "{told}");
        assert_eq!(state["canRespond"], true);
    }
    app.finish().await;
}

#[tokio::test]
async fn a_response_that_its_waiter_never_takes_is_given_back() {
    let app = App::start_with(|options| options.limits.hand_over = Duration::from_millis(300)).await;
    let local = app.local();
    let scene = scene(&local, Some(EXECUTOR)).await;
    let id = ask(&local, &scene.session, questions()).await;
    let waiting = app.authority().await_answer(&Viewer::local(), &PendingId::new(&id)).await.unwrap().waiting;
    let failed = respond(&local, &id, "k", answers()).await;
    assert_eq!((&failed["retryable"], &failed["code"]), (&json!(true), &json!("NOT_TAKEN")), "{failed}");
    assert_eq!(clarification(&local, &id).await["state"], "ACTIVE_LIVE");
    drop(waiting);
    until(&local, &id, "ACTIVE_DETACHED").await;
    assert!(app.executor.seen().is_empty());
    app.finish().await;
}

#[tokio::test]
async fn a_withdrawal_before_the_claim_is_a_conflict_and_after_it_preempts_nothing() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let cancel = "mutation($id: ID!) { cancelClarification(pendingId: $id) { __typename
        ... on Refused { refusal } } }";
    let withdrawn = ask(&local, &scene.session, questions()).await;
    let waiting = wait(&local, &withdrawn).await;
    local.ask_for(cancel, json!({ "id": withdrawn })).await;
    assert_eq!(respond(&local, &withdrawn, "k", answers()).await["reason"], "TERMINAL", "at once");
    assert_eq!(waiting.await.unwrap()["status"], "CANCELLED");

    let id = ask(&local, &scene.session, questions()).await;
    let waiting = app.authority().await_answer(&Viewer::local(), &PendingId::new(&id)).await.unwrap().waiting;
    let responder = responding(&local, &id);
    until(&local, &id, "DELIVERY_CLAIMED").await;
    assert_eq!(local.ask_for(cancel, json!({ "id": id })).await["refusal"], "DELIVERY_CLAIMED");
    let (outcome, receipt) = waiting.unwrap().outcome(Duration::from_secs(60)).await.unwrap();
    receipt.received();
    assert_eq!(outcome.status, OutcomeStatus::Answered);
    assert_eq!(responder.await.unwrap()["__typename"], "ResponseAccepted");
    app.finish().await;
}

#[tokio::test]
async fn a_waiter_that_is_lost_before_the_claim_sends_the_answer_along_the_detached_path() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, Some(EXECUTOR)).await;
    let id = ask(&local, &scene.session, questions()).await;
    let waiting = app.authority().await_answer(&Viewer::local(), &PendingId::new(&id)).await.unwrap().waiting;
    let responder = responding(&local, &id);
    until(&local, &id, "DELIVERY_CLAIMED").await;
    drop(waiting);
    let told = responder.await.unwrap();
    assert_eq!(told["__typename"], "ResponseAccepted", "{told}");
    assert_eq!(told["dispatchedTurn"]["id"], app.executor.seen()[0].turn_id.as_str());
    app.finish().await;
}

#[tokio::test]
async fn an_agent_that_does_not_acknowledge_in_time_gives_the_question_back_where_that_is_proven() {
    let app = App::start_with(|options| options.limits.dispatch = Duration::from_millis(200)).await;
    let local = app.local();
    let scene = scene(&local, Some(EXECUTOR)).await;
    let id = ask(&local, &scene.session, questions()).await;
    app.executor.follow([Script::Hang(Revocation::Revoked)]);
    assert_eq!(respond(&local, &id, "k", answers()).await["retryable"], true);
    assert_eq!(pending(&local, &scene).await, only(&id));
    app.executor.follow([Script::Hang(Revocation::Unknown)]);
    let failed = respond(&local, &id, "k", answers()).await;
    assert_eq!((&failed["retryable"], &failed["code"]), (&json!(false), &json!("UNKNOWN")), "{failed}");
    assert_eq!(clarification(&local, &id).await["state"], "TERMINAL");
    app.finish().await;
}

#[tokio::test]
async fn a_restored_answer_that_cannot_be_announced_is_still_told_to_be_safe_to_retry() {
    let gate = Arc::new(Gate::default());
    let own = gate.clone();
    let (app, picky) = picky_with(move |options| {
        options.executors = options.executors.clone().with(GATE, own);
        options.pace.period = Duration::from_millis(50);
    })
    .await;
    let local = app.local();
    let scene = scene(&local, Some(GATE)).await;
    let id = ask(&local, &scene.session, questions()).await;
    picky.refuses(&["MESSAGE_UPDATED", "PROJECTION_CHANGED", "SESSION_STATE_CHANGED"]);
    gate.refuses();
    let failed = respond(&local, &id, "k", answers()).await;
    assert_eq!(
        (&failed["retryable"], &failed["clarification"]["state"]),
        (&json!(true), &json!("ACTIVE_DETACHED"))
    );
    assert_eq!(pending(&local, &scene).await, only(&id), "the rows are what counts");
    picky.refuses(&[]);
    gate.answers(Outcome::Accepted);
    assert_eq!(respond(&local, &id, "k", answers()).await["__typename"], "ResponseAccepted");
    app.finish().await;
}
