//! What an agent does in its turn: it asks, wants permission, is stopped, dies.
//! May import: the crate, the app, the scene, the stage.

use std::time::Duration;

use answerable::access::Role;
use serde_json::{Value, json};

use crate::api::scene::{respond, start_turn, until};

use super::stage::{Stage, gone};

fn green() -> Value {
    json!([{ "questionId": "q1", "optionIds": ["q1_opt2"] }])
}

async fn asks_and_hears(mcp: &str) {
    let stage = Stage::prompted(&[("PEER_MCP", mcp)], "do:ask", |_| {}).await;
    let pending = stage.asked().await;
    until(&stage.local, &pending, "ACTIVE_LIVE").await;
    let responded = respond(&stage.local, &pending, "k", green()).await;
    assert_eq!(
        (&responded["__typename"], &responded["dispatchedTurn"]),
        (&json!("ResponseAccepted"), &Value::Null)
    );
    let answered = stage.journal().until("answered", 1).await[0]["result"].clone();
    assert_eq!(
        (&answered["status"], &answered["answers"]["q1"]["selected"]),
        (&json!("answered"), &json!(["green"]))
    );
    stage.ended("COMPLETED").await;
    assert_eq!(stage.said("agent").await.last().unwrap(), "answered green");
    assert_eq!(stage.prompts(), 1);
    stage.app.finish().await;
}

#[tokio::test]
async fn an_agent_asks_by_the_endpoint_that_it_was_handed_and_hears_in_the_same_turn() {
    asks_and_hears("http").await;
}

#[tokio::test]
async fn an_agent_that_reaches_no_endpoint_over_http_asks_by_the_bridge() {
    asks_and_hears("stdio").await;
}

#[tokio::test]
async fn the_question_of_an_agent_that_died_is_answered_to_the_next_one_in_the_same_conversation() {
    let stage = Stage::prompted(&[("PEER_CAN", "resume")], "do:ask", |_| {}).await;
    let pending = stage.asked().await;
    until(&stage.local, &pending, "ACTIVE_LIVE").await;
    let start = stage.journal().of("start")[0]["pid"].to_string();
    assert!(std::process::Command::new("kill").args(["-KILL", &start]).status().unwrap().success());
    until(&stage.local, &pending, "ACTIVE_DETACHED").await;
    let seen = stage.ended("CANCELLED").await;
    assert_eq!(seen["state"], "WAITING_FOR_INPUT");
    let responded = respond(&stage.local, &pending, "k", green()).await;
    assert_eq!(responded["__typename"], "ResponseAccepted", "{responded}");
    assert!(responded["dispatchedTurn"]["id"].is_string(), "{responded}");
    assert_eq!(stage.journal().of("resume")[0]["sessionId"], stage.journal().of("new")[0]["sessionId"]);
    let prompts = stage.journal().of("prompt");
    assert!(prompts.len() == 2 && prompts[1]["text"].as_str().unwrap().contains("Selected: green"), "{prompts:?}");
    stage.ended("COMPLETED").await;
    stage.app.finish().await;
}

#[tokio::test]
async fn a_person_decides_what_an_agent_wants_permission_for() {
    for (decision, chosen) in [("APPROVED", "yes"), ("DENIED", "no")] {
        let stage = Stage::prompted(&[], "do:permit", |_| {}).await;
        let permission = stage.wanted().await;
        assert_eq!(stage.look().await["projection"]["action"], "PERMISSION");
        let person = stage.app.caller(Role::Person, None, None).await;
        assert_eq!(stage.decide(&person, &permission, decision).await, "PermissionPayload");
        let heard = stage.journal().until("permission", 1).await[0]["outcome"].clone();
        assert_eq!(heard, json!({ "outcome": "selected", "optionId": chosen }));
        let session = json!({ "id": stage.session });
        let seen = super::stage::eventually("clean", async || {
            let query = "query($id: ID!) { session(id: $id) { projection { action } currentTurn { end } } }";
            let seen = person.ask_for(query, session.clone()).await;
            (seen["currentTurn"]["end"] == "COMPLETED").then_some(seen)
        });
        assert_eq!(seen.await["projection"]["action"], Value::Null);
        assert_ne!(stage.decide(&person, &permission, decision).await, "PermissionPayload");
        stage.app.finish().await;
    }
}

#[tokio::test]
async fn a_permission_ends_with_the_turn_that_wanted_it() {
    let stage = Stage::prompted(&[], "do:permit", |_| {}).await;
    stage.wanted().await;
    stage.cancel().await;
    assert_eq!(stage.journal().until("permission", 1).await[0]["outcome"], json!({ "outcome": "cancelled" }));
    super::stage::eventually("clean", async || stage.look().await["projection"]["action"].is_null().then_some(()))
        .await;
    stage.app.finish().await;
}

#[tokio::test]
async fn a_cancelled_turn_stops_its_agent_which_takes_the_next_prompt() {
    let stage = Stage::prompted(&[], "do:work", |_| {}).await;
    stage.cancel().await;
    let done = stage.journal().until("done", 1).await;
    assert_eq!(done[0]["stopReason"], "cancelled");
    assert_eq!(stage.look().await["currentTurn"]["end"], "CANCELLED");
    assert_eq!(stage.prompt("next", "go on").await["__typename"], "PromptAccepted");
    assert_eq!((stage.prompts(), stage.journal().of("start").len()), (2, 1));
    stage.ended("COMPLETED").await;
    stage.app.finish().await;
}

/// Decisions 13: the old turn is interrupted, also where its agent is not the one that is prompted next.
#[tokio::test]
async fn a_newer_turn_of_a_runtime_stops_the_agent_of_the_old_one() {
    let stage = Stage::prompted(&[], "do:ask", |_| {}).await;
    let pending = stage.asked().await;
    until(&stage.local, &pending, "ACTIVE_LIVE").await;
    let newer = start_turn(&stage.local, &stage.session).await;
    stage.journal().until("cancel", 1).await;
    assert_eq!(stage.state(&pending).await, "SUPERSEDED_HISTORY");
    let seen = stage.look().await;
    assert_eq!((&seen["currentTurn"]["id"], &seen["currentTurn"]["end"]), (&json!(newer), &Value::Null));
    stage.app.finish().await;
}

/// A newer prompt of a person goes to the same agent, which is stopped before it gets it.
#[tokio::test]
async fn a_newer_prompt_stops_the_agent_that_asks_before_it_is_given() {
    let stage = Stage::prompted(&[], "do:ask", |_| {}).await;
    let pending = stage.asked().await;
    until(&stage.local, &pending, "ACTIVE_LIVE").await;
    assert_eq!(stage.prompt("next", "go on").await["__typename"], "PromptAccepted");
    assert_eq!((stage.journal().of("cancel").len(), stage.prompts()), (1, 2));
    assert_eq!(stage.state(&pending).await, "SUPERSEDED_HISTORY");
    stage.ended("COMPLETED").await;
    stage.app.finish().await;
}

#[tokio::test]
async fn an_agent_that_does_not_stop_is_ended() {
    let stage =
        Stage::prompted(&[], "do:stubborn", |options| options.acp.cancel = Duration::from_millis(200)).await;
    stage.cancel().await;
    gone(&stage.journal().of("start")[0]["pid"]).await;
    assert_eq!(stage.prompt("next", "go on").await["__typename"], "PromptAccepted");
    assert_eq!(stage.journal().of("start").len(), 2);
    stage.ended("COMPLETED").await;
    stage.app.finish().await;
}

#[tokio::test]
async fn an_agent_that_dies_at_work_ends_its_turn_and_says_so() {
    let stage = Stage::prompted(&[("PEER_CAN", "load")], "do:crash", |_| {}).await;
    stage.ended("CANCELLED").await;
    super::stage::eventually("a note", async || {
        stage.said("system").await.iter().any(|note| note.contains("The agent is gone")).then_some(())
    })
    .await;
    assert!(stage.said("agent").await.contains(&"half a ".to_owned()));
    assert_eq!(stage.prompt("next", "go on").await["__typename"], "PromptAccepted");
    assert_eq!(stage.journal().of("load").len(), 1);
    stage.ended("COMPLETED").await;
    stage.app.finish().await;
}
