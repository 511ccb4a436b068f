//! Trusted documents by every transport, and GET in production.
//! May import: the crate, the app, its siblings.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::app::App;

use super::socket::Socket;

const QUERY: &str = "{ viewer { role } }";
const QUERY_ID: &str = "6f4ee97bc5f4b9b7b1b7";
const FOLLOW: &str = "subscription { taskChanges { cursor } }";

/// A server that trusts these two, and whether it executes nothing else.
async fn app(is_strict: bool) -> (App, [String; 2], tempfile::NamedTempFile) {
    let ids = [QUERY, FOLLOW].map(sha256);
    let list = json!({ (ids[0].clone()): QUERY, (ids[1].clone()): FOLLOW });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), list.to_string()).unwrap();
    let path = file.path().to_owned();
    let app = App::start_with(|options| {
        options.documents = (Some(path), is_strict);
        options.transport.is_get_open = false;
    })
    .await;
    (app, ids, file)
}

fn sha256(text: &str) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_trusted_document_is_named_by_its_hash_on_every_transport() {
    let (app, [query, follow], _file) = app(true).await;
    let local = app.local();
    let persisted = |id: &str| json!({ "extensions": { "persistedQuery": { "version": 1, "sha256Hash": id } } });
    let by_id = json!({ "documentId": format!("sha256:{query}") });
    for body in [persisted(&query), by_id, json!({ "query": QUERY })] {
        let answer: Value = local.post(&body).send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["data"]["viewer"]["role"], "OPERATOR", "{body}");
    }
    let url = format!("{}?documentId={query}", local.url);
    assert_eq!(local.http.get(url).send().await.unwrap().status(), StatusCode::OK);
    let mut socket = Socket::greeted(&app, json!({})).await;
    for (id, payload) in [("1", persisted(&query)), ("2", persisted(&follow))] {
        socket.say(json!({ "type": "subscribe", "id": id, "payload": payload })).await;
        let heard = socket.hear().await;
        assert_eq!((&heard["type"], &heard["id"]), (&json!("next"), &json!(id)), "{heard}");
        if id == "1" {
            assert_eq!(socket.hear().await["type"], "complete");
        }
    }
    let stream = local.post(&persisted(&follow)).header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    drop((socket, stream));
    app.finish().await;
}

#[tokio::test]
async fn strict_mode_executes_nothing_else_on_any_transport() {
    let (app, _, _file) = app(true).await;
    let local = app.local();
    let other = "subscription { taskChanges { __typename cursor } }";
    assert_eq!(local.code("{ viewer { principal } }", json!({})).await, "DOCUMENT_NOT_TRUSTED");
    let events =
        local.post(&json!({ "query": other })).header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!(events.status(), StatusCode::BAD_REQUEST);
    assert!(events.text().await.unwrap().contains("DOCUMENT_NOT_TRUSTED"));
    let mut socket = Socket::greeted(&app, json!({})).await;
    for query in ["{ viewer { principal } }", other] {
        socket.subscribe("1", query, json!({})).await;
        let heard = socket.hear().await;
        assert_eq!(heard["payload"][0]["extensions"]["code"], "DOCUMENT_NOT_TRUSTED", "{heard}");
    }
    drop(socket);
    app.finish().await;
}

#[tokio::test]
async fn the_documents_of_the_page_are_trusted_without_a_list() {
    let app = App::start_with(|options| options.documents = (None, true)).await;
    let local = app.local();
    let documents = answerable::transport::page_documents();
    assert!(!documents.is_empty());
    for (name, document) in documents {
        let answer: Value = local.post(&json!({ "query": document })).send().await.unwrap().json().await.unwrap();
        // Variables are missing, a subscription needs another transport; no document is unknown to the schema.
        let message = answer["errors"][0]["message"].as_str().unwrap_or_default();
        let is_known = message.is_empty() || message.contains("must be given") || message.contains("subscription");
        assert!(is_known, "{name}: {answer}");
    }
    assert_eq!(local.code("{ __typename }", json!({})).await, "DOCUMENT_NOT_TRUSTED");
    app.finish().await;
}

#[tokio::test]
async fn without_strict_mode_an_unknown_hash_says_so_and_get_takes_trusted_documents_only() {
    let (app, [query, _], _file) = app(false).await;
    let local = app.local();
    let unknown = json!({ "extensions": { "persistedQuery": { "version": 1, "sha256Hash": QUERY_ID } } });
    let answer: Value = local.post(&unknown).send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["errors"][0]["extensions"]["code"], "PERSISTED_QUERY_NOT_FOUND");
    assert_eq!(local.ask_for("{ viewer { principal } }", json!({})).await["principal"], "local");
    let get = |search: &str| local.http.get(format!("{}?{search}", local.url)).send();
    let refused = get("query=%7Bviewer%7Brole%7D%7D").await.unwrap();
    assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(refused.headers()["allow"], "POST");
    assert_eq!(get(&format!("documentId={query}")).await.unwrap().status(), StatusCode::OK);
    app.finish().await;
}
