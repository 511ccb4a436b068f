//! The messages of `graphql-transport-ws`, read by hand so that what closes a socket is ours to say.
//! May import: graphql.

use async_graphql::{Response, ServerError};
use serde_json::{Map, Value, json};

use crate::graphql::Incoming;

/// Why a socket is closed; the numbers are the protocol's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Close {
    /// The server is going away.
    GoingAway,
    /// Not a message of the protocol.
    Invalid,
    /// No `connection_init`, or no valid credentials for what was sent.
    Unauthorized,
    /// Refused or expired credentials.
    Forbidden,
    /// No `connection_init` in time.
    InitTimeout,
    /// A message that began and was not complete in time.
    MessageTimeout,
    /// An operation of that id runs.
    DuplicateId,
    /// A second `connection_init`.
    SecondInit,
    /// Too many operations.
    TooMany,
    /// Too many pings.
    TooOften,
    /// Too many sockets; try again later.
    Crowded,
    /// The client does not take what it asked for; it may come back.
    TooSlow,
}

impl Close {
    /// Its name in the metrics.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::GoingAway => "going_away",
            Self::Invalid => "invalid",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::InitTimeout => "init_timeout",
            Self::MessageTimeout => "message_timeout",
            Self::DuplicateId => "duplicate_id",
            Self::SecondInit => "second_init",
            Self::TooMany => "too_many_operations",
            Self::TooOften => "too_many_pings",
            Self::Crowded => "crowded",
            Self::TooSlow => "too_slow",
        }
    }

    /// The code and the reason, at most 123 bytes.
    pub(super) fn frame(self) -> (u16, &'static str) {
        match self {
            Self::GoingAway => (1001, "The server is going away"),
            Self::Invalid => (4400, "Not a message of graphql-transport-ws"),
            Self::Unauthorized => (4401, "Unauthorized"),
            Self::Forbidden => (4403, "Forbidden"),
            Self::InitTimeout => (4408, "Connection initialisation timeout"),
            Self::MessageTimeout => (4408, "A message was not complete in time"),
            Self::DuplicateId => (4409, "Subscriber for this id already exists"),
            Self::SecondInit => (4429, "Too many initialisation requests"),
            Self::TooMany => (4400, "Too many operations on this socket"),
            Self::TooOften => (4400, "Too many pings on this socket"),
            Self::Crowded => (1013, "Too many sockets, try again later"),
            Self::TooSlow => (4499, "Too slow, come back and go on from your cursor"),
        }
    }
}

/// What a client says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FromClient {
    Init(Option<Map<String, Value>>),
    Ping(Option<Value>),
    Pong,
    Subscribe(String, Result<Incoming, String>),
    Complete(String),
}

/// Reads a message.
///
/// # Errors
/// It is none of the protocol's.
pub(super) fn read(text: &str) -> Result<FromClient, Close> {
    let Ok(Value::Object(mut message)) = serde_json::from_str(text) else { return Err(Close::Invalid) };
    let Some(Value::String(kind)) = message.remove("type") else { return Err(Close::Invalid) };
    let payload = message.remove("payload").filter(|payload| !payload.is_null());
    match kind.as_str() {
        "connection_init" => Ok(FromClient::Init(object(payload)?)),
        "ping" => Ok(FromClient::Ping(object(payload)?.map(Value::Object))),
        "pong" => object(payload).map(|_payload| FromClient::Pong),
        "subscribe" => {
            let id = id(&mut message)?;
            let request = object(payload)?.ok_or(Close::Invalid)?;
            // Without a document, only the name of one makes it a request.
            let has_document = ["query", "documentId", "extensions"].iter().any(|key| request.contains_key(*key));
            if !has_document || request.get("query").is_some_and(|query| !query.is_string() && !query.is_null()) {
                return Err(Close::Invalid);
            }
            Ok(FromClient::Subscribe(id, Incoming::of_object(request).map_err(|error| error.message)))
        }
        "complete" => Ok(FromClient::Complete(id(&mut message)?)),
        _ => Err(Close::Invalid),
    }
}

fn object(payload: Option<Value>) -> Result<Option<Map<String, Value>>, Close> {
    match payload {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(Close::Invalid),
    }
}

fn id(message: &mut Map<String, Value>) -> Result<String, Close> {
    match message.remove("id") {
        Some(Value::String(id)) if !id.is_empty() => Ok(id),
        _ => Err(Close::Invalid),
    }
}

pub(super) fn ack() -> String {
    json!({ "type": "connection_ack" }).to_string()
}

/// Echoes the payload of a ping.
pub(super) fn pong(payload: Option<Value>) -> String {
    match payload {
        Some(payload) => json!({ "type": "pong", "payload": payload }).to_string(),
        None => json!({ "type": "pong" }).to_string(),
    }
}

pub(super) fn next(id: &str, response: &Response) -> String {
    json!({ "type": "next", "id": id, "payload": response }).to_string()
}

/// A frame of a subscription, whose payload was written once for all that follow it.
pub(super) fn spliced(kind: &str, id: &str, payload: &str) -> String {
    let id = Value::from(id);
    format!(r#"{{"type":"{kind}","id":{id},"payload":{payload}}}"#)
}

pub(super) fn error(id: &str, errors: &[ServerError]) -> String {
    json!({ "type": "error", "id": id, "payload": errors }).to_string()
}

pub(super) fn complete(id: &str) -> String {
    json!({ "type": "complete", "id": id }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_of_the_protocol_is_invalid() {
        let bad = [
            "",
            "[]",
            "{}",
            r#"{"type":"start","id":"1","payload":{"query":"{a}"}}"#,
            r#"{"type":"connection_init","payload":"x"}"#,
            r#"{"type":"ping","payload":[]}"#,
            r#"{"type":"subscribe","payload":{"query":"{a}"}}"#,
            r#"{"type":"subscribe","id":"","payload":{"query":"{a}"}}"#,
            r#"{"type":"subscribe","id":"1"}"#,
            r#"{"type":"subscribe","id":"1","payload":{}}"#,
            r#"{"type":"complete"}"#,
        ];
        for text in bad {
            assert_eq!(read(text), Err(Close::Invalid), "{text}");
        }
    }

    #[test]
    fn a_subscribe_carries_its_request() {
        let text = r#"{"type":"subscribe","id":"1","payload":{"query":"{a}","variables":{"x":1}}}"#;
        let Ok(FromClient::Subscribe(id, Ok(incoming))) = read(text) else { panic!("{:?}", read(text)) };
        assert_eq!((id.as_str(), incoming.query.as_str()), ("1", "{a}"));
        assert_eq!(incoming.variables.get("x"), Some(&json!(1)));
    }

    #[test]
    fn whatever_a_client_says_is_a_message_with_an_id_or_closes() {
        crate::fuzz::fuzz("messages", 20_000, |bytes| {
            let text = String::from_utf8_lossy(bytes);
            match read(&text) {
                Ok(FromClient::Subscribe(id, _) | FromClient::Complete(id)) => assert!(!id.is_empty()),
                Ok(FromClient::Ping(payload)) => {
                    let echo: Value = serde_json::from_str(&pong(payload.clone())).unwrap();
                    assert_eq!(echo.get("payload"), payload.as_ref());
                }
                Ok(FromClient::Init(_) | FromClient::Pong) => {}
                Err(close) => assert_eq!(close, Close::Invalid),
            }
        });
    }

    #[test]
    fn every_reason_fits_a_close_frame() {
        let all = [
            Close::GoingAway,
            Close::Invalid,
            Close::Unauthorized,
            Close::Forbidden,
            Close::InitTimeout,
            Close::MessageTimeout,
            Close::DuplicateId,
            Close::SecondInit,
            Close::TooMany,
            Close::TooOften,
            Close::Crowded,
            Close::TooSlow,
        ];
        assert!(all.iter().all(|close| close.frame().1.len() <= 123));
    }
}
