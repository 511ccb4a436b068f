//! The page at `/`: what waits for an answer, and a way to give it. One file, nothing from elsewhere.
//! May import: nothing of this crate.

use axum::http::header;
use axum::response::IntoResponse;

const PAGE: &str = include_str!("page.html");
/// Nothing is loaded from elsewhere, and nobody may frame it.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Serves it.
pub(super) async fn page() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, PAGE)
}
