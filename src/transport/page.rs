//! The page at `/`: the web example where it was built into this binary, else one small file that does without.
//! Nothing of either comes from elsewhere. May import: nothing of this crate.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

/// A built file. `tag` names its content.
pub(super) struct File {
    path: &'static str,
    tag: &'static str,
    bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/web.rs"));

const PAGE: &str = include_str!("page.html");
/// Only this server's own files run, and nobody may frame them.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The same for the small file, which has its script and style within.
const INLINE: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Serves it, and what it loads.
pub(super) async fn page(uri: Uri, headers: HeaderMap) -> Response {
    let path = if uri.path() == "/" { "/index.html" } else { uri.path() };
    match FILES.iter().find(|file| file.path == path) {
        Some(file) => serve(file, &headers),
        None if uri.path() == "/" => {
            (guarded(INLINE), [(header::CONTENT_TYPE, media(path))], PAGE).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn serve(file: &File, headers: &HeaderMap) -> Response {
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|tag| tag == file.tag);
    let status = if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let body = if is_known { Body::empty() } else { Body::from(file.bytes) };
    let about = [(header::CONTENT_TYPE, media(file.path)), (header::ETAG, file.tag)];
    (status, guarded(POLICY), about, body).into_response()
}

fn guarded(policy: &'static str) -> [(HeaderName, HeaderValue); 4] {
    let value = HeaderValue::from_static;
    [
        (header::CONTENT_SECURITY_POLICY, value(policy)),
        (header::REFERRER_POLICY, value("no-referrer")),
        (header::X_CONTENT_TYPE_OPTIONS, value("nosniff")),
        (header::CACHE_CONTROL, value("no-cache")),
    ]
}

fn media(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_holds_already_is_not_sent_again() {
        let file = File { path: "/a.js", tag: "\"1\"", bytes: b"1" };
        let mut headers = HeaderMap::new();
        assert_eq!(serve(&file, &headers).status(), StatusCode::OK);
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("\"1\""));
        assert_eq!(serve(&file, &headers).status(), StatusCode::NOT_MODIFIED);
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("\"0\""));
        assert_eq!(serve(&file, &headers).status(), StatusCode::OK);
    }

    #[test]
    fn the_web_example_runs_no_script_or_style_that_stands_in_a_page() {
        assert!(!POLICY.contains("unsafe"));
        assert!(POLICY.starts_with("default-src 'none'"));
    }
}
