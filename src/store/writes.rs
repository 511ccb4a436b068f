//! Small writes beside the door: generations, event acceptance, workspaces, tasks, tokens. Each is one job.
//! May import: ids, lifecycle.

use std::time::Duration;

use crate::ids::{Epoch, EventId, Micros, Position, TaskId, TokenId};

use crate::lifecycle::SummaryPatch;

use super::{Error, Settled, Store, TaskPatch, TaskRow, TokenRow, Workspace, run};

impl Store {
    /// Gives out the next backend generation of a server (CP-56). Over are then its older ones and all that said
    /// nothing for `lapse`; of a file every older one, for only one process holds it.
    ///
    /// # Errors
    /// The world broke.
    pub async fn epoch_allocate(&self, server: &str, lapse: Duration, now: Micros) -> Result<Epoch, Error> {
        let server = server.to_owned();
        run!(self.write(generations::allocate, &server, lapse, now))
    }

    /// Says that a generation lives; false: it is over, and its server may write nothing more (CP-62).
    ///
    /// # Errors
    /// The world broke.
    pub async fn epoch_beat(&self, epoch: Epoch, now: Micros) -> Result<bool, Error> {
        run!(self.mark(generations::beat, epoch, now))
    }

    /// Ends the generations that said nothing for `lapse`; how many (CP-63, CP-64).
    ///
    /// # Errors
    /// The world broke.
    pub async fn epochs_end_silent(&self, lapse: Duration, now: Micros) -> Result<usize, Error> {
        run!(self.write(generations::end_silent, lapse, now))
    }

    /// Writes down that what these generations left is taken up.
    ///
    /// # Errors
    /// The world broke.
    pub async fn epochs_recovered(&self, epochs: Vec<Epoch>, now: Micros) -> Result<(), Error> {
        run!(self.mark(generations::set_recovered, &epochs, now))
    }

    /// Marks events as taken by the bus (CP-53).
    ///
    /// # Errors
    /// The world broke.
    pub async fn outbox_accept(&self, positions: Vec<Position>, now: Micros) -> Result<(), Error> {
        run!(self.mark(outbox::accept, &positions, now))
    }

    /// Forgets the events up to one that is over; how many (CP-63, CP-64).
    ///
    /// # Errors
    /// The world broke.
    pub async fn outbox_forget(&self, last: Position) -> Result<usize, Error> {
        run!(self.write(outbox::forget, last))
    }

    /// Adds a workspace (CP-63, CP-64).
    ///
    /// # Errors
    /// The world broke.
    pub async fn workspace_insert(&self, workspace: Workspace) -> Result<(), Error> {
        run!(self.write(tasks::workspace_insert, workspace))
    }

    /// Adds a task and announces it under that event id (CP-63, CP-64).
    ///
    /// # Errors
    /// The world broke.
    pub async fn task_insert(&self, task: TaskRow, event: EventId) -> Result<(), Error> {
        run!(self.write(tasks::insert, task, event))
    }

    /// Changes a task's own fields and announces it; false: there is none (CP-63, CP-64).
    ///
    /// # Errors
    /// The world broke.
    pub async fn task_update(
        &self,
        id: &TaskId,
        patch: TaskPatch,
        now: Micros,
        event: EventId,
    ) -> Result<bool, Error> {
        let id = id.clone();
        run!(self.write(tasks::update, &id, patch, now, event))
    }

    /// Brings a task's summary up to what its sessions say, with what is reported, and announces it under that event id
    /// where it changed (CP-63, CP-64).
    ///
    /// # Errors
    /// The world broke.
    pub async fn summary_settle(
        &self,
        id: &TaskId,
        patch: SummaryPatch,
        now: Micros,
        event: EventId,
    ) -> Result<Settled, Error> {
        let id = id.clone();
        run!(self.mark(summaries::settle, &id, &patch, now, event))
    }

    /// Removes a task with its sessions, turns, messages, keys and waiters, and announces it; false: there is none (CP-63, CP-64).
    ///
    /// # Errors
    /// The world broke.
    pub async fn task_delete(&self, id: &TaskId, now: Micros, event: EventId) -> Result<bool, Error> {
        let id = id.clone();
        run!(self.write(tasks::delete, &id, now, event))
    }

    /// Adds an access token (CP-63, CP-64).
    ///
    /// # Errors
    /// The world broke.
    pub async fn token_insert(&self, token: TokenRow) -> Result<(), Error> {
        run!(self.write(tokens::insert, token))
    }

    /// Takes a token back; false: there is none that still stands (CP-63, CP-64).
    ///
    /// # Errors
    /// The world broke.
    pub async fn token_revoke(&self, id: &TokenId, now: Micros) -> Result<bool, Error> {
        let id = id.clone();
        run!(self.write(tokens::revoke, &id, now))
    }
}
