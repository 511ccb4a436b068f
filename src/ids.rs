//! Newtypes for everything that names a thing or a moment. No raw `String` or `i64` crosses a room.
//!
//! Ids are lowercase UUIDv7 text made by an [`IdSource`](crate::ports::IdSource); they order by creation, and
//! nothing rests on their secrecy. May import: nothing of this crate.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps text that already is an id of this kind.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id.to_string())
            }
        }
    )*};
}

text_ids! {
    /// A workspace: the unit of access.
    WorkspaceId,
    /// A task: a piece of work.
    TaskId,
    /// A session: one conversation with an agent about a task.
    SessionId,
    /// A turn: one accepted prompt and its work.
    TurnId,
    /// A message row of a session; a question is one of them.
    MessageId,
    /// A bundle of questions that are asked together (`pending_id`).
    PendingId,
    /// A question inside its bundle, such as `q1`.
    QuestionId,
    /// An option inside its question, such as `q1_opt2`.
    OptionId,
    /// One claim of one response, made with it.
    ClaimId,
    /// One wait for a bundle's answer.
    WaiterId,
    /// A caller's idempotency key (`clientKey`, over MCP `requestKey`).
    ClientKey,
    /// An event of the outbox; stable over replays.
    EventId,
    /// A permission request of an agent.
    PermissionId,
    /// A conversation as the agent itself names it, such as an ACP session.
    AgentSessionId,
    /// Who acts: a person, runtime, agent or operator.
    PrincipalId,
    /// An access token's row.
    TokenId,
    /// A store's identity; changes only at creation or restore from a backup.
    StoreId,
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl $name {
            /// The number after this one.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

numbers! {
    /// Microseconds since 1970-01-01 UTC.
    Micros,
    /// A backend generation; greater after every start of a server.
    Epoch,
    /// A session's durable projection counter.
    Sequence,
    /// A turn's place in its session, given when it is accepted.
    Ordinal,
    /// A commit-ordered place in the event log of the store.
    Position,
    /// A session's count of dispatched prompts; ready events carry it.
    Generation,
}

/// A projection's version: compare the epoch first, then the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Revision {
    /// The newest backend generation known to the database.
    pub epoch: Epoch,
    /// The session's projection counter within it.
    pub sequence: Sequence,
}
