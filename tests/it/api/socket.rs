//! `graphql-transport-ws`, spoken by hand. May import: the crate, the app, its siblings.

use std::time::Duration;

use answerable::access::Role;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::app::App;

const BOUND: Duration = Duration::from_secs(20);

/// A client's end.
pub struct Socket(pub WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub async fn open(app: &App) -> Self {
        Self::open_with(app, &[]).await.unwrap()
    }

    pub async fn open_with(app: &App, headers: &[(&'static str, &str)]) -> Result<Self, Error> {
        let mut request = format!("ws://{}/graphql/ws", app.address()).into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("graphql-transport-ws"));
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        connect_async(request).await.map(|(socket, _)| Self(socket))
    }

    /// Open, and let in.
    pub async fn greeted(app: &App, payload: Value) -> Self {
        let mut socket = Self::open(app).await;
        socket.say(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(socket.hear().await["type"], "connection_ack");
        socket
    }

    pub async fn say(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    pub async fn subscribe(&mut self, id: &str, query: &str, variables: Value) {
        let payload = json!({ "query": query, "variables": variables });
        self.say(json!({ "id": id, "type": "subscribe", "payload": payload })).await;
    }

    /// The next message.
    pub async fn hear(&mut self) -> Value {
        loop {
            match timeout(BOUND, self.0.next()).await.expect("nothing was said").unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Close(frame) => panic!("closed: {frame:?}"),
                _ => {}
            }
        }
    }

    /// The code with which it is closed, whatever is said before.
    pub async fn closed(mut self) -> u16 {
        timeout(BOUND, self.frame()).await.expect("it was not closed").0
    }

    /// The code and the reason with which it is closed.
    pub async fn frame(&mut self) -> (u16, String) {
        loop {
            if let Message::Close(frame) = self.0.next().await.unwrap().unwrap() {
                let frame = frame.unwrap();
                return (frame.code.into(), frame.reason.as_str().to_owned());
            }
        }
    }
}

#[tokio::test]
async fn what_breaks_the_protocol_closes_the_socket_with_its_code() {
    let app = App::start_with(|options| {
        options.transport.init = Duration::from_secs(1);
        options.transport.message_bytes_max = 4_096;
    })
    .await;
    assert_eq!(Socket::open(&app).await.closed().await, 4408);
    let query = json!({ "id": "1", "type": "subscribe", "payload": { "query": "{ viewer { role } }" } });
    let mut early = Socket::open(&app).await;
    early.say(query).await;
    assert_eq!(early.closed().await, 4401);
    let mut twice = Socket::greeted(&app, json!({})).await;
    twice.say(json!({ "type": "connection_init" })).await;
    assert_eq!(twice.closed().await, 4429);
    for bad in [
        json!({ "type": "start" }),
        json!([]),
        json!({ "type": "subscribe", "id": "", "payload": { "query": "{a}" } }),
    ] {
        let mut socket = Socket::greeted(&app, json!({})).await;
        socket.say(bad).await;
        assert_eq!(socket.closed().await, 4400);
    }
    let mut large = Socket::greeted(&app, json!({})).await;
    large.say(json!({ "type": "ping", "payload": { "x": "y".repeat(5_000) } })).await;
    assert_eq!(large.closed().await, 4400);
    let mut binary = Socket::greeted(&app, json!({})).await;
    binary.0.send(Message::binary(vec![1, 2, 3])).await.unwrap();
    assert_eq!(binary.closed().await, 4400);
    let follow = "subscription { taskChanges { cursor } }";
    let mut same = Socket::greeted(&app, json!({})).await;
    same.subscribe("1", follow, json!({})).await;
    same.subscribe("1", follow, json!({})).await;
    assert_eq!(same.closed().await, 4409);
    app.finish().await;
}

#[tokio::test]
async fn a_ping_is_answered_with_its_payload_even_before_the_greeting() {
    let app = App::start().await;
    let mut socket = Socket::open(&app).await;
    socket.say(json!({ "type": "ping", "payload": { "n": 1 } })).await;
    assert_eq!(socket.hear().await, json!({ "type": "pong", "payload": { "n": 1 } }));
    socket.say(json!({ "type": "ping" })).await;
    assert_eq!(socket.hear().await, json!({ "type": "pong" }));
    app.finish().await;
}

#[tokio::test]
async fn queries_and_mutations_come_with_next_and_complete_and_request_errors_with_error() {
    let app = App::start().await;
    let mut socket = Socket::greeted(&app, json!({})).await;
    let write = "mutation { createTask(input: { title: \"x\" }) { __typename } }";
    for (id, query, field) in [("a", "{ viewer { role } }", "viewer"), ("b", write, "createTask")] {
        socket.subscribe(id, query, json!({})).await;
        let next = socket.hear().await;
        assert_eq!((next["type"].as_str(), next["id"].as_str()), (Some("next"), Some(id)));
        assert!(next["payload"]["data"][field].is_object(), "{next}");
        assert_eq!(socket.hear().await, json!({ "type": "complete", "id": id }));
    }
    for query in ["{", "{ nothing }", "query($id: ID!) { task(id: $id) { id } }"] {
        socket.subscribe("a", query, json!({})).await;
        let error = socket.hear().await;
        assert_eq!((error["type"].as_str(), error["id"].as_str()), (Some("error"), Some("a")), "{error}");
        assert!(error["payload"][0]["extensions"]["code"].is_string(), "{error}");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_completed_id_falls_silent_and_can_be_used_again() {
    let app = App::start().await;
    let local = app.local();
    let mut socket = Socket::greeted(&app, json!({})).await;
    let follow = "subscription { taskChanges { __typename } }";
    socket.subscribe("1", follow, json!({})).await;
    assert_eq!(socket.hear().await["payload"]["data"]["taskChanges"]["__typename"], "TaskSnapshot");
    socket.say(json!({ "type": "complete", "id": "1" })).await;
    socket.say(json!({ "type": "ping" })).await;
    assert_eq!(socket.hear().await["type"], "pong", "a complete has no reply");
    local.call("mutation { createTask(input: { title: \"x\" }) { __typename } }", json!({})).await;
    socket.subscribe("1", follow, json!({})).await;
    assert_eq!(socket.hear().await["payload"]["data"]["taskChanges"]["__typename"], "TaskSnapshot");
    app.finish().await;
}

#[tokio::test]
async fn credentials_come_in_the_payload_and_their_withdrawal_ends_the_socket() {
    let app = App::start_with(|options| options.transport.recheck = Duration::from_millis(100)).await;
    let person = app.caller(Role::Person, None, None).await;
    for payload in [json!({}), json!({ "authorization": "Bearer ans_nonsense" })] {
        let mut socket = Socket::open(&app).await;
        socket.say(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(socket.closed().await, 4403);
    }
    let operator = app.caller(Role::Operator, None, None).await;
    let bearer = format!("Bearer {}", person.token.clone().unwrap());
    let mut socket = Socket::greeted(&app, json!({ "authorization": bearer })).await;
    socket.subscribe("1", "{ viewer { role principal } }", json!({})).await;
    let viewer = socket.hear().await["payload"]["data"]["viewer"].clone();
    assert_eq!(viewer["role"], "PERSON");
    assert_eq!(socket.hear().await["type"], "complete");
    let revoke = "mutation($id: ID!) { revokeToken(tokenId: $id) { __typename } }";
    operator.call(revoke, json!({ "id": viewer["principal"] })).await;
    assert_eq!(socket.closed().await, 4403);
    app.finish().await;
}

#[tokio::test]
async fn a_foreign_page_and_another_subprotocol_get_no_socket() {
    let app = App::start().await;
    let refused = |error: Option<Error>| match error {
        Some(Error::Http(response)) => response.status().as_u16(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(Socket::open_with(&app, &[("origin", "http://evil.example")]).await.err()), 403);
    let legacy = Socket::open_with(&app, &[("sec-websocket-protocol", "graphql-ws")]).await;
    assert_eq!(refused(legacy.err()), 400);
    let own = format!("http://{}", app.address());
    assert!(Socket::open_with(&app, &[("origin", &own)]).await.is_ok());
    app.finish().await;
}

#[tokio::test]
async fn a_shutdown_says_going_away() {
    let app = App::start().await;
    let mut socket = Socket::greeted(&app, json!({})).await;
    socket.subscribe("1", "subscription { taskChanges { __typename } }", json!({})).await;
    socket.hear().await;
    let (code, ()) = tokio::join!(socket.closed(), app.finish());
    assert_eq!(code, 1001);
}
