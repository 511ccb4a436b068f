//! A turn. Nothing of a reservation is shown: not its prompt, not its claim, not who drives it (INV-19, INV-20).
//! May import: store.

use async_graphql::{Context, ID, Object, Result};

use crate::store::TurnRow;

use super::super::context::load;
use super::super::fault::fault;
use super::enums::{DispatchOutcome, TurnEnd, TurnKind};
use super::{DateTime, TaskSession};

/// One accepted prompt and its work.
pub struct Turn(pub(crate) TurnRow);

/// One accepted prompt and its work. A session's newest turn with authority is its current one.
#[Object]
impl Turn {
    /// Opaque; names this turn for ever.
    pub(super) async fn id(&self) -> ID {
        self.0.turn.id.as_str().into()
    }

    /// Its session; null: it was deleted meanwhile.
    async fn session(&self, ctx: &Context<'_>) -> Option<Result<TaskSession>> {
        let id = self.0.session_id.clone();
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(TaskSession))
    }

    /// What it is for.
    async fn kind(&self) -> TurnKind {
        self.0.turn.kind.into()
    }

    /// The prompt's number in its session; ready events name it.
    async fn generation(&self) -> String {
        self.0.turn.generation.to_string()
    }

    /// When it began. Later turns of a session begin later, whatever the clock did.
    async fn started_at(&self) -> DateTime {
        self.0.turn.started_at.into()
    }

    /// When it ended; null: it is open.
    async fn ended_at(&self) -> Option<DateTime> {
        self.0.turn.end.map(|(at, _)| at.into())
    }

    /// How it ended; null: it is open.
    async fn end(&self) -> Option<TurnEnd> {
        self.0.turn.end.map(|(_, end)| end.into())
    }

    /// What is known of the dispatch that began it; null: it was not dispatched by this server, or the dispatch is
    /// under way.
    async fn dispatch_outcome(&self) -> Option<DispatchOutcome> {
        self.0.turn.dispatch_outcome.map(Into::into)
    }
}
