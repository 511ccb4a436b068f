//! What runtimes report for a task's summary. May import: authority, lifecycle, ids.

use async_graphql::{Context, ID, InputObject, MaybeUndefined, Object, Result};

use crate::authority::{ActivityReport, Error, ErrorReport};
use crate::ids::SessionId;
use crate::lifecycle::{FieldCode, FieldError, Patch, Refusal};

use super::super::context::{authority, viewer};
use super::super::types::ForegroundActivity;
use super::tasks::TaskPayload;
use super::{answer, refused, result_union};

/// What an agent does. A field that is left out stays as it is; null empties it.
#[derive(InputObject)]
pub struct ReportActivityInput {
    /// The agent's session.
    session_id: ID,
    /// What it does.
    activity: MaybeUndefined<ForegroundActivity>,
    /// How many helpers it has at work, 0 or more.
    subagent_count: MaybeUndefined<i32>,
}

/// What went wrong.
#[derive(InputObject)]
pub struct TaskErrorInput {
    /// Its first words, at most 512 characters.
    preview: String,
    /// Its kind, in the runtime's words, at most 64 characters; null: none.
    category: Option<String>,
    /// What a person can do about it, in the runtime's words: at most 3 of at most 64 characters.
    #[graphql(default)]
    recovery_actions: Vec<String>,
}

result_union! {
    /// What came of a report.
    ReportResult(TaskPayload)
}

#[derive(Default)]
pub struct Reports;

#[Object]
impl Reports {
    /// Tells what a session's agent does, for the summary of its task. For runtimes.
    async fn report_activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What it does.")] input: ReportActivityInput,
    ) -> Result<ReportResult> {
        let subagents = match patch(input.subagent_count) {
            Patch::Set(count) => match u32::try_from(count) {
                Ok(count) => Patch::Set(count),
                Err(_) => return refused(negative()),
            },
            Patch::Clear => Patch::Clear,
            Patch::Keep => Patch::Keep,
        };
        let report = ActivityReport { activity: patch(input.activity.map_value(Into::into)), subagents };
        let session = SessionId::new(input.session_id.0);
        let done = authority(ctx)?.report_activity(viewer(ctx)?, &session, report).await;
        answer(done, |id| ReportResult::Done(TaskPayload { id }))
    }

    /// Tells what went wrong in a session, for the summary of its task. For runtimes.
    async fn report_error(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session's id.")] session_id: ID,
        #[graphql(desc = "What went wrong; null: nothing is wrong any more.")] error: Option<TaskErrorInput>,
    ) -> Result<ReportResult> {
        let report = error.map(|TaskErrorInput { preview, category, recovery_actions }| ErrorReport {
            preview,
            category,
            recovery_actions,
        });
        let done = authority(ctx)?.report_error(viewer(ctx)?, &SessionId::new(session_id.0), report).await;
        answer(done, |id| ReportResult::Done(TaskPayload { id }))
    }
}

fn patch<T>(value: MaybeUndefined<T>) -> Patch<T> {
    match value {
        MaybeUndefined::Undefined => Patch::Keep,
        MaybeUndefined::Null => Patch::Clear,
        MaybeUndefined::Value(value) => Patch::Set(value),
    }
}

fn negative() -> Error {
    let message = "subagentCount is less than 0".into();
    let path = "subagentCount".into();
    Refusal::Invalid(vec![FieldError { path, code: FieldCode::NotAllowed, limit: Some(0), message }]).into()
}
