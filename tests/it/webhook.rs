//! A detached answer at a receiver on a real socket, which verifies each signature: taken, refused, lost, taken back,
//! and posted again only where the endpoint said so. May import: the crate, the app, the scene.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use answerable::config::{Executor, Redelivery, Webhook};
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use crate::api::scene::{Scene, answers, ask, clarification, questions, respond, scene};
use crate::app::{App, Caller};

pub const NAME: &str = "platform";
pub const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

#[derive(Clone, Copy)]
enum Do {
    Answer(u16),
    Hang,
}

/// What the receiver does with each POST in turn, and what it got.
#[derive(Clone, Default)]
struct Receiver {
    script: Arc<Mutex<VecDeque<Do>>>,
    got: Arc<Mutex<Vec<(Method, String, Value)>>>,
}

impl Receiver {
    async fn listen(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let own = self.clone();
        let take = move |method: Method, headers: HeaderMap, body: Bytes| {
            let own = own.clone();
            async move { own.take(method, &headers, &body).await }
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(take)).await.unwrap() });
        url
    }

    async fn take(&self, method: Method, headers: &HeaderMap, body: &[u8]) -> StatusCode {
        if standardwebhooks::Webhook::new(KEY).unwrap().verify(body, headers).is_err() {
            return StatusCode::UNAUTHORIZED;
        }
        let id = headers["webhook-id"].to_str().unwrap().to_owned();
        let is_delete = method == Method::DELETE;
        self.got.lock().unwrap().push((method, id, serde_json::from_slice(body).unwrap_or_default()));
        if is_delete {
            return StatusCode::NO_CONTENT;
        }
        let step = self.script.lock().unwrap().pop_front();
        match step.unwrap_or(Do::Answer(202)) {
            Do::Answer(status) => StatusCode::from_u16(status).unwrap(),
            Do::Hang => std::future::pending().await,
        }
    }

    fn ids(&self, of: &Method) -> Vec<String> {
        let got = self.got.lock().unwrap();
        got.iter().filter(|(method, ..)| method == of).map(|(_, id, _)| id.clone()).collect()
    }
}

struct Stage {
    app: App,
    local: Caller,
    scene: Scene,
    receiver: Receiver,
    pending: String,
}

/// A receiver of this machine that takes each dispatch once and nothing back.
pub fn endpoint(url: &str) -> Webhook {
    Webhook {
        url: url.parse().unwrap(),
        secrets: vec![KEY.into()],
        can_revoke: false,
        can_interrupt: false,
        redelivery: Redelivery::Never,
        allow_private: true,
    }
}

/// A detached bundle whose answer is posted to a receiver that follows the script.
async fn stage(script: &[Do], change: impl FnOnce(&mut Webhook)) -> Stage {
    let receiver = Receiver::default();
    receiver.script.lock().unwrap().extend(script);
    let mut webhook = endpoint(&receiver.listen().await);
    change(&mut webhook);
    let app = App::start_with(|options| {
        options.endpoints.insert(NAME.into(), Executor::Webhook(webhook));
        options.webhooks.redelivery = std::time::Duration::from_millis(10);
        options.limits.dispatch = std::time::Duration::from_secs(2);
    })
    .await;
    let local = app.local();
    let scene = scene(&local, Some(NAME)).await;
    let pending = ask(&local, &scene.session, questions()).await;
    Stage { app, local, scene, receiver, pending }
}

impl Stage {
    async fn respond(&self, key: &str) -> Value {
        respond(&self.local, &self.pending, key, answers()).await
    }

    async fn end_turn(&self, how: &str) {
        let (session, turn) = (&self.scene.session, &self.scene.turn);
        let query = match how {
            "cancel" => {
                "mutation($s: ID!, $t: ID!) { cancelTurn(input: { sessionId: $s, expectedTurnId: $t }) {
                   __typename ... on CancelTurnPayload { turnId } } }"
            }
            _ => "mutation($s: ID!, $t: ID!) { completeTurn(sessionId: $s, turnId: $t) { __typename } }",
        };
        let ended = self.local.ask_for(query, json!({ "s": session, "t": turn })).await;
        assert!(ended["__typename"].as_str().unwrap().ends_with("Payload"), "{ended}");
    }

    /// The bodies of what was posted.
    fn posted(&self) -> Vec<Value> {
        let got = self.receiver.got.lock().unwrap();
        got.iter().filter(|(method, ..)| method == Method::POST).map(|(.., body)| body.clone()).collect()
    }

    async fn state(&self) -> Value {
        clarification(&self.local, &self.pending).await["state"].clone()
    }
}

#[tokio::test]
async fn an_answer_is_posted_once_signed_and_accepted() {
    let stage = stage(&[], |_| {}).await;
    let responded = stage.respond("k").await;
    assert_eq!(responded["__typename"], "ResponseAccepted", "{responded}");
    let (method, id, body) = stage.receiver.got.lock().unwrap()[0].clone();
    assert_eq!((method, id.as_str()), (Method::POST, responded["dispatchedTurn"]["id"].as_str().unwrap()));
    assert_eq!(body["data"]["pendingId"], stage.pending.as_str());
    assert_eq!(
        body["data"]["answers"][1],
        json!({ "questionId": "q2", "selected": ["a", "c"], "text": "and more" })
    );
    assert_eq!(stage.respond("k").await["replayed"], true);
    assert_eq!(stage.receiver.ids(&Method::POST).len(), 1);
    stage.app.finish().await;
}

#[tokio::test]
async fn a_refusal_gives_the_answer_back_and_the_next_one_is_another_dispatch() {
    let stage = stage(&[Do::Answer(422)], |_| {}).await;
    let refused = stage.respond("one").await;
    assert_eq!((&refused["code"], &refused["retryable"]), (&json!("REJECTED"), &json!(true)), "{refused}");
    assert_eq!(stage.state().await, "ACTIVE_DETACHED");
    assert_eq!(stage.respond("two").await["__typename"], "ResponseAccepted");
    let ids = stage.receiver.ids(&Method::POST);
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
    stage.app.finish().await;
}

#[tokio::test]
async fn a_lost_response_is_unknown_and_nothing_is_sent_again() {
    for step in [Do::Answer(500), Do::Hang] {
        let stage = stage(&[step], |_| {}).await;
        let lost = stage.respond("one").await;
        assert_eq!((&lost["code"], &lost["retryable"]), (&json!("UNKNOWN"), &json!(false)), "{lost}");
        assert_eq!(stage.state().await, "TERMINAL");
        assert_ne!(stage.respond("two").await["__typename"], "ResponseAccepted");
        assert_eq!(stage.receiver.ids(&Method::POST).len(), 1);
        stage.app.finish().await;
    }
}

#[tokio::test]
async fn a_call_that_hangs_past_its_deadline_is_taken_back_where_the_endpoint_offers_it() {
    let stage = stage(&[Do::Hang], |webhook| webhook.can_revoke = true).await;
    let revoked = stage.respond("one").await;
    assert_eq!((&revoked["code"], &revoked["retryable"]), (&json!("REJECTED"), &json!(true)), "{revoked}");
    assert_eq!(stage.receiver.ids(&Method::DELETE), stage.receiver.ids(&Method::POST));
    assert_eq!(stage.state().await, "ACTIVE_DETACHED");
    stage.app.finish().await;
}

#[tokio::test]
async fn an_endpoint_that_takes_each_id_once_is_asked_again_until_it_says_so() {
    let stage = stage(&[Do::Answer(500), Do::Answer(429), Do::Answer(409)], |webhook| {
        webhook.redelivery = Redelivery::Idempotent;
    })
    .await;
    assert_eq!(stage.respond("one").await["__typename"], "ResponseAccepted");
    let ids = stage.receiver.ids(&Method::POST);
    assert!(ids.len() == 3 && ids.iter().all(|id| id == &ids[0]), "{ids:?}");
    stage.app.finish().await;
}

#[tokio::test]
async fn a_private_address_is_not_called_unless_that_is_allowed() {
    let stage = stage(&[], |webhook| {
        webhook.allow_private = false;
        webhook.url.set_host(Some("localhost")).unwrap();
    })
    .await;
    let refused = stage.respond("one").await;
    assert_eq!((&refused["code"], &refused["retryable"]), (&json!("REJECTED"), &json!(true)), "{refused}");
    assert!(stage.receiver.ids(&Method::POST).is_empty());
    stage.app.finish().await;
}

#[tokio::test]
async fn a_cancelled_turn_is_told_once_where_the_endpoint_wants_it_and_the_next_dispatch_says_it_anyway() {
    for wants_it in [true, false] {
        let stage = stage(&[], |webhook| webhook.can_interrupt = wants_it).await;
        stage.end_turn("cancel").await;
        if wants_it {
            let told = async {
                while stage.posted().is_empty() {
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
            };
            tokio::time::timeout(std::time::Duration::from_secs(30), told).await.expect("never told");
            let told = stage.posted().remove(0);
            let data = json!({ "sessionId": stage.scene.session, "turnId": stage.scene.turn });
            assert_eq!((&told["type"], &told["data"]), (&json!("turn.interrupted"), &data));
        }
        assert_eq!(stage.respond("one").await["__typename"], "ResponseAccepted");
        let posted = stage.posted();
        assert_eq!(posted.len(), if wants_it { 2 } else { 1 }, "{posted:?}");
        let dispatch = posted.last().unwrap();
        assert_eq!(
            (&dispatch["type"], &dispatch["data"]["interrupt"]),
            (&json!("clarification.answered"), &json!(true))
        );
        stage.app.finish().await;
    }
}

#[tokio::test]
async fn after_a_turn_that_its_agent_completed_there_is_nothing_to_interrupt() {
    let stage = stage(&[], |webhook| webhook.can_interrupt = true).await;
    stage.end_turn("complete").await;
    assert_eq!(stage.respond("one").await["__typename"], "ResponseAccepted");
    let posted = stage.posted();
    assert_eq!(posted.iter().map(|body| &body["data"]["interrupt"]).collect::<Vec<_>>(), [&json!(false)]);
    stage.app.finish().await;
}
