//! Two real servers on one PostgreSQL database: what is given at one is had at the other, and what one leaves behind
//! the other takes up. May import: the crate, its siblings.

mod kills;
mod stream;

use std::time::Duration;

use serde_json::{Value, json};

use crate::kill::server::{Caller, Server};
use crate::kill::{ASK, AWAIT, RESPOND, session};
use crate::outage::until;
use crate::postgres::{self, Database};

use stream::Stream;

/// A server that said nothing for so long is gone.
const LAPSE_MS: u64 = 1_500;
const STATE: &str = "query($id: ID!) { clarification(pendingId: $id) { state } }";
/// Looking without a hint is put off for so long that only hints are left.
const NEVER_MS: &str = "600000";

async fn start(database: &Database, name: &str, more: &[&str]) -> Server {
    start_at(&database.url(), name, more).await
}

async fn start_at(database: &str, name: &str, more: &[&str]) -> Server {
    let lapse = LAPSE_MS.to_string();
    let own = ["--server-name", name, "--server-heartbeat-ms", "100", "--server-lapse-ms", &lapse];
    Server::start_with(database, &[&own, more].concat()).await
}

fn asking(session: &str, key: &str) -> Value {
    json!({ "session": session, "key": key, "questions": [{ "prompt": "one?" }] })
}

fn is_asked(data: &Value) -> bool {
    data["askClarification"]["pendingId"].is_string()
}

async fn ask(server: &Caller, session: &str, key: &str) -> String {
    let asked = server.call(ASK, asking(session, key)).await.unwrap();
    asked["askClarification"]["pendingId"].as_str().unwrap().to_owned()
}

fn answer(id: &str, text: &str) -> Value {
    json!({ "input": { "pendingId": id, "clientKey": text, "answers": [{ "questionId": "q1", "customText": text }] } })
}

async fn state(server: &Caller, id: &str) -> String {
    let read = server.call(STATE, json!({ "id": id })).await.unwrap();
    read["clarification"]["state"].as_str().unwrap().to_owned()
}

/// Until the bundle stands so.
async fn stands(server: &Caller, id: &str, expected: &str) {
    until(server, STATE, &json!({ "id": id }), |data| data["clarification"]["state"] == expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_waits_at_one_server_hears_the_answer_given_at_another_by_a_hint_alone() {
    let database = Database::new();
    let never = ["--wait-poll-ms", NEVER_MS, "--relay-period-ms", NEVER_MS];
    let (one, two) = (start(&database, "one", &never).await, start(&database, "two", &never).await);
    let (one_call, two_call) = (one.caller(), two.caller());
    let session = session(&one_call).await;
    for round in 0..20 {
        let (near, far) = if round % 2 == 0 { (&one_call, &two_call) } else { (&two_call, &one_call) };
        let id = ask(near, &session, &format!("ask {round}")).await;
        let (waits, at) = (near.clone(), json!({ "id": id }));
        let agent = tokio::spawn(async move { waits.call(AWAIT, at).await.unwrap() });
        stands(far, &id, "ACTIVE_LIVE").await;
        let text = format!("answer {round}");
        let responded = far.call(RESPOND, answer(&id, &text)).await.unwrap();
        assert_eq!(responded["respond"]["__typename"], "ResponseAccepted");
        let heard = agent.await.unwrap();
        assert_eq!(heard["awaitClarification"]["answers"][0]["text"], text.as_str());
    }
    one.stop().await;
    two.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_at_one_server_hears_in_order_all_that_happens_at_both() {
    let database = Database::new();
    let (one, two) = (start(&database, "one", &[]).await, start(&database, "two", &[]).await);
    let mut streams = [Stream::open(&one.caller(), None).await, Stream::open(&two.caller(), None).await];
    for stream in &mut streams {
        assert_eq!(stream.next().await["__typename"], "TaskSnapshot");
    }
    let create = "mutation($title: String!) { createTask(input: { title: $title }) { __typename } }";
    for number in 0..30 {
        let at = if number % 3 == 0 { one.caller() } else { two.caller() };
        at.call(create, json!({ "title": number.to_string() })).await.unwrap();
    }
    let mut told = Vec::new();
    for stream in &mut streams {
        let mut titles = Vec::new();
        while titles.len() < 30 {
            titles.push(stream.next().await["task"]["title"].as_str().unwrap().parse::<u32>().unwrap());
        }
        told.push(titles);
    }
    assert_eq!(told[0], (0..30).collect::<Vec<_>>());
    assert_eq!(told[1], told[0]);
    one.stop().await;
    two.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_server_waited_for_is_detached_by_another_and_can_be_answered_there() {
    let database = Database::new();
    let (one, two) = (start(&database, "one", &[]).await, start(&database, "two", &[]).await);
    let survivor = two.caller();
    let session = session(&survivor).await;
    let id = ask(&one.caller(), &session, "a").await;
    let (waits, at) = (one.caller(), json!({ "id": id }));
    let agent = tokio::spawn(async move { waits.call(AWAIT, at).await });
    stands(&survivor, &id, "ACTIVE_LIVE").await;
    one.kill().await;
    assert_eq!(agent.await.unwrap(), None);
    stands(&survivor, &id, "ACTIVE_DETACHED").await;
    let (waits, at) = (survivor.clone(), json!({ "id": id }));
    let agent = tokio::spawn(async move { waits.call(AWAIT, at).await.unwrap() });
    stands(&survivor, &id, "ACTIVE_LIVE").await;
    let responded = survivor.call(RESPOND, answer(&id, "at last")).await.unwrap();
    assert_eq!(responded["respond"]["__typename"], "ResponseAccepted");
    assert_eq!(agent.await.unwrap()["awaitClarification"]["answers"][0]["text"], "at last");
    two.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_the_same_name_takes_the_others_place_and_that_one_ends() {
    let database = Database::new();
    let one = start(&database, "same", &[]).await;
    let other = start(&database, "other", &[]).await;
    let session = session(&one.caller()).await;
    let id = ask(&one.caller(), &session, "a").await;
    let (waits, at) = (one.caller(), json!({ "id": id }));
    let agent = tokio::spawn(async move { waits.try_call(AWAIT, &at).await });
    stands(&one.caller(), &id, "ACTIVE_LIVE").await;
    let next = start(&database, "same", &[]).await;
    assert_eq!(state(&next.caller(), &id).await, "ACTIVE_DETACHED", "it was taken up before the port opened");
    assert_eq!(one.ended().await.code(), Some(1));
    assert!(agent.await.unwrap().is_err(), "its wait is over without an answer");
    assert_eq!(state(&other.caller(), &id).await, "ACTIVE_DETACHED");
    other.stop().await;
    next.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_all_miss_their_database_for_too_long_do_not_take_each_other_for_dead() {
    let postgres = postgres::Server::start();
    let url = postgres.url(&postgres.database());
    let (one, two) = (start_at(&url, "one", &[]).await, start_at(&url, "two", &[]).await);
    let session = session(&one.caller()).await;
    tokio::task::block_in_place(|| postgres.restart(&format!("INT {}", 2 * LAPSE_MS / 1_000)));
    tokio::time::sleep(Duration::from_millis(2 * LAPSE_MS)).await;
    for server in [&one, &two] {
        until(&server.caller(), ASK, &asking(&session, "after"), is_asked).await;
    }
    one.stop().await;
    two.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stood_still_for_too_long_writes_nothing_more_and_ends() {
    let database = Database::new();
    let (one, two) = (start(&database, "one", &[]).await, start(&database, "two", &[]).await);
    let session = session(&two.caller()).await;
    let id = ask(&one.caller(), &session, "a").await;
    let (waits, at) = (one.caller(), json!({ "id": id }));
    let agent = tokio::spawn(async move { waits.try_call(AWAIT, &at).await });
    stands(&two.caller(), &id, "ACTIVE_LIVE").await;
    one.signal("STOP").await;
    stands(&two.caller(), &id, "ACTIVE_DETACHED").await;
    // What is sent to it now, it reads when it goes on.
    let (late, variables) = (one.caller(), answer(&id, "late"));
    let late = tokio::spawn(async move { late.try_call(RESPOND, &variables).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    one.signal("CONT").await;
    assert_eq!(one.ended().await.code(), Some(1));
    let late = late.await.unwrap();
    assert!(late.is_err(), "{late:?}");
    assert!(agent.await.unwrap().is_err(), "its wait is over without an answer");
    assert_eq!(state(&two.caller(), &id).await, "ACTIVE_DETACHED");
    two.stop().await;
}
