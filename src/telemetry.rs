//! The log: to stderr, as text or JSON. Content of questions and answers, and tokens, are never in it.
//! May import: config.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use crate::config::LogFormat;

/// What is logged unless `RUST_LOG` says otherwise.
const FILTER: &str = "info";

/// Starts the log of this process; a second call changes nothing. `cap` is a directive that nothing overrides.
pub fn start(format: LogFormat, caps: &str) {
    let mut filter = EnvFilter::try_from_default_env().unwrap_or_else(|_unset| EnvFilter::new(FILTER));
    for directive in caps.split(',').filter_map(|cap| cap.parse().ok()) {
        filter = filter.add_directive(directive);
    }
    let log = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    // Already started: tests share a process.
    let _is_started = started.is_ok();
}
