//! What the writer lane has before it: its connection, the views that stand since the last decision of their session,
//! and what a group of jobs writes once. This process is the only one that writes the file, and every change of a
//! session passes the door, so a view that was kept is what a load would give.
//! May import: the store's shared parts, lifecycle, ids.

use std::collections::{BTreeMap, HashMap};

use crate::ids::{Epoch, Micros, SessionId, TaskId};
use crate::lifecycle::{Change, Decision, Focus, Refusal, SessionView};
use crate::store::error::Error;
use crate::store::rows::Decided;

use super::connection::Conn;
use super::statements::{focus, tasks, transact, view};

/// The lane's working place.
pub(in crate::store) struct Desk {
    pub(super) conn: Conn,
    views: Views,
    touched: BTreeMap<TaskId, Micros>,
}

impl Desk {
    pub(super) fn new(conn: Conn, views_max: usize) -> Self {
        Self { conn, views: Views { kept: HashMap::new(), max: views_max }, touched: BTreeMap::new() }
    }

    /// The door: see [`crate::store::Store::transact`].
    pub(super) async fn transact<F>(
        &mut self,
        session: &SessionId,
        focus: &Focus,
        epoch: Epoch,
        decide: F,
    ) -> Result<Result<Decided, Refusal>, Error>
    where
        F: Fn(&SessionView) -> Result<Decision, Refusal> + Send,
    {
        let mut view = match self.views.take(session, epoch) {
            Some(view) => view,
            None => view::standing(&mut self.conn, session, Some(epoch)).await?,
        };
        focus::add(&mut self.conn, session, focus, Some(epoch), &mut view).await?;
        let decision = match decide(&view) {
            Ok(decision) => decision,
            Err(refusal) => {
                self.views.keep(session, epoch, view, &[]);
                return Ok(Err(refusal));
            }
        };
        let touched = transact::touched(&view, &decision);
        let decided = transact::write(&mut self.conn, session, &view, decision).await?;
        if let Some((task, at)) = touched {
            let latest = self.touched.entry(task).or_insert(at);
            *latest = at.max(*latest);
        }
        self.views.keep(session, epoch, view, &decided.decision.changes);
        Ok(Ok(decided))
    }

    /// Writes what the group's decisions have in common.
    pub(super) async fn write_touched(&mut self) -> Result<(), Error> {
        for (task, at) in std::mem::take(&mut self.touched) {
            tasks::touch(&mut self.conn, &task, at).await?;
        }
        Ok(())
    }

    /// Something beside a decision is written: every view is loaded anew.
    pub(super) fn forget_views(&mut self) {
        self.views.kept.clear();
    }

    /// The group was rolled back: none of it stands.
    pub(super) fn forget(&mut self) {
        self.forget_views();
        self.touched.clear();
    }
}

/// Views by session, each with the generation that was alive when it was loaded.
struct Views {
    kept: HashMap<SessionId, (Epoch, SessionView)>,
    max: usize,
}

impl Views {
    /// Takes the view out: a job that fails leaves none behind.
    fn take(&mut self, session: &SessionId, epoch: Epoch) -> Option<SessionView> {
        let (own, view) = self.kept.remove(session)?;
        (own == epoch).then_some(view)
    }

    fn keep(&mut self, session: &SessionId, epoch: Epoch, mut view: SessionView, changes: &[Change]) {
        if self.max == 0 || view.session.is_none() || !changes.iter().all(Change::keeps_standing) {
            return;
        }
        changes.iter().for_each(|change| view.apply(change));
        view.forget_focus();
        if self.kept.len() >= self.max
            && let Some(any) = self.kept.keys().next().cloned()
        {
            self.kept.remove(&any);
        }
        self.kept.insert(session.clone(), (epoch, view));
    }
}
