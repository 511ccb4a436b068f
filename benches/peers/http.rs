//! A connection that posts GraphQL requests, one after the other. By hand, for its work is part of what is measured.
//! May import: nothing.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

const ANSWER: Duration = Duration::from_secs(20);

pub struct Http {
    stream: BufReader<TcpStream>,
    host: SocketAddr,
}

/// The body of a request.
pub fn request(query: &str, variables: &Value) -> String {
    json!({ "query": query, "variables": variables }).to_string()
}

impl Http {
    pub async fn connect(host: SocketAddr) -> Result<Self, String> {
        let stream = TcpStream::connect(host).await.map_err(|error| format!("{host}: {error}"))?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(Self { stream: BufReader::with_capacity(1 << 16, stream), host })
    }

    /// The one field of an answer without errors.
    pub async fn call(&mut self, query: &str, variables: Value) -> Result<Value, String> {
        let body = self.post(&request(query, &variables)).await?;
        let mut answer: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        let field =
            answer.get_mut("data").and_then(Value::as_object_mut).and_then(|data| data.values_mut().next());
        let field = field.map(Value::take);
        field.filter(|_| answer.get("errors").is_none()).ok_or_else(|| format!("{query}: {answer}"))
    }

    /// The body of the answer, in time and with status 200.
    pub async fn post(&mut self, body: &str) -> Result<Vec<u8>, String> {
        let answer = tokio::time::timeout(ANSWER, self.exchange(body)).await;
        answer.map_err(|elapsed| elapsed.to_string())?.map_err(|error| error.to_string())
    }

    async fn exchange(&mut self, body: &str) -> io::Result<Vec<u8>> {
        let head = format!(
            "POST /graphql HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json\r\n\
            content-length: {}\r\n\r\n",
            self.host,
            body.len()
        );
        self.stream.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice()).await?;
        let status = self.line().await?;
        if !status.starts_with("HTTP/1.1 200") {
            return Err(io::Error::other(status));
        }
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let line = self.line().await?.to_ascii_lowercase();
            match line.split_once(':') {
                None => break,
                Some(("content-length", value)) => length = number(value.trim(), 10)?,
                Some(("transfer-encoding", value)) => is_chunked = value.trim() == "chunked",
                Some(_) => {}
            }
        }
        let mut answer = Vec::new();
        if !is_chunked {
            self.read(&mut answer, length).await?;
            return Ok(answer);
        }
        loop {
            let length = number(&self.line().await?, 16)?;
            self.read(&mut answer, length).await?;
            self.line().await?;
            if length == 0 {
                return Ok(answer);
            }
        }
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    async fn read(&mut self, into: &mut Vec<u8>, length: usize) -> io::Result<()> {
        let from = into.len();
        into.resize(from + length, 0);
        let rest = into.get_mut(from..).unwrap_or_default();
        self.stream.read_exact(rest).await.map(drop)
    }
}

fn number(text: &str, radix: u32) -> io::Result<usize> {
    usize::from_str_radix(text, radix).map_err(io::Error::other)
}
