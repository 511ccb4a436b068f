//! `/metrics`, and what the transports count. May import: graphql, authority, access, metrics, config.

use std::sync::Arc;

use async_graphql::{Response as Answer, ServerError};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use crate::config::MetricsReaders;
use crate::graphql::{Kind, is_request_error, said};
use crate::metrics::{MEDIA, Metrics, Outcome, Transport};

use super::State as Server;
use super::http::identify;

/// Writes the metrics for who may read them. For everybody else there are none.
pub(super) async fn metrics(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    let may_read = match server.settings.metrics {
        MetricsReaders::Nobody => false,
        MetricsReaders::Anyone => true,
        MetricsReaders::Operators => match identify(&server, &headers).await {
            Ok(viewer) => viewer.may_operate() && viewer.session.is_none(),
            Err(rejected) => return rejected.0.into_response(),
        },
    };
    if !may_read {
        return StatusCode::NOT_FOUND.into_response();
    }
    let sample = server.authority.sample().await;
    match server.authority.metrics().render(sample) {
        Ok(text) => ([(header::CONTENT_TYPE, MEDIA)], text).into_response(),
        Err(_unwritten) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The span of a query or mutation. It has nothing of the document: its text may be an answer.
pub(super) fn span(transport: Transport, kind: Kind) -> tracing::Span {
    tracing::info_span!("graphql", transport = transport.label(), ?kind)
}

/// A query or mutation was answered.
pub(super) fn answered(metrics: &Metrics, transport: Transport, answer: &Answer, start: Instant) {
    metrics.took(transport, start.elapsed());
    let outcome = match answer.errors.is_empty() {
        true => Outcome::Ok,
        false if is_request_error(answer) => Outcome::Rejected,
        false => Outcome::Errors,
    };
    metrics.requested(transport, outcome);
    failed(metrics, &answer.errors);
}

/// A request was not executed.
pub(super) fn rejected(metrics: &Metrics, transport: Transport, error: &ServerError) {
    metrics.requested(transport, Outcome::Rejected);
    failed(metrics, std::slice::from_ref(error));
}

/// Errors were told.
pub(super) fn failed(metrics: &Metrics, errors: &[ServerError]) {
    errors.iter().filter_map(said).for_each(|code| metrics.failed(code.as_str()));
}
