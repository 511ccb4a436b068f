//! The limit W: a WebSocket server that does nothing but send. Each line that comes by its second address goes to all
//! sockets as one text frame. May import: nothing.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast::{Receiver, Sender, channel};
use tokio_tungstenite::accept_async_with_config;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

/// As in the server: most sockets are idle.
const BUFFER_BYTES: usize = 4_096;
const KEPT: usize = 16;

/// Serves until its standard input ends.
pub async fn serve() -> Result<(), String> {
    let (sockets, control) = (listen().await?, listen().await?);
    let (lines, _) = channel(KEPT);
    println!("listens on {} and {}", address(&sockets)?, address(&control)?);
    tokio::spawn(hear(control, lines.clone()));
    tokio::spawn(accept(sockets, lines));
    let mut nothing = Vec::new();
    tokio::io::stdin().read_to_end(&mut nothing).await.map_err(|error| error.to_string())?;
    // A thread of the runtime may still hold the input.
    std::process::exit(0)
}

async fn listen() -> Result<TcpListener, String> {
    TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())
}

fn address(listener: &TcpListener) -> Result<SocketAddr, String> {
    listener.local_addr().map_err(|error| error.to_string())
}

async fn hear(control: TcpListener, lines: Sender<Utf8Bytes>) {
    while let Ok((stream, _)) = control.accept().await {
        let mut said = BufReader::new(stream).lines();
        while let Ok(Some(line)) = said.next_line().await {
            let _followers = lines.send(line.into());
        }
    }
}

async fn accept(sockets: TcpListener, lines: Sender<Utf8Bytes>) {
    while let Ok((stream, _)) = sockets.accept().await {
        tokio::spawn(follow(stream, lines.subscribe()));
    }
}

async fn follow(stream: TcpStream, mut lines: Receiver<Utf8Bytes>) {
    let config = WebSocketConfig::default().read_buffer_size(BUFFER_BYTES).write_buffer_size(0);
    let Ok(mut socket) = accept_async_with_config(stream, Some(config)).await else { return };
    loop {
        tokio::select! {
            line = lines.recv() => {
                let Ok(line) = line else { return };
                if socket.send(Message::Text(line)).await.is_err() {
                    return;
                }
            }
            heard = socket.next() => if !matches!(heard, Some(Ok(_))) {
                return;
            }
        }
    }
}
