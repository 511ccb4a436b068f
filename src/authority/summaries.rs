//! Task status summaries. The truth is what the sessions say; a summary is a cache with a revision, brought up to date
//! when something happened and by whoever reads it (architecture section 9). May import: store, access, lifecycle, ids.

use std::collections::{HashMap, HashSet};
use std::future::Future;

use futures_util::stream::{self, StreamExt};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::sync::CancellationToken;

use crate::access::Viewer;
use crate::ids::{SessionId, TaskId};
use crate::lifecycle::{
    EventKind, ForegroundActivity, OutboxRow, Patch, Refusal, Summary, SummaryPatch, TaskError,
};
use crate::store::{Settled, TaskListRow};

use super::identify::allow;
use super::{Authority, Error};

/// Summaries that are brought up to date at a time, for one reader.
const AT_ONCE: usize = 8;

/// What a read can say of a task's summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SummaryReading {
    /// This is it, and it says what the sessions say.
    Present(Summary),
    /// Not part of this answer: what was known before still holds.
    Omitted,
    /// It could not be brought up to date: what was known before may be wrong.
    Invalidated,
}

/// A task as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskReading {
    /// The task with its sessions.
    pub row: TaskListRow,
    /// Its summary, which may be newer than they are.
    pub summary: SummaryReading,
}

/// What a runtime tells of an agent's work; what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityReport {
    /// What it does.
    pub activity: Patch<ForegroundActivity>,
    /// How many helpers it has at work.
    pub subagents: Patch<u32>,
}

/// What a runtime tells of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorReport {
    /// Its first words.
    pub preview: String,
    /// Its kind, in the runtime's words.
    pub category: Option<String>,
    /// What a person can do about it, in the runtime's words.
    pub recovery_actions: Vec<String>,
}

impl Authority {
    /// Tells what the agent of a session does; nothing else of the summary moves.
    ///
    /// # Errors
    /// Not found; the summary could not be written.
    pub async fn report_activity(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        report: ActivityReport,
    ) -> Result<TaskId, Error> {
        let ActivityReport { activity, subagents } = report;
        self.report(viewer, session, SummaryPatch { activity, subagents, error: Patch::Keep }).await
    }

    /// Tells what went wrong in a session, or that nothing is wrong any more; nothing else of the summary moves.
    ///
    /// # Errors
    /// Not found; a text over its limit; the summary could not be written.
    pub async fn report_error(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        report: Option<ErrorReport>,
    ) -> Result<TaskId, Error> {
        let now = self.0.parts.clock.now();
        let error = report.map(|report| TaskError {
            session_id: session.clone(),
            occurred_us: now.0,
            preview: report.preview,
            category: report.category,
            recovery_actions: report.recovery_actions,
        });
        if let Some(error) = &error {
            error.check().map_err(Refusal::Invalid)?;
        }
        self.report(viewer, session, SummaryPatch { error: error.into(), ..SummaryPatch::default() }).await
    }

    async fn report(&self, viewer: &Viewer, session: &SessionId, patch: SummaryPatch) -> Result<TaskId, Error> {
        allow(viewer.may_run())?;
        let session = self.own_session(viewer, session).await?;
        let task = self.task_of(&session).await?;
        self.settle_summary(&task, &patch).await?.ok_or(Refusal::NotFound)?;
        Ok(task)
    }

    /// Shows each task with a summary that holds, after bringing those up to date that do not; where that fails the
    /// reader is told so, and what the sessions say is there all the same.
    pub(super) async fn with_summaries(&self, rows: Vec<TaskListRow>) -> Vec<TaskReading> {
        let stale = rows.iter().filter(|row| !is_told(row)).take(self.limits().summary_repairs_max);
        let ids: Vec<TaskId> = stale.map(|row| row.task.id.clone()).collect();
        let mut repaired: HashMap<TaskId, SummaryReading> = stream::iter(ids)
            .map(|id| async move { (id.clone(), self.repair(&id).await) })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        rows.into_iter().map(|row| reading(row, &mut repaired)).collect()
    }

    async fn repair(&self, task: &TaskId) -> SummaryReading {
        match self.settle_summary(task, &SummaryPatch::default()).await {
            Ok(Some(summary)) => SummaryReading::Present(summary),
            Ok(None) => SummaryReading::Omitted,
            Err(error) => {
                tracing::warn!(%error, task.id = %task, "a summary could not be brought up to date");
                SummaryReading::Invalidated
            }
        }
    }

    /// The summary says what the sessions say, durably; true where it does. Before a response is told to be retryable
    /// its task shows the question again, or the teller says that it does not.
    pub(super) async fn converge(&self, session: &SessionId) -> bool {
        let settled = async {
            let task = self.task_of(session).await?;
            self.settle_summary(&task, &SummaryPatch::default()).await
        };
        let settled = settled.await;
        if let Err(error) = &settled {
            tracing::warn!(%error, session.id = %session, "a summary did not converge");
        }
        settled.is_ok()
    }

    /// Writes the summary as it has to be. Another writer that was quicker is looked at again, a few times; None: the
    /// task is gone.
    async fn settle_summary(&self, task: &TaskId, patch: &SummaryPatch) -> Result<Option<Summary>, Error> {
        let store = self.store().with_deadline(self.limits().summary);
        for attempt in 0..self.limits().summary_attempts {
            if attempt > 0 {
                tokio::time::sleep(self.limits().summary_pause * attempt).await;
            }
            let (now, event) = (self.0.parts.clock.now(), self.event_id());
            match store.summary_settle(task, patch.clone(), now, event).await? {
                Settled::Told { summary, is_new } => {
                    if is_new {
                        self.0.parts.relay.wake();
                    }
                    return Ok(Some(summary));
                }
                Settled::Gone => return Ok(None),
                Settled::Lost => {}
            }
        }
        Err(Error::busy("other writers of the summary were quicker each time"))
    }

    /// Brings summaries up to date as things happen, from the moment of this call on. What it misses, a reader repairs.
    pub fn keep_summaries(self) -> impl Future<Output = ()> + Send + use<> {
        let live = self.bus().subscribe();
        let stop = self.0.parts.tasks.stop();
        async move { self.follow_sessions(live, stop).await }
    }

    /// A shutdown ends the listening and not a write: what that announces is taken to the bus before the store closes.
    async fn follow_sessions(&self, mut live: Receiver<OutboxRow>, stop: CancellationToken) {
        loop {
            let mut tasks = HashSet::new();
            match stop.run_until_cancelled(live.recv()).await {
                Some(Ok(row)) => note(&mut tasks, row),
                Some(Err(RecvError::Lagged(_))) => {}
                Some(Err(RecvError::Closed)) | None => return,
            }
            stop.run_until_cancelled(tokio::time::sleep(self.limits().summary_settle)).await;
            while let Ok(row) = live.try_recv() {
                note(&mut tasks, row);
            }
            let settled = stream::iter(tasks).map(|task| async move { self.repair(&task).await });
            settled.buffer_unordered(AT_ONCE).for_each(|_| std::future::ready(())).await;
        }
    }

    async fn task_of(&self, session: &SessionId) -> Result<TaskId, Error> {
        let rows = self.store().sessions(std::slice::from_ref(session)).await?;
        Ok(rows.into_iter().next().ok_or(Refusal::NotFound)?.session.task_id)
    }
}

fn note(tasks: &mut HashSet<TaskId>, row: OutboxRow) {
    let moves = [EventKind::ProjectionChanged, EventKind::SessionStateChanged, EventKind::SessionDeleted];
    if moves.contains(&row.event.kind) {
        tasks.insert(row.task_id);
    }
}

fn is_told(row: &TaskListRow) -> bool {
    row.summary.as_ref().is_some_and(|summary| summary.says(&row.facts()))
}

fn reading(mut row: TaskListRow, repaired: &mut HashMap<TaskId, SummaryReading>) -> TaskReading {
    let is_told = is_told(&row);
    let held = row.summary.take();
    let summary = match (repaired.remove(&row.task.id), held) {
        (Some(repaired), _) => repaired,
        (None, Some(held)) if is_told => SummaryReading::Present(held),
        (None, Some(_)) => SummaryReading::Invalidated,
        (None, None) => SummaryReading::Omitted,
    };
    TaskReading { row, summary }
}
