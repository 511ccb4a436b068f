//! GraphQL over HTTP: POST of JSON, and GET for what does not write. May import: graphql, authority, access, metrics.

use std::convert::Infallible;
use std::sync::Arc;

use async_graphql::{Response as Answer, ServerError};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tracing::Instrument;

use crate::access::Viewer;
use crate::graphql::{
    Code, Incoming, Kind, Prepared, Receipts, enter, failure, finish, has_code, is_request_error, prepare,
    server_error,
};
use crate::metrics::{Outcome, Transport};

use super::State as Server;
use super::accept::is_late;
use super::events::{self, Kept};
use super::feed::Item;
use super::media::Media;
use super::metering;

const JSON: &str = "application/json";

/// A response that is no execution.
pub(super) struct Rejected(pub(super) StatusCode, ServerError);

fn rejected<T>(status: StatusCode, code: Code, message: impl Into<String>) -> Result<T, Rejected> {
    Err(Rejected(status, server_error(code, message)))
}

/// The one endpoint.
pub(super) async fn graphql(State(server): State<Arc<Server>>, request: Request) -> Response {
    // GET is refused for what it carries only.
    let allowed = if request.method() == Method::GET { "POST" } else { "GET, POST" };
    let Some(media) = Media::accepted(request.headers()) else {
        let [json, graphql, events] = Media::OFFERED.map(Media::essence);
        let error = server_error(Code::BadRequest, format!("answers come as {graphql}, {json} or {events}"));
        return server.reject(Media::Json, allowed, Rejected(StatusCode::NOT_ACCEPTABLE, error));
    };
    answer(&server, media, request).await.unwrap_or_else(|rejected| server.reject(media, allowed, rejected))
}

impl Server {
    fn reject(&self, media: Media, allowed: &'static str, rejected: Rejected) -> Response {
        metering::rejected(self.authority.metrics(), media.transport(), &rejected.1);
        respond(media, allowed, rejected)
    }
}

async fn answer(server: &Arc<Server>, media: Media, request: Request) -> Result<Response, Rejected> {
    let viewer = identify(server, request.headers()).await?;
    let token = bearer(request.headers()).map(str::to_owned);
    let method = request.method().clone();
    let behind = events::last_event_id(request.headers()).map(str::to_owned);
    let incoming = match method {
        Method::POST => posted(server, request).await?,
        Method::GET => queried(&request)?,
        _ => return rejected(StatusCode::METHOD_NOT_ALLOWED, Code::BadRequest, "send GET or POST"),
    };
    if method == Method::GET && !server.settings.is_get_open && incoming.document_id.is_none() {
        let message = "here GET takes trusted documents only, by their hash; send others by POST";
        return rejected(StatusCode::METHOD_NOT_ALLOWED, Code::BadRequest, message);
    }
    let admitted = server.documents.admit(incoming).and_then(|incoming| prepare(&server.limits, incoming));
    let prepared = admitted.map_err(|error| Rejected(unexecuted(media, &error), error))?;
    match (prepared.kind, method, media) {
        (Kind::Mutation, Method::GET, _) => {
            rejected(StatusCode::METHOD_NOT_ALLOWED, Code::BadRequest, "a mutation is sent by POST")
        }
        (Kind::Subscription, _, Media::EventStream) => {
            follow(server, prepared.into(), token, viewer, behind.as_deref()).await
        }
        (Kind::Subscription, ..) => {
            let message = "a subscription asks for text/event-stream, or goes to /graphql/ws";
            rejected(StatusCode::BAD_REQUEST, Code::BadRequest, message)
        }
        _ => Ok(execute(server, media, prepared, viewer).await),
    }
}

async fn execute(server: &Server, media: Media, prepared: Prepared, viewer: Viewer) -> Response {
    let start = Instant::now();
    let (request, receipts) = enter(prepared.request, &server.authority, viewer);
    let span = metering::span(media.transport(), prepared.kind);
    let executed = server.schema.execute(request).instrument(span);
    let answer = match prepared.kind {
        Kind::Mutation => executed.await,
        _ => tokio::time::timeout(server.settings.query, executed).await.unwrap_or_else(|_elapsed| too_slow()),
    };
    let answer = finish(answer);
    metering::answered(server.authority.metrics(), media.transport(), &answer, start);
    write(media, &answer, receipts)
}

/// The answer to a query that was given up.
pub(super) fn too_slow() -> Answer {
    Answer::from_errors(vec![server_error(Code::Timeout, "the query took too long")])
}

/// Opens a stream once it is known that there is something to follow.
async fn follow(
    server: &Arc<Server>,
    incoming: Incoming,
    token: Option<String>,
    viewer: Viewer,
    behind: Option<&str>,
) -> Result<Response, Rejected> {
    let crowded = || {
        let error = server_error(Code::Busy, "too many connections are open; try again later");
        Rejected(StatusCode::SERVICE_UNAVAILABLE, error)
    };
    let slot = server.slots.take().ok_or_else(crowded)?;
    let own = server.slots.own(&viewer.principal).ok_or_else(crowded)?;
    let held = server.credentials.hold(token, viewer.clone());
    let mut items = server.feeds.follow(incoming, viewer, behind);
    match items.next().await {
        Some(Item::Error(errors)) => {
            server.authority.metrics().requested(Transport::Events, Outcome::Rejected);
            let head = [(header::CONTENT_TYPE, Media::EventStream.content_type())];
            Ok((StatusCode::BAD_REQUEST, head, format!(r#"{{"errors":{errors}}}"#)).into_response())
        }
        first => {
            let items = Box::pin(stream::iter(first).chain(items));
            let metrics = server.authority.metrics();
            metrics.requested(Transport::Events, Outcome::Ok);
            let kept = Kept { held, slots: (slot, own), counted: metrics.connection(Transport::Events) };
            Ok(events::followed(server.clone(), items, kept))
        }
    }
}

/// The status of a well-formed request that was not executed. Clients of plain JSON expect a success even then,
/// unless a limit was passed.
fn unexecuted(media: Media, error: &ServerError) -> StatusCode {
    match media {
        _ if has_code(error, &[Code::Timeout]) => StatusCode::SERVICE_UNAVAILABLE,
        Media::Json if has_code(error, &[Code::ParseFailed, Code::ValidationFailed]) => StatusCode::OK,
        Media::Json | Media::Graphql | Media::EventStream => StatusCode::BAD_REQUEST,
    }
}

/// The bearer of a request.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

pub(super) async fn identify(server: &Server, headers: &HeaderMap) -> Result<Viewer, Rejected> {
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

async fn posted(server: &Server, request: Request) -> Result<Incoming, Rejected> {
    let media =
        request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !is_json(media) {
        let message = format!("the body must be {JSON} in UTF-8");
        return rejected(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::BadRequest, message);
    }
    let bad = |error| Rejected(StatusCode::BAD_REQUEST, error);
    let body = match Bytes::from_request(request, &()).await {
        Ok(body) => body,
        Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return rejected(StatusCode::PAYLOAD_TOO_LARGE, Code::LimitExceeded, "the body is too large");
        }
        Err(error) if is_late(&error) => {
            return rejected(StatusCode::REQUEST_TIMEOUT, Code::BadRequest, "the body did not come in time");
        }
        Err(_broken) => return rejected(StatusCode::BAD_REQUEST, Code::BadRequest, "the body cannot be read"),
    };
    let Ok(text) = std::str::from_utf8(&body) else {
        return rejected(StatusCode::BAD_REQUEST, Code::BadRequest, "the body is not UTF-8");
    };
    server.limits.check_json(text).map_err(bad)?;
    match serde_json::from_str(text) {
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

fn respond(media: Media, allowed: &'static str, Rejected(status, error): Rejected) -> Response {
    let body = json!({ "errors": [error] });
    let mut response = (status, [(header::CONTENT_TYPE, media.content_type())], body.to_string()).into_response();
    let headers = response.headers_mut();
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Writes an answer; what waits for proof of its receipt has it when the body was taken to its end.
fn write(media: Media, answer: &Answer, receipts: Receipts) -> Response {
    let head = [(header::CONTENT_TYPE, media.content_type())];
    if is_request_error(answer) {
        let status = answer.errors.first().map_or(StatusCode::BAD_REQUEST, |error| unexecuted(media, error));
        return (status, head, json!({ "errors": answer.errors }).to_string()).into_response();
    }
    let Ok(body) = serde_json::to_string(answer) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    if media == Media::EventStream {
        return events::answered(&body, move || receipts.received());
    }
    let end = stream::once(async move {
        receipts.received();
        Ok::<_, Infallible>(Bytes::new())
    });
    let body = stream::once(async { Ok(Bytes::from(body)) }).chain(end);
    (head, Body::from_stream(body)).into_response()
}
