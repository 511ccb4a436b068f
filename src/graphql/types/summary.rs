//! A task's stored summary. May import: authority, lifecycle, ids.

use async_graphql::{Enum, ID, SimpleObject};

use crate::authority::SummaryReading;
use crate::ids::Micros;
use crate::lifecycle::{self, Summary};

use super::DateTime;
use super::enums::{ForegroundActivity, PendingAction, SessionState};

/// What an answer can say of a task's summary.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub enum SummaryState {
    /// It is in `statusSummary`, and it holds.
    Present,
    /// It is not part of this answer; keep the one you have.
    Omitted,
    /// It could not be brought up to date. Drop the one you have, unless it came after you asked, and go by
    /// `pendingAction`.
    Invalidated,
}

impl From<&SummaryReading> for SummaryState {
    fn from(reading: &SummaryReading) -> Self {
        match reading {
            SummaryReading::Present(_) => Self::Present,
            SummaryReading::Omitted => Self::Omitted,
            SummaryReading::Invalidated => Self::Invalidated,
        }
    }
}

/// What a task's row says, as one record. A cache: what is pending in it follows from the sessions.
#[derive(SimpleObject)]
pub struct TaskStatusSummary {
    /// A decimal number that rises with every change of the record. Compare as big integers: an older one never
    /// replaces a newer one.
    revision: String,
    /// When the record last changed; rises with the revision.
    updated_at: DateTime,
    /// What somebody has to act on in any session, a permission before a clarification; null: nothing.
    pending_action: Option<PendingAction>,
    /// The newest session that waits for it; null: none does.
    pending_session_id: Option<ID>,
    /// The primary session; null: there is none.
    primary_session: Option<SummarySession>,
    /// What the agent does, as `reportActivity` said; null: nothing was said.
    foreground_activity: Option<ForegroundActivity>,
    /// How many helpers the agent has at work, as `reportActivity` said; null: nothing was said.
    active_subagent_count: Option<u32>,
    /// What went wrong, as `reportError` said; null: nothing.
    active_error: Option<TaskError>,
}

/// A session as a summary names it.
#[derive(SimpleObject)]
pub struct SummarySession {
    /// The session.
    id: ID,
    /// Where it stands.
    state: SessionState,
}

/// What went wrong in a session.
#[derive(SimpleObject)]
pub struct TaskError {
    /// The session.
    session_id: ID,
    /// When it was reported.
    occurred_at: DateTime,
    /// Its first words, at most 512 characters.
    preview: String,
    /// Its kind, in the runtime's words, at most 64 characters; null: none was given.
    category: Option<String>,
    /// What a person can do about it, in the runtime's words; at most 3.
    recovery_actions: Vec<String>,
}

impl From<lifecycle::TaskError> for TaskError {
    fn from(error: lifecycle::TaskError) -> Self {
        Self {
            session_id: error.session_id.as_str().into(),
            occurred_at: Micros(error.occurred_us).into(),
            preview: error.preview,
            category: error.category,
            recovery_actions: error.recovery_actions,
        }
    }
}

impl From<&Summary> for TaskStatusSummary {
    fn from(summary: &Summary) -> Self {
        let primary = |(id, state): (crate::ids::SessionId, lifecycle::SessionState)| SummarySession {
            id: id.as_str().into(),
            state: state.into(),
        };
        Self {
            revision: summary.revision.to_string(),
            updated_at: summary.updated_at.into(),
            pending_action: summary.pending_action().map(Into::into),
            pending_session_id: summary.pending_session().map(|id| id.as_str().into()),
            primary_session: summary.primary_session().map(primary),
            foreground_activity: summary.activity().map(Into::into),
            active_subagent_count: summary.subagents(),
            active_error: summary.error().map(Into::into),
        }
    }
}
