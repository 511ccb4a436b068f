//! `/metrics`: that everything it promises is counted, and who may read it. May import: the crate, the app, its siblings.

use std::time::Duration;

use answerable::access::Role;
use answerable::config::MetricsReaders;
use answerable::metrics::ALL;
use reqwest::StatusCode;
use serde_json::json;

use crate::app::{App, Caller, EXECUTOR};

use super::scene::{answers, ask, questions, respond, scene};
use super::socket::Socket;

async fn read(app: &App, caller: &Caller) -> (StatusCode, String) {
    let request = caller.http.get(format!("http://{}/metrics", app.address()));
    let request = match &caller.token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    let response = request.send().await.unwrap();
    (response.status(), response.text().await.unwrap())
}

fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series} is not in {text}")).parse().unwrap()
}

#[tokio::test]
async fn everything_that_is_promised_is_counted() {
    let app = App::start().await;
    let local = app.local();
    let mut socket = Socket::greeted(&app, json!({})).await;
    socket.subscribe("1", "subscription { taskChanges { cursor } }", json!({})).await;
    socket.hear().await;
    local.code("{ nothing }", json!({})).await;
    let scene = scene(&local, Some(EXECUTOR)).await;
    let pending = ask(&local, &scene.session, questions()).await;
    assert_eq!(respond(&local, &pending, "key", answers()).await["__typename"], "ResponseAccepted");
    let (status, mut text) = read(&app, &local).await;
    assert_eq!(status, StatusCode::OK);
    // What is written in the background comes to its end.
    for _ in 0..500 {
        if value(&text, "answerable_writer_queue") == 0.0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        text = read(&app, &local).await.1;
    }
    assert_eq!(value(&text, "answerable_writer_queue"), 0.0);
    assert_eq!(value(&text, "answerable_connections{transport=\"websocket\"}"), 1.0);
    assert_eq!(value(&text, "answerable_subscriptions"), 1.0);
    assert_eq!(value(&text, "answerable_feeds"), 1.0);
    assert_eq!(value(&text, "answerable_errors_total{code=\"GRAPHQL_VALIDATION_FAILED\"}"), 1.0);
    assert_eq!(value(&text, "answerable_requests_total{transport=\"http\",outcome=\"rejected\"}"), 1.0);
    assert_eq!(value(&text, "answerable_dispatches_total{outcome=\"accepted\"}"), 1.0);
    assert!(value(&text, "answerable_writer_commit_seconds_count") >= 4.0);
    socket.say(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.closed().await, 4429);
    let (_, text) = read(&app, &local).await;
    assert_eq!(value(&text, "answerable_sockets_closed_total{reason=\"second_init\"}"), 1.0);
    for about in ALL {
        let family = about.family();
        assert!(text.contains(&format!("# HELP {family} ")), "{family} is missing in {text}");
    }
    assert_eq!(text.matches("# HELP ").count(), ALL.len());
    app.finish().await;
}

#[tokio::test]
async fn only_who_may_read_them_learns_that_there_are_metrics() {
    let app = App::start().await;
    let operator = app.caller(Role::Operator, None, None).await;
    let person = app.caller(Role::Person, None, None).await;
    assert_eq!(read(&app, &operator).await.0, StatusCode::OK);
    assert_eq!(read(&app, &person).await.0, StatusCode::NOT_FOUND);
    assert_eq!(read(&app, &app.local()).await.0, StatusCode::UNAUTHORIZED);
    app.finish().await;
    for (readers, status) in
        [(MetricsReaders::Anyone, StatusCode::OK), (MetricsReaders::Nobody, StatusCode::NOT_FOUND)]
    {
        let app = App::start_with(|options| options.transport.metrics = readers).await;
        app.caller(Role::Operator, None, None).await;
        assert_eq!(read(&app, &app.local()).await.0, status);
        app.finish().await;
    }
}
