//! Counts what the connections execute, and shows it to tests. May import: nothing of this crate.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use diesel::connection::{Instrumentation, InstrumentationEvent};

/// Counters of one open store.
#[derive(Debug, Default)]
pub(super) struct Meter {
    statements: AtomicU64,
    record: Mutex<Option<Vec<String>>>,
}

impl Meter {
    /// Statements executed; those that only open or close a transaction do not count.
    pub(super) fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// Starts to keep the text of each statement with its values.
    #[cfg(test)]
    pub(super) fn record(&self) {
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
    }

    /// The statements kept since, and stops.
    #[cfg(test)]
    pub(super) fn recorded(&self) -> Vec<String> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }

    fn count(&self, text: &dyn std::fmt::Display) {
        self.statements.fetch_add(1, Ordering::Relaxed);
        if let Some(record) = self.record.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            record.push(text.to_string());
        }
    }
}

/// Feeds a connection's events to the meter.
pub(super) fn instrument(meter: Arc<Meter>) -> impl Instrumentation {
    let mut is_transaction_step = false;
    move |event: InstrumentationEvent<'_>| match event {
        InstrumentationEvent::BeginTransaction { .. }
        | InstrumentationEvent::CommitTransaction { .. }
        | InstrumentationEvent::RollbackTransaction { .. } => is_transaction_step = true,
        InstrumentationEvent::StartQuery { query, .. } if !std::mem::take(&mut is_transaction_step) => {
            meter.count(query);
        }
        _ => {}
    }
}
