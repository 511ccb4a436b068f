//! GraphQL over HTTP: POST of JSON, and GET for queries. May import: graphql, authority, access.

use std::convert::Infallible;
use std::sync::Arc;

use async_graphql::{Response as Answer, ServerError};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde_json::{Map, Value, json};

use crate::access::Viewer;
use crate::graphql::{
    Code, Incoming, Kind, Receipts, enter, failure, finish, is_request_error, prepare, server_error,
};

use super::State as Server;

const JSON: &str = "application/json";
const GRAPHQL: &str = "application/graphql-response+json";

/// A response that is no execution.
struct Rejected(StatusCode, ServerError);

fn rejected<T>(status: StatusCode, code: Code, message: impl Into<String>) -> Result<T, Rejected> {
    Err(Rejected(status, server_error(code, message)))
}

/// The one endpoint.
pub(super) async fn graphql(State(server): State<Arc<Server>>, request: Request) -> Response {
    let Some(media) = accepted(request.headers()) else {
        let error = server_error(Code::BadRequest, format!("answers come as {GRAPHQL} or {JSON}"));
        return respond(JSON, Rejected(StatusCode::NOT_ACCEPTABLE, error));
    };
    match answer(&server, request).await {
        Ok((answer, receipts)) => write(media, &answer, receipts),
        Err(rejected) => respond(media, rejected),
    }
}

async fn answer(server: &Server, request: Request) -> Result<(Answer, Receipts), Rejected> {
    let viewer = identify(server, request.headers()).await?;
    let method = request.method().clone();
    let incoming = match method {
        Method::POST => posted(request).await?,
        Method::GET => queried(&request)?,
        _ => return rejected(StatusCode::METHOD_NOT_ALLOWED, Code::BadRequest, "send GET or POST"),
    };
    let bad = |error| Rejected(StatusCode::BAD_REQUEST, error);
    let prepared = prepare(&server.limits, incoming).map_err(bad)?;
    match (prepared.kind, method) {
        (Kind::Mutation, Method::GET) => {
            return rejected(StatusCode::METHOD_NOT_ALLOWED, Code::BadRequest, "a mutation is sent by POST");
        }
        (Kind::Subscription, _) => {
            return rejected(StatusCode::BAD_REQUEST, Code::BadRequest, "a subscription is sent to /graphql/ws");
        }
        _ => {}
    }
    let (request, receipts) = enter(prepared.request, &server.authority, viewer);
    let executed = server.schema.execute(request);
    let answer = match prepared.kind {
        Kind::Query => match tokio::time::timeout(server.settings.query, executed).await {
            Ok(answer) => answer,
            Err(_elapsed) => {
                return rejected(StatusCode::SERVICE_UNAVAILABLE, Code::Timeout, "the query took too long");
            }
        },
        _ => executed.await,
    };
    Ok((finish(answer), receipts))
}

/// The bearer of a request.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

async fn identify(server: &Server, headers: &HeaderMap) -> Result<Viewer, Rejected> {
    let viewer = match (headers.get(header::AUTHORIZATION), bearer(headers)) {
        (Some(_), None) => Err(crate::authority::Error::Unauthenticated),
        (_, token) => server.authority.authenticate(token).await,
    };
    viewer.map_err(|error| {
        let (code, error) = failure(&error);
        let is_unknown = code == Code::Unauthenticated;
        Rejected(if is_unknown { StatusCode::UNAUTHORIZED } else { StatusCode::SERVICE_UNAVAILABLE }, error)
    })
}

async fn posted(request: Request) -> Result<Incoming, Rejected> {
    let media =
        request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !is_json(media) {
        let message = format!("the body must be {JSON} in UTF-8");
        return rejected(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::BadRequest, message);
    }
    let body = match Bytes::from_request(request, &()).await {
        Ok(body) => body,
        Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return rejected(StatusCode::PAYLOAD_TOO_LARGE, Code::LimitExceeded, "the body is too large");
        }
        Err(_broken) => return rejected(StatusCode::BAD_REQUEST, Code::BadRequest, "the body cannot be read"),
    };
    let bad = |error| Rejected(StatusCode::BAD_REQUEST, error);
    match serde_json::from_slice(&body) {
        Ok(Value::Object(object)) => Incoming::of_object(object).map_err(bad),
        Ok(_) => rejected(StatusCode::BAD_REQUEST, Code::BadRequest, "the body must be one JSON object"),
        Err(error) => {
            let message = format!("the body is no JSON: line {}, column {}", error.line(), error.column());
            rejected(StatusCode::BAD_REQUEST, Code::BadRequest, message)
        }
    }
}

fn is_json(media: &str) -> bool {
    let mut parts = media.split(';').map(str::trim);
    let is_type = parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case(JSON));
    let is_utf8 = |part: &str| match part.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    };
    is_type && parts.all(is_utf8)
}

/// `query`, `operationName`, `variables` and `extensions` of a query string; the latter two hold JSON.
fn queried(request: &Request) -> Result<Incoming, Rejected> {
    let bad = |error| Rejected(StatusCode::BAD_REQUEST, error);
    let Ok(Query(pairs)) = Query::<Vec<(String, String)>>::try_from_uri(request.uri()) else {
        return rejected(StatusCode::BAD_REQUEST, Code::BadRequest, "the query string cannot be read");
    };
    let mut object = Map::new();
    for (name, text) in pairs {
        let value = match name.as_str() {
            "variables" | "extensions" => match serde_json::from_str(&text) {
                Ok(value) => value,
                Err(_error) => {
                    return rejected(StatusCode::BAD_REQUEST, Code::BadRequest, format!("{name} must be JSON"));
                }
            },
            _ => Value::String(text),
        };
        object.insert(name, value);
    }
    Incoming::of_object(object).map_err(bad)
}

/// The media type of the answer; none: the client takes neither.
fn accepted(headers: &HeaderMap) -> Option<&'static str> {
    let Some(accept) = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()) else {
        return Some(JSON);
    };
    let offers = accept.split(',').map(|part| part.split(';').next().unwrap_or_default().trim());
    offers.into_iter().find_map(|offer| match offer {
        GRAPHQL => Some(GRAPHQL),
        JSON | "application/*" | "*/*" => Some(JSON),
        _ => None,
    })
}

fn respond(media: &'static str, Rejected(status, error): Rejected) -> Response {
    let body = json!({ "errors": [error] });
    let mut response = (status, [(header::CONTENT_TYPE, content_type(media))], body.to_string()).into_response();
    let headers = response.headers_mut();
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Writes an answer; what waits for proof of its receipt has it when the body was taken to its end.
fn write(media: &'static str, answer: &Answer, receipts: Receipts) -> Response {
    if is_request_error(answer) {
        let body = json!({ "errors": answer.errors });
        let head = [(header::CONTENT_TYPE, content_type(media))];
        return (StatusCode::BAD_REQUEST, head, body.to_string()).into_response();
    }
    let Ok(body) = serde_json::to_vec(answer) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let end = stream::once(async move {
        receipts.received();
        Ok::<_, Infallible>(Bytes::new())
    });
    let body = stream::once(async { Ok(Bytes::from(body)) }).chain(end);
    ([(header::CONTENT_TYPE, content_type(media))], Body::from_stream(body)).into_response()
}

fn content_type(media: &'static str) -> HeaderValue {
    HeaderValue::from_static(if media == GRAPHQL {
        "application/graphql-response+json; charset=utf-8"
    } else {
        "application/json; charset=utf-8"
    })
}
