//! Task status summaries: one row a task, written by whoever saw the revision before. May import: the store's shared
//! parts.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;

use crate::ids::{EventId, Micros, Sequence, TaskId};
use crate::lifecycle::{EventKind, Summary, SummaryPatch};
use crate::store::error::Error;
use crate::store::rows::{Settled, TaskRow};
use crate::store::schema::task_status_summaries as summaries;

use super::lists::tasks_of;
use super::tasks::{announce, place};
use super::{Conn, seam};

/// What a reader needs of the row.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = summaries)]
pub(in crate::store) struct SummaryRecord {
    revision: i64,
    summary: String,
    updated_us: i64,
}

impl SummaryRecord {
    /// The row's text is an object, by its CHECK.
    pub(super) fn read(self) -> Option<Summary> {
        let Ok(Value::Object(fields)) = serde_json::from_str(&self.summary) else { return None };
        Some(Summary { revision: Sequence(self.revision), updated_at: Micros(self.updated_us), fields })
    }
}

/// Brings a task's summary up to what its sessions say, with what is reported, and says so where it changed. The
/// sessions are read in the same transaction.
pub(in crate::store) async fn settle(
    conn: &mut Conn,
    id: &TaskId,
    patch: &SummaryPatch,
    now: Micros,
    event: EventId,
) -> Result<Settled, Error> {
    seam::lock_task(conn, id).await?;
    let Some(row) = tasks_of(conn, std::slice::from_ref(id), 0).await?.into_iter().next() else {
        return Ok(Settled::Gone);
    };
    let next = Summary::next(row.summary.as_ref(), &row.facts(), patch, now)
        .map_err(|error| Error::Corrupt(format!("task {id}: {error}")))?;
    match (next, row.summary) {
        (None, None) => Ok(Settled::Lost),
        (None, Some(summary)) => Ok(Settled::Told { summary, is_new: false }),
        (Some(summary), held) => {
            if !put(conn, &row.task, held.map(|held| held.revision), &summary).await? {
                return Ok(Settled::Lost);
            }
            announce(conn, &place(&row.task, now), event, EventKind::TaskChanged).await?;
            Ok(Settled::Told { summary, is_new: true })
        }
    }
}

/// Stores a summary where the stored one still has that revision, or where there still is none; false: it was not so.
pub(in crate::store) async fn put(
    conn: &mut Conn,
    task: &TaskRow,
    expected: Option<Sequence>,
    summary: &Summary,
) -> Result<bool, Error> {
    let text = Value::Object(summary.fields.clone()).to_string();
    let set = (
        summaries::workspace_id.eq(task.workspace_id.as_str()),
        summaries::revision.eq(summary.revision.0),
        summaries::summary.eq(text),
        summaries::updated_us.eq(summary.updated_at.0),
    );
    let written = match expected {
        None => {
            let row = (summaries::task_id.eq(task.id.as_str()), set);
            diesel::insert_into(summaries::table).values(row).on_conflict_do_nothing().execute(conn).await?
        }
        Some(revision) => {
            let row = summaries::table
                .filter(summaries::task_id.eq(task.id.as_str()))
                .filter(summaries::revision.eq(revision.0));
            diesel::update(row).set(set).execute(conn).await?
        }
    };
    Ok(written == 1)
}
