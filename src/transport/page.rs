//! The page at `/`: the web example where it was built into this binary, else one small file that does without. And
//! GraphiQL, for development. Nothing of any comes from elsewhere. May import: nothing of this crate.

use std::collections::BTreeMap;

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
/// The same for GraphiQL, whose editor makes its styles as it goes and works in the background.
const EDITOR: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'unsafe-inline'; \
                      font-src 'self' data:; img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
/// The same for the small file, which has its script and style within.
const INLINE: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Every document of the page, by its name there.
pub fn page_documents() -> BTreeMap<String, String> {
    let own = find("/documents.json").and_then(|file| std::str::from_utf8(file.bytes).ok());
    serde_json::from_str(own.unwrap_or_else(inline_documents)).unwrap_or_default()
}

/// Those of the small file stand in it as JSON.
fn inline_documents() -> &'static str {
    let (_, rest) = PAGE.split_once("id=\"documents\">").unwrap_or_default();
    rest.split_once("</script>").unwrap_or_default().0
}

/// Serves it, and what it loads.
pub(super) async fn page(uri: Uri, headers: HeaderMap) -> Response {
    let path = if uri.path() == "/" { "/index.html" } else { uri.path() };
    match find(path) {
        Some(file) => serve(file, POLICY, &headers),
        None if uri.path() == "/" => {
            (guarded(INLINE), [(header::CONTENT_TYPE, media(path))], PAGE).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Serves GraphiQL, and what it loads.
pub(super) async fn graphiql(uri: Uri, headers: HeaderMap) -> Response {
    let path = if uri.path() == "/graphiql" { "/graphiql/index.html" } else { uri.path() };
    match find(path) {
        Some(file) => serve(file, EDITOR, &headers),
        None => {
            (StatusCode::NOT_FOUND, "this binary was built without npm, and so without GraphiQL\n").into_response()
        }
    }
}

fn find(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

fn serve(file: &File, policy: &'static str, headers: &HeaderMap) -> Response {
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|tag| tag == file.tag);
    let status = if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let body = if is_known { Body::empty() } else { Body::from(file.bytes) };
    let about = [(header::CONTENT_TYPE, media(file.path)), (header::ETAG, file.tag)];
    (status, guarded(policy), about, body).into_response()
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
        Some("ttf") => "font/ttf",
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
        assert_eq!(serve(&file, POLICY, &headers).status(), StatusCode::OK);
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("\"1\""));
        assert_eq!(serve(&file, POLICY, &headers).status(), StatusCode::NOT_MODIFIED);
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("\"0\""));
        assert_eq!(serve(&file, POLICY, &headers).status(), StatusCode::OK);
    }

    #[test]
    fn the_web_example_runs_no_script_or_style_that_stands_in_a_page() {
        assert!(!POLICY.contains("unsafe"));
        assert!(POLICY.starts_with("default-src 'none'"));
    }

    #[test]
    fn the_documents_of_either_page_are_known() {
        let inline: BTreeMap<String, String> = serde_json::from_str(inline_documents()).unwrap();
        let script = PAGE.replace(inline_documents(), "");
        for name in inline.keys() {
            assert!(script.contains(&format!("DOCUMENTS.{name}")), "{name}");
        }
        assert!(
            !script.contains("query {") && !script.contains("mutation(") && !script.contains("subscription {")
        );
        let is_built = find("/index.html").is_some();
        assert_eq!(page_documents() == inline, !is_built);
        assert!(page_documents().len() >= inline.len());
    }

    #[test]
    fn no_page_loads_or_tells_anything_elsewhere() {
        for policy in [POLICY, EDITOR, INLINE] {
            assert!(policy.starts_with("default-src 'none'") && policy.contains("connect-src 'self'"), "{policy}");
            assert!(!policy.contains("http") && !policy.contains('*'), "{policy}");
        }
    }
}
