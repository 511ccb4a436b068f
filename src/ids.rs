//! Newtypes for everything that names a thing or a moment. No raw `String` or `i64` crosses a room.
//!
//! Ids are lowercase UUIDv7 text made by an [`IdSource`](crate::ports::IdSource); they order by creation, and
//! nothing rests on their secrecy. May import: nothing of this crate.

use std::fmt;
use std::time::Duration;

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

impl Micros {
    /// That much later.
    #[must_use]
    pub fn plus(self, time: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(time.as_micros()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` it is; nothing, where it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// A projection's version: compare the epoch first, then the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Revision {
    /// The newest backend generation known to the database.
    pub epoch: Epoch,
    /// The session's projection counter within it.
    pub sequence: Sequence,
}

const DAY_US: i64 = 86_400_000_000;

impl Micros {
    /// The moment as RFC 3339 text, in UTC and with microseconds.
    pub fn rfc3339(self) -> String {
        let (days, rest) = (self.0.div_euclid(DAY_US), self.0.rem_euclid(DAY_US));
        let (year, month, day) = date(days);
        let (seconds, us) = (rest / 1_000_000, rest % 1_000_000);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{us:06}Z")
    }
}

/// The Gregorian date of a day counted from 1970-01-01. Years are counted from a first of March, so that the leap
/// day is the last of its year; 400 of them have 146,097 days.
fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_read_as_they_are_written() {
        let cases = [
            (0, "1970-01-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_709_251_199_999_999, "2024-02-29T23:59:59.999999Z"),
            (1_796_199_460_000_123, "2026-12-02T08:17:40.000123Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        ];
        for (micros, expected) in cases {
            assert_eq!(Micros(micros).rfc3339(), expected);
        }
    }
}
