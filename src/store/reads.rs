//! Reads; each one sees one snapshot. Pages are bounded by their limit and go by keys.
//! May import: ids, scope, lifecycle.

use std::collections::HashMap;

use crate::ids::{
    ClaimId, Epoch, MessageId, Micros, Ordinal, PendingId, Position, SessionId, StoreId, TaskId, TokenId, TurnId,
    WorkspaceId,
};
use crate::lifecycle::{ClaimFate, OutboxRow};
use crate::scope::Scope;

use super::{
    BundleRow, Engine, Error, MessageRowOut, OutboxSpan, Page, PendingFilter, SessionRow, Store, TaskFilter,
    TaskKey, TaskListRow, TaskRow, TokenRow, TurnRow, Violation, Workspace, run,
};

impl Store {
    /// The store's identity; it changes only at creation or restore from a backup.
    ///
    /// # Errors
    /// The world broke.
    pub async fn store_id(&self) -> Result<StoreId, Error> {
        run!(self.read(generations::store_id))
    }

    /// The newest backend generation, or 0.
    ///
    /// # Errors
    /// The world broke.
    pub async fn newest_epoch(&self) -> Result<Epoch, Error> {
        run!(self.read(generations::newest))
    }

    /// Generations that are over and whose work is not taken up yet, the oldest first.
    ///
    /// # Errors
    /// The world broke.
    pub async fn epochs_unrecovered(&self) -> Result<Vec<Epoch>, Error> {
        run!(self.read(generations::unrecovered))
    }

    /// Sessions in which a dead generation left something to recover, ordered by id.
    ///
    /// # Errors
    /// The world broke.
    pub async fn sessions_to_recover(&self) -> Result<Vec<SessionId>, Error> {
        run!(self.read(recovery::sessions_to_recover))
    }

    /// Open turns of sessions whose executor has one of those names, ordered by session.
    ///
    /// # Errors
    /// The world broke.
    pub async fn open_turns(&self, executors: &[String]) -> Result<Vec<(SessionId, TurnId)>, Error> {
        let executors = executors.to_vec();
        run!(self.read(recovery::open_turns, executors))
    }

    /// Watchdogs of sessions with one of these executors, the earliest deadline first, from behind the one that is
    /// named by its deadline and turn.
    ///
    /// # Errors
    /// The world broke.
    pub async fn watchdogs(
        &self,
        executors: &[String],
        after: Option<(Micros, TurnId)>,
        limit: i64,
    ) -> Result<Vec<(SessionId, TurnId, Micros)>, Error> {
        let executors = executors.to_vec();
        run!(self.read(recovery::watchdogs, executors, after, limit))
    }

    /// Events that the bus has not taken, in commit order.
    ///
    /// # Errors
    /// The world broke.
    pub async fn outbox_unaccepted(&self, after: Position, limit: i64) -> Result<Vec<OutboxRow>, Error> {
        run!(self.read(outbox::unaccepted, after, limit))
    }

    /// Events after a position, in commit order.
    ///
    /// # Errors
    /// The world broke.
    pub async fn outbox_after(&self, after: Position, limit: i64) -> Result<Vec<OutboxRow>, Error> {
        run!(self.read(outbox::after, after, limit))
    }

    /// The position of the newest event, or 0.
    ///
    /// # Errors
    /// The world broke.
    pub async fn outbox_tip(&self) -> Result<Position, Error> {
        run!(self.read(outbox::tip))
    }

    /// From where to where the log reaches.
    ///
    /// # Errors
    /// The world broke.
    pub async fn outbox_span(&self) -> Result<OutboxSpan, Error> {
        run!(self.read(outbox::span))
    }

    /// Up to where the oldest events, at most `limit`, are accepted and older than `before`; None: nothing is.
    ///
    /// # Errors
    /// The world broke.
    pub async fn outbox_over(&self, before: Micros, limit: i64) -> Result<Option<Position>, Error> {
        run!(self.read(outbox::over, before, limit))
    }

    /// All workspaces, oldest first.
    ///
    /// # Errors
    /// The world broke.
    pub async fn workspaces(&self) -> Result<Vec<Workspace>, Error> {
        run!(self.read(tasks::workspaces))
    }

    /// A task.
    ///
    /// # Errors
    /// The world broke.
    pub async fn task(&self, id: &TaskId) -> Result<Option<TaskRow>, Error> {
        let id = id.clone();
        run!(self.read(tasks::load, &id))
    }

    /// The token of that hash. One bound to a session is absent when that is gone, failed or cancelled; whether it is
    /// expired or revoked stands in the row.
    ///
    /// # Errors
    /// The world broke.
    pub async fn token_by_hash(&self, hash: &[u8; 32]) -> Result<Option<TokenRow>, Error> {
        let hash = *hash;
        run!(self.read(tokens::by_hash, &hash))
    }

    /// The token of that id, whether it still stands or not.
    ///
    /// # Errors
    /// The world broke.
    pub async fn token(&self, id: &TokenId) -> Result<Option<TokenRow>, Error> {
        let id = id.clone();
        run!(self.read(tokens::by_id, &id))
    }

    /// How many tokens there are, revoked ones too.
    ///
    /// # Errors
    /// The world broke.
    pub async fn token_count(&self) -> Result<i64, Error> {
        run!(self.read(tokens::count))
    }

    /// A page of tasks, newest activity first, each with its sessions; two statements whatever the page.
    ///
    /// # Errors
    /// The world broke.
    pub async fn tasks_page(
        &self,
        scope: &Scope,
        filter: &TaskFilter,
        after: Option<TaskKey>,
        limit: i64,
    ) -> Result<Vec<TaskListRow>, Error> {
        let scope = scope.clone();
        let filter = filter.clone();
        run!(self.read(lists::tasks_page, &scope, &filter, after.as_ref(), limit))
    }

    /// Sessions of those tasks, newest first, at most so many of each.
    ///
    /// # Errors
    /// The world broke.
    pub async fn sessions_of_tasks(
        &self,
        ids: &[TaskId],
        limit_per_task: i64,
    ) -> Result<HashMap<TaskId, Vec<SessionRow>>, Error> {
        let ids = ids.to_vec();
        run!(self.read(lists::sessions_of_tasks, &ids, limit_per_task))
    }

    /// Tasks of those ids, each with its newest sessions, in no order; ids that name none are left out.
    ///
    /// # Errors
    /// The world broke.
    pub async fn tasks_of(&self, ids: &[TaskId], limit_per_task: i64) -> Result<Vec<TaskListRow>, Error> {
        let ids = ids.to_vec();
        run!(self.read(lists::tasks_of, &ids, limit_per_task))
    }

    /// Sessions of those ids, in no order; ids that name none are left out.
    ///
    /// # Errors
    /// The world broke.
    pub async fn sessions(&self, ids: &[SessionId]) -> Result<Vec<SessionRow>, Error> {
        let ids = ids.to_vec();
        run!(self.read(lists::sessions, &ids))
    }

    /// Bundles of those ids, oldest first; ids that name none are left out.
    ///
    /// # Errors
    /// The world broke.
    pub async fn bundles(&self, ids: &[PendingId]) -> Result<Vec<BundleRow>, Error> {
        let ids = ids.to_vec();
        run!(self.read(bundles::load, &ids))
    }

    /// The inbox: active bundles, oldest first, after that one (when asked, id).
    ///
    /// # Errors
    /// The world broke.
    pub async fn pending_page(
        &self,
        scope: &Scope,
        filter: &PendingFilter,
        after: Option<(Micros, PendingId)>,
        limit: i64,
    ) -> Result<Vec<BundleRow>, Error> {
        let scope = scope.clone();
        let filter = filter.clone();
        run!(self.read(bundles::pending_page, &scope, &filter, after.as_ref(), limit))
    }

    /// Bundles of a session, newest first.
    ///
    /// # Errors
    /// The world broke.
    pub async fn bundles_of_session(&self, session: &SessionId, limit: i64) -> Result<Vec<BundleRow>, Error> {
        let session = session.clone();
        run!(self.read(bundles::of_session, &session, limit))
    }

    /// Where a bundle belongs.
    ///
    /// # Errors
    /// The world broke.
    pub async fn session_of_bundle(
        &self,
        id: &PendingId,
    ) -> Result<Option<(SessionId, TaskId, WorkspaceId)>, Error> {
        let id = id.clone();
        run!(self.read(bundles::session_of_bundle, &id))
    }

    /// Where a turn belongs.
    ///
    /// # Errors
    /// The world broke.
    pub async fn session_of_turn(&self, id: &TurnId) -> Result<Option<(SessionId, TaskId, WorkspaceId)>, Error> {
        let id = id.clone();
        run!(self.read(bundles::session_of_turn, &id))
    }

    /// Where a message belongs.
    ///
    /// # Errors
    /// The world broke.
    pub async fn session_of_message(
        &self,
        id: &MessageId,
    ) -> Result<Option<(SessionId, TaskId, WorkspaceId)>, Error> {
        let id = id.clone();
        run!(self.read(bundles::session_of_message, &id))
    }

    /// What became of a claim, by its rows.
    ///
    /// # Errors
    /// The world broke.
    pub async fn claim_fate(&self, pending: &PendingId, claim: &ClaimId) -> Result<ClaimFate, Error> {
        let pending = pending.clone();
        let claim = claim.clone();
        run!(self.read(bundles::claim_fate, &pending, &claim))
    }

    /// Turns of those ids, visible or not, in no order.
    ///
    /// # Errors
    /// The world broke.
    pub async fn turns(&self, ids: &[TurnId]) -> Result<Vec<TurnRow>, Error> {
        let ids = ids.to_vec();
        run!(self.read(transcript::turns, &ids))
    }

    /// Visible turns of a session after an ordinal, in order.
    ///
    /// # Errors
    /// The world broke.
    pub async fn turns_page(
        &self,
        session: &SessionId,
        after: Option<Ordinal>,
        limit: i64,
    ) -> Result<Vec<TurnRow>, Error> {
        let session = session.clone();
        run!(self.read(transcript::turns_page, &session, after, limit))
    }

    /// Turns whose dispatch has an unknown outcome.
    ///
    /// # Errors
    /// The world broke.
    pub async fn ambiguous(&self, limit: i64) -> Result<Vec<TurnRow>, Error> {
        run!(self.read(transcript::ambiguous, limit))
    }

    /// Reservations that no worker has claimed, of sessions with that executor; of one session, where one is named.
    ///
    /// # Errors
    /// The world broke.
    pub async fn offered(
        &self,
        scope: &Scope,
        executor: &str,
        session: Option<&SessionId>,
        limit: i64,
    ) -> Result<Vec<TurnRow>, Error> {
        let (scope, executor, session) = (scope.clone(), executor.to_owned(), session.cloned());
        run!(self.read(transcript::offered, &scope, &executor, session.as_ref(), limit))
    }

    /// Messages of those ids, in no order.
    ///
    /// # Errors
    /// The world broke.
    pub async fn messages(&self, ids: &[MessageId]) -> Result<Vec<MessageRowOut>, Error> {
        let ids = ids.to_vec();
        run!(self.read(transcript::messages, &ids))
    }

    /// A page of a session's messages by (created, id); backward: newest first.
    ///
    /// # Errors
    /// The world broke.
    pub async fn messages_page(&self, session: &SessionId, page: Page) -> Result<Vec<MessageRowOut>, Error> {
        let session = session.clone();
        run!(self.read(transcript::messages_page, &session, &page))
    }

    /// Question rows that are inert because they cannot be read, with their sessions.
    ///
    /// # Errors
    /// The world broke.
    pub async fn inert_questions(&self, limit: i64) -> Result<Vec<(SessionId, MessageId)>, Error> {
        run!(self.read(recovery::inert_questions, limit))
    }

    /// How many question rows are inert because they cannot be read.
    ///
    /// # Errors
    /// The world broke.
    pub async fn inert_rows(&self) -> Result<i64, Error> {
        run!(self.read(recovery::inert_rows))
    }

    /// Everything in the database that breaks an invariant, in one snapshot; reads all of it.
    ///
    /// # Errors
    /// The world broke.
    pub async fn check(&self) -> Result<Vec<Violation>, Error> {
        run!(self.read(check::violations))
    }

    /// What the database says of its own pages: nothing, if it is whole. Reads all of it.
    ///
    /// # Errors
    /// The world broke.
    pub async fn damage(&self) -> Result<Vec<String>, Error> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.damage().await,
            Engine::Postgres(engine) => engine.damage().await,
        }
    }
}
