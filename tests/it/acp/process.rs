//! An agent's process: what it gets, what it may write, when it ends, and what its server's death leaves.
//! May import: the crate, the kill tests' server, the stage.

use std::collections::BTreeSet;
use std::time::Duration;

use answerable::dispatch::Room;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::api::scene::{CLARIFICATION, CREATE_SESSION, CREATE_TASK, RESPOND, SEND_PROMPT, SET_STATE};
use crate::home::Home;
use crate::kill::server::{Caller, Server};

use super::stage::{NAME, Stage, eventually, gone, peer};

#[tokio::test]
async fn an_agent_gets_the_variables_that_are_named_and_no_other() {
    let stage = Stage::prompted(&[("OWN_KEY", "1")], "hello", |_| {}).await;
    stage.ended("COMPLETED").await;
    let start = stage.journal().of("start")[0].clone();
    let names: BTreeSet<_> = start["env"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(["OWN_KEY", "PATH", "PEER_JOURNAL"]));
    stage.app.finish().await;
}

#[tokio::test]
async fn a_line_without_end_ends_the_agent_and_not_the_server() {
    let stage = Stage::prompted(&[], "do:twice", |_| {}).await;
    stage.ended("COMPLETED").await;
    let prompted = stage.prompt("next", "do:long").await;
    assert_eq!(prompted["__typename"], "PromptFailed", "{prompted}");
    gone(&stage.journal().of("start")[0]["pid"]).await;
    stage.ended("CANCELLED").await;
    assert_eq!(stage.prompt("again", "go on").await["__typename"], "PromptAccepted");
    stage.ended("COMPLETED").await;
    stage.app.finish().await;
}

#[tokio::test]
async fn what_an_agent_says_is_kept_up_to_its_bounds_and_the_cut_is_said_once() {
    let room = Room { message_chars_max: 100, turn_chars_max: 1_000 };
    let stage = Stage::prompted(&[], "do:chatter", |options| options.acp.room = room).await;
    stage.ended("COMPLETED").await;
    let said: Vec<_> = stage.said("agent").await.iter().map(String::len).collect();
    assert!(said.len() > 1 && said.iter().all(|length| *length <= 100), "{said:?}");
    assert!(said.iter().sum::<usize>() <= 1_000, "{said:?}");
    assert_eq!(stage.said("system").await, ["The agent said more than 1000 characters; the rest is left out."]);
    stage.app.finish().await;
}

#[tokio::test]
async fn what_an_agent_writes_on_stderr_holds_nothing_up() {
    let stage = Stage::start(&[], |_| {}).await;
    stage.cancel().await;
    assert_eq!(stage.prompt("first", "do:flood").await["__typename"], "PromptAccepted");
    stage.ended("COMPLETED").await;
    assert_eq!(stage.said("agent").await, ["flooded"]);
    stage.app.finish().await;
}

#[tokio::test]
async fn what_an_agent_started_ends_with_its_session() {
    let stage = Stage::prompted(&[], "do:brood", |_| {}).await;
    stage.ended("COMPLETED").await;
    let (agent, child) =
        (stage.journal().of("start")[0]["pid"].clone(), stage.journal().of("child")[0]["child"].clone());
    stage.local.ask_for(SET_STATE, json!({ "id": stage.session, "state": "CANCELLED" })).await;
    gone(&agent).await;
    gone(&child).await;
    stage.app.finish().await;
}

#[tokio::test]
async fn an_agent_ends_when_it_is_idle_or_its_server_stops_and_its_conversation_goes_on() {
    let stage = Stage::prompted(&[("PEER_CAN", "load")], "do:brood", |options| {
        options.acp.idle = Duration::from_millis(200);
    })
    .await;
    gone(&stage.journal().until("child", 1).await[0]["child"]).await;
    let stage = Box::pin(stage.restart()).await;
    assert_eq!(stage.prompt("work", "do:work").await["__typename"], "PromptAccepted");
    let stage = Box::pin(stage.restart()).await;
    gone(&stage.journal().of("start")[1]["pid"]).await;
    assert_eq!(stage.look().await["currentTurn"]["end"], "CANCELLED");
    assert_eq!(stage.prompt("next", "go on").await["__typename"], "PromptAccepted");
    let begun = stage.journal().of("new");
    let loaded = stage.journal().of("load");
    assert!(begun.len() == 1 && loaded.len() == 2, "{begun:?} {loaded:?}");
    assert!(loaded.iter().all(|load| load["sessionId"] == begun[0]["sessionId"]));
    stage.ended("COMPLETED").await;
    stage.app.finish().await;
}

async fn call(server: &Caller, query: &str, variables: Value) -> Value {
    let data = server.call(query, variables).await.unwrap();
    data.as_object().unwrap().values().next().unwrap().clone()
}

/// The server's settings with the agent in them, as a file.
fn settings(dir: &TempDir, env: &[(&str, &str)]) -> (String, super::stage::Journal) {
    let (agent, journal) = peer(dir.path(), env);
    let env: Vec<_> = agent.env.iter().map(|(name, value)| format!("{name} = {:?}", value.expose())).collect();
    let text = format!(
        "[executors.{NAME}]\nkind = 'acp'\ncommand = 'node'\nargs = {:?}\ncwd = {:?}\nenv_inherit = []\nenv = {{ {} }}\n",
        agent.args,
        agent.cwd,
        env.join(", ")
    );
    let path = dir.path().join("settings.toml");
    std::fs::write(&path, text).unwrap();
    (path.display().to_string(), journal)
}

/// A session whose agent took that prompt, and what was said of that.
async fn begin(local: &Caller, text: &str) -> (Value, Value) {
    let task = call(local, CREATE_TASK, json!({ "input": { "title": "t" } })).await["taskId"].clone();
    let input = json!({ "input": { "taskId": task, "executor": NAME } });
    let session = call(local, CREATE_SESSION, input).await["sessionId"].clone();
    let input = json!({ "input": { "sessionId": session, "text": text, "clientKey": "p" } });
    let prompted = call(local, SEND_PROMPT, input).await;
    assert_eq!(prompted["__typename"], "PromptAccepted", "{prompted}");
    (session, prompted)
}

/// Its input is closed and it takes no notice; what it started is of its group.
#[tokio::test]
async fn kill_9_of_the_server_ends_an_agent_that_would_outlive_it_with_all_that_it_started() {
    let dir = TempDir::new().unwrap();
    let (config, journal) = settings(&dir, &[("PEER_START", "deaf")]);
    let home = Home::new();
    let server = Server::start_with(&home.url(), &["--config", &config]).await;
    begin(&server.caller(), "do:brood").await;
    let child = journal.until("child", 1).await[0]["child"].clone();
    server.kill().await;
    gone(&journal.of("start")[0]["pid"]).await;
    gone(&child).await;
}

/// The turn has nobody behind it any more: it stays current, what it asked is answered, prompts are admitted.
#[tokio::test]
async fn kill_9_of_the_server_leaves_the_question_answerable_and_the_session_open() {
    let dir = TempDir::new().unwrap();
    let (config, journal) = settings(&dir, &[("PEER_CAN", "load")]);
    let home = Home::new();
    let server = Server::start_with(&home.url(), &["--config", &config]).await;
    let local = server.caller();
    let (session, prompted) = begin(&local, "do:ask").await;
    let active = "query($id: ID!) { session(id: $id) { state currentTurn { id end }
      activeClarification { pendingId state } } }";
    let seen = eventually("a question", async || {
        Some(call(&local, active, json!({ "id": session })).await)
            .filter(|seen| seen["activeClarification"]["state"] == "ACTIVE_LIVE")
    })
    .await;
    let pending = seen["activeClarification"]["pendingId"].clone();
    server.kill().await;
    gone(&journal.of("start")[0]["pid"]).await;

    let server = Server::start_with(&home.url(), &["--config", &config]).await;
    let local = server.caller();
    let seen = call(&local, active, json!({ "id": session })).await;
    assert_eq!(seen["currentTurn"], json!({ "id": prompted["turnId"], "end": "CANCELLED" }));
    assert_eq!(
        (&seen["state"], &seen["activeClarification"]["state"]),
        (&json!("WAITING_FOR_INPUT"), &json!("ACTIVE_DETACHED"))
    );
    let answers = json!([{ "questionId": "q1", "optionIds": ["q1_opt2"] }]);
    let input = json!({ "input": { "pendingId": pending, "clientKey": "k", "answers": answers } });
    let responded = call(&local, RESPOND, input).await;
    assert_eq!(responded["__typename"], "ResponseAccepted", "{responded}");
    let prompts = journal.of("prompt");
    assert!(prompts.len() == 2 && prompts[1]["text"].as_str().unwrap().contains("Selected: green"), "{prompts:?}");
    assert_eq!(journal.of("load")[0]["sessionId"], journal.of("new")[0]["sessionId"]);
    assert_eq!(call(&local, CLARIFICATION, json!({ "id": pending })).await["outcome"], "ANSWERED");
    server.stop().await;
}
