//! Peers that begin a message and never end it (H-10), and readers that stop taking bytes (H-11), over real sockets.
//! May import: the crate, the app, its siblings.

use std::time::{Duration, Instant};

use answerable::access::Role;
use futures_util::SinkExt;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{interval, timeout};
use tokio_tungstenite::MaybeTlsStream;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::socket::Socket;
use crate::app::App;

const BOUND: Duration = Duration::from_secs(60);
/// How long a message, or a reader, may take here.
const WITHIN: Duration = Duration::from_millis(500);
const PIECE: OpCode = OpCode::Data(Data::Continue);
const TEXT: OpCode = OpCode::Data(Data::Text);
const UPGRADE: &str = "GET /graphql/ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
    sec-websocket-protocol: graphql-transport-ws\r\n\r\n";
/// A masked text frame; its mask is zero.
const INIT: &[u8] = b"\x81\x9a\0\0\0\0{\"type\":\"connection_init\"}";

async fn app() -> App {
    App::start_with(|options| options.transport.message = WITHIN).await
}

/// The code and reason with which a socket is closed that does this every few milliseconds.
async fn closed_while<F: AsyncFnMut(&mut Socket) -> bool>(mut socket: Socket, mut goes_on: F) -> (u16, String) {
    let mut tick = interval(Duration::from_millis(20));
    let closed = async {
        loop {
            tokio::select! {
                frame = socket.frame() => break frame,
                _ = tick.tick() => if !goes_on(&mut socket).await { break socket.frame().await },
            }
        }
    };
    timeout(BOUND, closed).await.expect("it is closed")
}

fn piece(opcode: OpCode, text: &'static str, is_last: bool) -> Message {
    Message::Frame(Frame::message(text.as_bytes(), opcode, is_last))
}

#[tokio::test]
async fn a_message_in_pieces_without_end_is_given_up_in_time_whatever_pongs_come_between() {
    let app = app().await;
    let mut socket = Socket::greeted(&app, json!({})).await;
    socket.0.send(piece(TEXT, "{", false)).await.unwrap();
    let mut count = 0;
    let closed = closed_while(socket, async |socket| {
        count += 1;
        let next = if count % 2 == 0 { piece(PIECE, " ", false) } else { Message::Pong(Bytes::new()) };
        socket.0.send(next).await.is_ok()
    })
    .await;
    assert_eq!(closed, (4408, "A message was not complete in time".to_owned()));
    app.finish().await;
}

#[tokio::test]
async fn a_frame_that_comes_byte_by_byte_is_given_up_in_time() {
    let app = app().await;
    let socket = Socket::greeted(&app, json!({})).await;
    let mut bytes = [&[0x81, 0xfe, 0x10, 0x00, 0, 0, 0, 0][..], &[b' '; 4_096]].concat().into_iter();
    let closed = closed_while(socket, async |socket| {
        let MaybeTlsStream::Plain(stream) = socket.0.get_mut() else { panic!("it is plain") };
        stream.write_all(&[bytes.next().unwrap()]).await.is_ok()
    })
    .await;
    assert_eq!(closed.0, 4408);
    app.finish().await;
}

#[tokio::test]
async fn a_frame_or_a_message_in_pieces_beyond_the_limit_closes_and_the_code_is_heard() {
    let app = App::start_with(|options| options.transport.message_bytes_max = 4_096).await;
    let mut huge = Socket::greeted(&app, json!({})).await;
    let MaybeTlsStream::Plain(stream) = huge.0.get_mut() else { panic!("it is plain") };
    // A header that announces 16 MiB, and the first of them.
    stream.write_all(&[0x81, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]).await.unwrap();
    stream.write_all(&[b' '; 65_536]).await.unwrap();
    assert_eq!(huge.closed().await, 4400);
    let mut endless = Socket::greeted(&app, json!({})).await;
    endless.0.send(piece(TEXT, "{", false)).await.unwrap();
    let spaces = " ".repeat(1_000).leak();
    let closed = closed_while(endless, async |socket| socket.0.send(piece(PIECE, spaces, false)).await.is_ok());
    assert_eq!(closed.await.0, 4400);
    app.finish().await;
}

/// Reads until the text stands in what was read.
async fn read_until(stream: &mut TcpStream, text: &str) {
    let (mut read, mut part) = (Vec::new(), [0; 1_024]);
    while !String::from_utf8_lossy(&read).contains(text) {
        let count = timeout(BOUND, stream.read(&mut part)).await.expect("it comes").unwrap();
        assert!(count > 0, "closed before {text}");
        read.extend_from_slice(part.get(..count).unwrap());
    }
}

#[tokio::test]
async fn what_came_with_the_upgrade_is_a_message_under_way_only_as_far_as_it_is_incomplete() {
    let app = app().await;
    let mut whole = TcpStream::connect(app.address()).await.unwrap();
    whole.write_all(&[UPGRADE.as_bytes(), INIT].concat()).await.unwrap();
    read_until(&mut whole, "connection_ack").await;
    let mut part = TcpStream::connect(app.address()).await.unwrap();
    let cut = INIT.len() - 1;
    part.write_all(&[UPGRADE.as_bytes(), INIT.get(..cut).unwrap()].concat()).await.unwrap();
    read_until(&mut part, "A message was not complete in time").await;
    // The other one began no earlier and is still there: a ping in two pieces is answered.
    whole.write_all(b"\x01\x88\0\0\0\0{\"type\":").await.unwrap();
    whole.write_all(b"\x80\x87\0\0\0\0\"ping\"}").await.unwrap();
    read_until(&mut whole, "pong").await;
    app.finish().await;
}

/// A connection whose end takes little before it reads.
async fn narrow(app: &App) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.connect(app.address().parse().unwrap()).await.unwrap()
}

/// Whether the server still has its end of a connection, by the kernel's table: 1 is "established".
fn is_held(stream: &TcpStream) -> bool {
    let port = |address: std::net::SocketAddr| format!(":{:04X}", address.port());
    let (server, client) = (port(stream.peer_addr().unwrap()), port(stream.local_addr().unwrap()));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).any(|fields| {
        let field = |at: usize| fields.get(at).copied().unwrap_or_default();
        field(1).ends_with(&server) && field(2).ends_with(&client) && field(3) == "01"
    })
}

async fn let_go(stream: &TcpStream) {
    let mut tick = interval(Duration::from_millis(20));
    let gone = async {
        while is_held(stream) {
            tick.tick().await;
        }
    };
    timeout(BOUND, gone).await.expect("the server closes it");
}

fn post(accept: &str, body: &serde_json::Value) -> String {
    let body = body.to_string();
    format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: {accept}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A server with a task whose description is long, and that task.
async fn long_winded(within: Duration) -> (App, serde_json::Value) {
    let app = App::start_with(|options| options.patience.write = within).await;
    let create = "mutation($text: String!) { createTask(input: { title: \"x\", description: $text }) {
        ... on TaskPayload { taskId } } }";
    let made = app.local().ask_for(create, json!({ "text": "x".repeat(90_000) })).await;
    (app, made["taskId"].clone())
}

/// A response of some nine megabytes, which no buffer of the kernel takes whole.
fn large(task: &serde_json::Value) -> String {
    let fields: String = (0..100).map(|n| format!("d{n}: description ")).collect();
    let query = format!("query($id: ID!) {{ task(id: $id) {{ {fields} }} }}");
    post("application/json", &json!({ "query": query, "variables": { "id": task } }))
}

#[tokio::test]
async fn a_response_whose_reader_stops_is_given_up_in_time() {
    let (app, task) = long_winded(WITHIN).await;
    let mut stopped = narrow(&app).await;
    stopped.write_all(large(&task).as_bytes()).await.unwrap();
    read_until(&mut stopped, "200 OK").await;
    let start = Instant::now();
    let_go(&stopped).await;
    println!(
        "stopped reader of a response: bound_ms={} closed_after_ms={}",
        WITHIN.as_millis(),
        start.elapsed().as_millis()
    );
    let mut rest = Vec::new();
    let _reset_or_cut = stopped.read_to_end(&mut rest).await;
    assert!(rest.len() < 9_000_000, "{} bytes were sent", rest.len());
    app.finish().await;
}

#[tokio::test]
async fn a_reader_that_is_slow_and_does_not_stop_gets_its_whole_response() {
    let (app, task) = long_winded(Duration::from_secs(3)).await;
    let mut slow = narrow(&app).await;
    slow.write_all(large(&task).as_bytes()).await.unwrap();
    let (start, mut tick) = (Instant::now(), interval(Duration::from_millis(50)));
    let (mut bytes, mut part) = (0, vec![0; 16_384]);
    loop {
        // Beyond the bound in all, and never beyond it at a stretch.
        if start.elapsed() < Duration::from_secs(5) {
            tick.tick().await;
        }
        match slow.read(&mut part).await.unwrap() {
            0 => break,
            count => bytes += count,
        }
    }
    assert!(bytes > 9_000_000, "{bytes} bytes came");
    app.finish().await;
}

#[tokio::test]
async fn an_event_stream_whose_reader_stops_is_ended_and_the_others_go_on() {
    let (app, task) = long_winded(WITHIN).await;
    let operator = app.caller(Role::Operator, None, None).await;
    let follow = json!({ "query": "subscription { taskChanges { __typename ... on TaskChanged {
        task { title description } } } }" });
    let request = post("text/event-stream", &follow);
    let token = format!("authorization: Bearer {}\r\ncontent-type", operator.token.as_deref().unwrap());
    let request = request.replacen("content-type", &token, 1);
    let (mut stopped, mut healthy) = (narrow(&app).await, TcpStream::connect(app.address()).await.unwrap());
    for stream in [&mut stopped, &mut healthy] {
        stream.write_all(request.as_bytes()).await.unwrap();
        read_until(stream, "TaskSnapshot").await;
    }
    let reading = tokio::spawn(async move {
        read_until(&mut healthy, "the last title").await;
        is_held(&healthy)
    });
    let update = "mutation($id: ID!, $title: String!) { updateTask(input: { taskId: $id, title: $title }) {
        __typename } }";
    let start = Instant::now();
    let mut count = 0;
    while is_held(&stopped) {
        assert!(start.elapsed() < BOUND, "the server closes it");
        operator.call(update, json!({ "id": task, "title": count.to_string() })).await;
        count += 1;
    }
    println!("stopped reader of events: changes={count} closed_after_ms={}", start.elapsed().as_millis());
    operator.call(update, json!({ "id": task, "title": "the last title" })).await;
    assert!(reading.await.unwrap(), "the one that reads is still followed");
    app.finish().await;
}
