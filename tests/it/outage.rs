//! PostgreSQL goes away under a real server and comes back, in order and as by a crash: what was acknowledged is
//! there, and whoever calls again is served. Connections to it that nobody answers any more hold up nobody.
//! May import: the crate, its siblings, the private server and the proxy before it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::kill::server::{Caller, Server};
use crate::kill::{ASK, AWAIT, RESPOND, session};
use crate::postgres;
use crate::proxy::Proxy;

/// Calls until there is an answer without an error that satisfies.
pub async fn until(caller: &Caller, query: &str, variables: &Value, is_it: impl Fn(&Value) -> bool) -> Value {
    let calls = async {
        loop {
            match caller.try_call(query, variables).await {
                Ok(data) if is_it(&data) => return data,
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), calls).await.expect("it never came back")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_outlives_its_database_server_and_so_do_its_agent_and_its_answer() {
    let database = postgres::Server::start();
    let name = database.database();
    let server = Server::start(&database.url(&name)).await;
    let local = server.caller();
    let session = session(&local).await;
    for signal in ["INT", "QUIT"] {
        let questions = json!([{ "prompt": "one?" }]);
        let ask = json!({ "session": session, "key": signal, "questions": questions });
        let asked = local.call(ASK, ask).await.unwrap();
        let id = asked["askClarification"]["pendingId"].clone();
        let is_heard = |data: &Value| data["awaitClarification"]["status"] == "ANSWERED";
        let (waits, at) = (local.clone(), json!({ "id": id }));
        let agent = tokio::spawn(async move { until(&waits, AWAIT, &at, is_heard).await });
        tokio::task::block_in_place(|| database.restart(signal));
        let answers = json!([{ "questionId": "q1", "customText": signal }]);
        let input = json!({ "input": { "pendingId": id, "clientKey": signal, "answers": answers } });
        until(&local, RESPOND, &input, |data| data["respond"]["__typename"] == "ResponseAccepted").await;
        let heard = agent.await.unwrap();
        assert_eq!(heard["awaitClarification"]["answers"][0]["text"], signal);
    }
    server.stop().await;
}

/// At once, and each without an error.
async fn each(caller: &Caller, count: usize) {
    let call = |_| async {
        caller
            .try_call("{ pendingClarifications(first: 1) { edges { node { state } } } }", &json!({}))
            .await
            .unwrap()
    };
    futures_util::future::join_all((0..count).map(call)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_nobody_answers_any_more_are_left_for_new_ones_without_an_error() {
    let database = postgres::Server::start();
    let proxy = Proxy::before(database.socket()).await;
    let url = format!("postgres://answerable@{}/{}", proxy.address(), database.database());
    let server = Server::start_with(&url, &["--postgres-connect-ms", "2000", "--shutdown-ms", "1000"]).await;
    let local = server.caller();
    let session = session(&local).await;
    each(&local, 32).await;
    proxy.forsake_all();
    let questions = json!([{ "prompt": "one?" }]);
    let ask = json!({ "session": session, "key": "k", "questions": questions });
    let (asked, ()) = tokio::join!(local.try_call(ASK, &ask), each(&local, 8));
    assert!(asked.unwrap()["askClarification"]["pendingId"].is_string());
    server.stop().await;
}
