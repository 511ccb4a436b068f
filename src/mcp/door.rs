//! The door in front of `rmcp`: who calls, for which session, and a watch on the response.
//!
//! The bearer token names the session. Without any token in the store the server is loopback only and has one local
//! user, who names the session by `?session=ID` or the header `X-Answerable-Session`; with tokens both are ignored.
//! May import: authority, access, ids, metrics.

use std::hash::{BuildHasher, RandomState};

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio_util::sync::CancellationToken;

use crate::access::{Role, Viewer};
use crate::authority::{Authority, Error};
use crate::ids::SessionId;
use crate::metrics::{Outcome, Transport};

use super::watch::Watch;

/// Names the session where no token does.
const SESSION_HEADER: &str = "x-answerable-session";
/// The transport's own session, of protocol revisions before 2026-07-28.
const MCP_SESSION_HEADER: &str = "mcp-session-id";

/// What the door needs.
#[derive(Clone, Debug)]
pub(super) struct Door {
    pub(super) authority: Authority,
    pub(super) closing: CancellationToken,
    /// Keys of this process that tie an MCP session to who began it.
    pub(super) seal: RandomState,
}

/// Who calls.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    /// The principal; an agent's is bound to its session.
    pub(super) viewer: Viewer,
}

/// Lets a request in with its [`Caller`] and [`Watch`], or answers 401.
pub(super) async fn enter(State(door): State<Door>, mut request: Request, next: Next) -> Response {
    let caller = match identify(&door.authority, claims(&request)).await {
        Ok(caller) => caller,
        Err(Error::Unauthenticated) => return unauthorized(request.headers().contains_key(AUTHORIZATION)),
        Err(error) => {
            tracing::error!(%error, "a caller could not be identified");
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
    };
    if !unseal(&door.seal, &caller, request.headers_mut()) {
        return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
    }
    // rmcp logs requests in its debug level; a token has no business there.
    request.headers_mut().remove(AUTHORIZATION);
    let watch = Watch::default();
    let guard = watch.guard();
    let is_standalone = request.method() == Method::GET;
    request.extensions_mut().insert(caller.clone());
    request.extensions_mut().insert(watch);
    let mut response = next.run(request).await;
    let outcome = if response.status().is_success() { Outcome::Ok } else { Outcome::Rejected };
    door.authority.metrics().requested(Transport::Mcp, outcome);
    seal(&door.seal, &caller, response.headers_mut());
    response.map(|body| guard.wrap(body, is_standalone.then(|| door.closing.clone())))
}

/// What a request says about its caller.
enum Claims {
    /// A token, or something else in its place.
    Token(Option<String>),
    /// No token; perhaps a session.
    Local(Option<SessionId>),
}

fn claims(request: &Request) -> Claims {
    match request.headers().get(AUTHORIZATION) {
        Some(header) => Claims::Token(header.to_str().ok().and_then(bearer).map(str::to_owned)),
        None => Claims::Local(named_session(request)),
    }
}

async fn identify(authority: &Authority, claims: Claims) -> Result<Caller, Error> {
    let viewer = match claims {
        Claims::Token(None) => return Err(Error::Unauthenticated),
        Claims::Token(Some(token)) => authority.authenticate(Some(&token)).await?,
        Claims::Local(session) => as_named(authority.authenticate(None).await?, session),
    };
    Ok(Caller { viewer })
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The local user who names a session stands for that session's agent.
fn as_named(local: Viewer, session: Option<SessionId>) -> Viewer {
    match session {
        Some(id) => Viewer { role: Role::Agent, session: Some(id), ..local },
        None => local,
    }
}

fn named_session(request: &Request) -> Option<SessionId> {
    let header = request.headers().get(SESSION_HEADER).and_then(|value| value.to_str().ok());
    let mut pairs = request.uri().query().unwrap_or_default().split('&');
    let query = pairs.find_map(|pair| pair.strip_prefix("session="));
    header.or(query).filter(|id| !id.is_empty()).map(SessionId::new)
}

fn unauthorized(has_token: bool) -> Response {
    let challenge = if has_token {
        "Bearer realm=\"answerable\", error=\"invalid_token\""
    } else {
        "Bearer realm=\"answerable\""
    };
    let text = "Unauthorized: send the token of a session as `Authorization: Bearer TOKEN`";
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, HeaderValue::from_static(challenge))], text).into_response()
}

/// An MCP session id leaves with a tag of its caller, so that nobody else can listen to it.
fn seal(seal: &RandomState, caller: &Caller, headers: &mut HeaderMap) {
    let Some(id) = headers.get(MCP_SESSION_HEADER).and_then(|value| value.to_str().ok()) else { return };
    let sealed = format!("{id}.{:016x}", tag(seal, caller, id));
    if let Ok(value) = HeaderValue::from_str(&sealed) {
        headers.insert(MCP_SESSION_HEADER, value);
    }
}

/// Takes the tag off; false: this session is unknown, or somebody else's.
fn unseal(seal: &RandomState, caller: &Caller, headers: &mut HeaderMap) -> bool {
    let Some(value) = headers.get(MCP_SESSION_HEADER) else { return true };
    let Some((id, given)) = value.to_str().ok().and_then(|text| text.rsplit_once('.')) else { return false };
    let is_own = given == format!("{:016x}", tag(seal, caller, id));
    let bare = HeaderValue::from_str(id);
    match bare {
        Ok(bare) if is_own => headers.insert(MCP_SESSION_HEADER, bare).is_some(),
        _ => false,
    }
}

fn tag(seal: &RandomState, caller: &Caller, id: &str) -> u64 {
    let session = caller.viewer.session.as_ref().map(SessionId::as_str);
    seal.hash_one((caller.viewer.principal.as_str(), session, id))
}

#[cfg(test)]
mod tests {
    use crate::ids::PrincipalId;
    use crate::scope::Scope;

    use super::*;

    fn caller(name: &str) -> Caller {
        let (principal, scope) = (PrincipalId::new(name), Scope::All);
        Caller { viewer: Viewer { principal, role: Role::Agent, scope, session: Some(SessionId::new("s")) } }
    }

    #[test]
    fn an_mcp_session_is_found_by_who_began_it_only() {
        let keys = RandomState::new();
        let mut headers = HeaderMap::new();
        headers.insert(MCP_SESSION_HEADER, HeaderValue::from_static("abc"));
        seal(&keys, &caller("one"), &mut headers);
        assert!(!unseal(&keys, &caller("two"), &mut headers.clone()));
        assert!(unseal(&keys, &caller("one"), &mut headers));
        assert_eq!(headers.get(MCP_SESSION_HEADER), Some(&HeaderValue::from_static("abc")));
        assert!(!unseal(&keys, &caller("one"), &mut headers), "a bare id is nobody's");
    }

    #[test]
    fn a_session_is_named_by_header_or_query() {
        let by = |uri: &str| Request::builder().uri(uri).body(axum::body::Body::empty()).unwrap();
        assert_eq!(named_session(&by("/mcp")), None);
        assert_eq!(named_session(&by("/mcp?session=")), None);
        assert_eq!(named_session(&by("/mcp?a=b&session=x")), Some(SessionId::new("x")));
        let mut request = by("/mcp?session=x");
        request.headers_mut().insert(SESSION_HEADER, HeaderValue::from_static("y"));
        assert_eq!(named_session(&request), Some(SessionId::new("y")));
    }

    #[test]
    fn only_the_bearer_scheme_carries_a_token() {
        assert_eq!(bearer("Bearer  abc "), Some("abc"));
        assert_eq!(bearer("bearer abc"), Some("abc"));
        assert_eq!(bearer("Basic abc"), None);
        assert_eq!(bearer("abc"), None);
    }
}
