//! The log: to stderr, as text or JSON. Content of questions and answers, and tokens, are never in it.
//! May import: config.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt;

use crate::config::LogFormat;

/// The log cannot be started as it was set.
#[derive(Debug, thiserror::Error)]
#[error("log_filter: {0}")]
pub struct Error(#[from] ParseError);

/// Starts the log of this process with a filter such as `info,answerable=debug`; a second call changes nothing.
/// `caps` are directives that nothing overrides.
///
/// # Errors
/// The filter, or a cap, is none.
pub fn start(format: LogFormat, filter: &str, caps: &str) -> Result<(), Error> {
    let mut filter = EnvFilter::builder().parse(filter)?;
    for cap in caps.split(',').filter(|cap| !cap.is_empty()) {
        filter = filter.add_directive(cap.parse()?);
    }
    let log = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    // Already started: tests share a process.
    let _is_started = started.is_ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_is_none_is_refused_by_the_name_of_its_setting() {
        let error = start(LogFormat::Text, "answerable=loud", "").unwrap_err();
        assert!(error.to_string().starts_with("log_filter: "), "{error}");
    }
}
