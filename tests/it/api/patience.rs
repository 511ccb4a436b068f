//! Parts of requests that never come, and connections that nobody uses (H-12).
//! May import: the crate, the app, its siblings.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::app::App;

/// What the server says to a connection that sends this and nothing more.
async fn told(app: &App, sent: &str) -> String {
    let mut stream = TcpStream::connect(app.address()).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut told = String::new();
    let read = stream.read_to_string(&mut told);
    tokio::time::timeout(Duration::from_secs(60), read).await.expect("the connection is closed").unwrap();
    told
}

#[tokio::test]
async fn a_request_whose_head_or_body_does_not_come_is_given_up() {
    let app = App::start_with(|options| {
        options.patience.head = Duration::from_millis(300);
        options.patience.body = Duration::from_millis(300);
        options.patience.idle = Duration::from_secs(3_600);
    })
    .await;
    let post = "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let upgrade = "GET /graphql/ws HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\n";
    for unfinished in ["", "POST /gra", post, upgrade] {
        let told = told(&app, unfinished).await;
        assert!(told.is_empty() || told.starts_with("HTTP/1.1 408"), "{told}");
    }
    let late = told(&app, &format!("{post}content-length: 100\r\n\r\n{{\"query\"")).await;
    assert!(late.starts_with("HTTP/1.1 408") && late.contains("in time"), "{late}");
    let mcp = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
               accept: application/json, text/event-stream\r\ncontent-length: 100\r\n\r\n{";
    let late = told(&app, mcp).await;
    assert!(late.contains("in time"), "{late}");
    app.finish().await;
}

#[tokio::test]
async fn a_head_beyond_its_limit_is_refused_and_not_read_on() {
    let app = App::start_with(|options| options.patience.head_bytes_max = 8_192).await;
    let head = |bytes| format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n", "x".repeat(bytes));
    let fits = told(&app, &format!("{}connection: close\r\n\r\n", head(6_000))).await;
    assert!(fits.starts_with("HTTP/1.1 204"), "{fits}");
    let refused = told(&app, &head(8_192)).await;
    assert!(refused.starts_with("HTTP/1.1 431"), "{refused}");
    app.finish().await;
}

#[tokio::test]
async fn a_connection_outlives_a_pause_between_two_requests_and_ends_when_nobody_uses_it() {
    let app = App::start_with(|options| {
        options.patience.head = Duration::from_millis(300);
        options.patience.idle = Duration::from_millis(1_500);
    })
    .await;
    let mut stream = TcpStream::connect(app.address()).await.unwrap();
    for _ in 0..2 {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut answer = [0; 1024];
        let read = stream.read(&mut answer).await.unwrap();
        assert!(answer.get(..read).unwrap().starts_with(b"HTTP/1.1 204"));
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    // A part of a second head is no request.
    stream.write_all(b"GET /hea").await.unwrap();
    let mut told = String::new();
    let read = stream.read_to_string(&mut told);
    tokio::time::timeout(Duration::from_secs(60), read).await.expect("the connection is closed").unwrap();
    app.finish().await;
}
