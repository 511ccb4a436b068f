//! The log, to stderr as text or JSON, and traces to a collector where one is named. Content of questions and answers,
//! and tokens, are in neither. May import: config.

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_subscriber::filter::{FilterExt, LevelFilter, ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

use crate::config::LogFormat;

/// How the house is named in traces; spans of others are not sent.
const NAME: &str = "answerable";

/// The log or the traces cannot be started as they were set.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The filter, or a cap, is none.
    #[error("log_filter: {0}")]
    Filter(#[from] ParseError),
    /// The collector cannot be used.
    #[error("otlp_endpoint: {0}")]
    Collector(#[from] ExporterBuildError),
}

/// Log and traces of this process. [`Telemetry::end`] sends what is not sent yet.
#[derive(Debug, Default)]
#[must_use = "the last traces are sent by its end"]
pub struct Telemetry(Option<SdkTracerProvider>);

impl Telemetry {
    /// Sends the last traces; what a collector does not take in time is lost.
    pub fn end(self) {
        if let Some(Err(error)) = self.0.map(|provider| provider.shutdown()) {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// Starts the log of this process with a filter such as `info,answerable=debug`; a second call changes nothing.
/// `caps` are directives above which nothing is written, whatever the filter says. `collector`: where OTLP over HTTP is
/// spoken, such as `http://localhost:4318`; without it no trace is made.
///
/// # Errors
/// The filter, a cap or the collector's address cannot be used.
pub fn start(format: LogFormat, filter: &str, caps: &str, collector: Option<&str>) -> Result<Telemetry, Error> {
    let caps: Targets = caps.parse()?;
    let filter = EnvFilter::builder().parse(filter)?.and(caps.with_default(LevelFilter::TRACE));
    let provider = collector.map(provider).transpose()?;
    let log = fmt::layer().with_writer(std::io::stderr);
    let log = match format {
        LogFormat::Text => log.boxed(),
        LogFormat::Json => log.json().boxed(),
    };
    let started = registry().with(log.with_filter(filter)).with(provider.as_ref().map(traces)).try_init();
    // Already started: tests share a process.
    let _is_started = started.is_ok();
    Ok(Telemetry(provider))
}

fn provider(collector: &str) -> Result<SdkTracerProvider, ExporterBuildError> {
    let endpoint = format!("{}/v1/traces", collector.trim_end_matches('/'));
    let exporter =
        SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).with_endpoint(endpoint).build()?;
    let resource = Resource::builder().with_service_name(NAME).build();
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
}

fn traces<S>(provider: &SdkTracerProvider) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let own = Targets::new().with_target(NAME, LevelFilter::INFO);
    // Events may quote what failed; a trace has spans only.
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer(NAME));
    layer.with_filter(own).with_filter(tracing_subscriber::filter::filter_fn(|about| about.is_span()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_is_none_is_refused_by_the_name_of_its_setting() {
        let error = start(LogFormat::Text, "answerable=loud", "", None).unwrap_err();
        assert!(error.to_string().starts_with("log_filter: "), "{error}");
    }
}
