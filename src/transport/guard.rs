//! From where a browser may come. A page of another origin never gets through, and without tokens only loopback
//! names are accepted as host, so that no name of an attacker's can lead here (H-15).
//! May import: its siblings.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority as HostPort;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::State as Server;

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Refuses foreign hosts and origins.
pub(super) async fn check(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let settings = &server.settings;
    match judge(request.headers(), request.uri(), &settings.public_hosts, settings.is_loopback_only) {
        Ok(()) => next.run(request).await,
        Err(reason) => (StatusCode::FORBIDDEN, reason).into_response(),
    }
}

fn judge(
    headers: &HeaderMap,
    uri: &Uri,
    public_hosts: &[String],
    is_loopback_only: bool,
) -> Result<(), &'static str> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let named = text(header::HOST).and_then(|host| host.parse::<HostPort>().ok()).or(uri.authority().cloned());
    let Some(host) = named else { return Err("this host is not known here\n") };
    let is_loopback = LOOPBACK.contains(&host.host());
    let is_public = public_hosts.iter().any(|public| public == host.host() || public == host.as_str());
    if !is_loopback && !is_public && is_loopback_only {
        return Err("this host is not known here\n");
    }
    match text(header::ORIGIN) {
        None => Ok(()),
        Some(origin) if is_same(origin, &host) => Ok(()),
        Some(_) => Err("this origin is not allowed here\n"),
    }
}

/// A page of this very server.
fn is_same(origin: &str, host: &HostPort) -> bool {
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    authority.is_some_and(|authority| authority == host.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(host: &str, origin: Option<&str>, is_loopback_only: bool) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        let public = ["answers.example.org".to_owned()];
        judge(&headers, &Uri::from_static("/graphql"), &public, is_loopback_only).is_ok()
    }

    #[test]
    fn without_tokens_only_loopback_and_named_hosts_lead_here() {
        assert!(judged("127.0.0.1:8787", None, true));
        assert!(judged("localhost:8787", None, true));
        assert!(judged("[::1]:8787", None, true));
        assert!(judged("answers.example.org", None, true));
        assert!(!judged("evil.example.org:8787", None, true));
        assert!(judged("evil.example.org:8787", None, false));
    }

    #[test]
    fn a_page_of_another_origin_gets_nowhere() {
        assert!(judged("127.0.0.1:8787", Some("http://127.0.0.1:8787"), true));
        for origin in ["http://evil.example.org", "http://127.0.0.1:9999", "null"] {
            assert!(!judged("127.0.0.1:8787", Some(origin), true), "{origin}");
            assert!(!judged("127.0.0.1:8787", Some(origin), false), "{origin}");
        }
    }
}
