//! A turn, and the reservation that a turn may still be. May import: ids.

use serde_json::{Map, Value};

use crate::ids::{ClaimId, Epoch, Generation, MessageId, Micros, Ordinal, PendingId, TurnId};

/// What a turn is for. Only work carries authority (architecture section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnKind {
    /// An accepted prompt and its work.
    Work,
    /// A marker that is over when it is made; it never supersedes.
    Bookkeeping,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnEnd {
    /// The agent finished.
    Completed,
    /// A newer turn took over.
    Superseded,
    /// It was cancelled.
    Cancelled,
    /// Its session ended first.
    SessionEnded,
}

/// What is known of the one dispatch that began a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DispatchOutcome {
    /// The agent took it.
    Accepted,
    /// It may have; nobody can tell, so nothing is sent again (INV-08).
    Unknown,
    /// An operator found that it had not.
    NotAccepted,
}

/// The claim that a reservation is held for, as its turn records it for recovery.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClaimRef {
    /// The claim, where one is open (a watchdog has none).
    pub claim_id: Option<ClaimId>,
    /// The answered bundle.
    pub pending_id: PendingId,
    /// The bundle's turn.
    pub turn_id: TurnId,
    /// Exactly the rows that the claim took.
    pub message_ids: Vec<MessageId>,
}

/// A successor turn that no agent is known to have accepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reservation {
    /// The attempt marker: durable before any byte leaves (INV-10).
    pub is_attempted: bool,
    /// The executor acknowledged; what is left is publication.
    pub is_acknowledged: bool,
    /// What it answers; none for a plain prompt.
    pub source: Option<ClaimRef>,
    /// The text that the agent is to receive.
    pub prompt: String,
    /// The backend generation that drives it.
    pub epoch: Epoch,
}

/// A live answer's fallback, armed at its confirmation (decisions 3).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watchdog {
    /// The bundle that was confirmed last.
    pub pending_id: PendingId,
    /// Those confirmed before it, since the agent last did anything: the fallback takes their answers too.
    pub earlier: Vec<PendingId>,
    /// When it fires.
    pub deadline: Micros,
}

impl Watchdog {
    /// Every bundle whose answer the agent may not have, oldest first.
    pub fn bundles(&self) -> impl Iterator<Item = &PendingId> {
        self.earlier.iter().chain([&self.pending_id])
    }
}

/// A worker's hold on a dispatch that it claimed. It stays when that is over, so that a late or second word of the
/// worker can be told from a stranger's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The hash of the token that only this worker was given, in hex.
    pub token_hash: String,
    /// When it claimed.
    pub claimed_at: Micros,
    /// Until when it may acknowledge.
    pub until: Micros,
}

/// One accepted (or reserved) prompt and its work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// Its place; authority goes by it, never by a clock (INV-03).
    pub ordinal: Ordinal,
    /// What it is for.
    pub kind: TurnKind,
    /// The prompt's number; ready events name it.
    pub generation: Generation,
    /// Start in an order that agrees with the ordinal.
    pub started_at: Micros,
    /// The wall clock as read at the start.
    pub wall_at: Micros,
    /// When and how it ended, if it did.
    pub end: Option<(Micros, TurnEnd)>,
    /// Some message referenced it once; sticky (architecture section 4).
    pub has_evidence: bool,
    /// Still a reservation.
    pub reservation: Option<Reservation>,
    /// What is known of its dispatch, if there was one.
    pub dispatch_outcome: Option<DispatchOutcome>,
    /// The worker that claimed its dispatch, where workers do.
    pub lease: Option<Lease>,
    /// The armed fallback.
    pub watchdog: Option<Watchdog>,
    /// Why its recovery metadata cannot be read; recovery refuses it by name (INV-25).
    pub malformed: Option<String>,
    /// Metadata that is not ours, kept as it is.
    pub rest: Map<String, Value>,
}

impl Turn {
    /// Carries authority: accepts work, and is no empty untried reservation.
    pub fn is_authoritative(&self) -> bool {
        self.kind == TurnKind::Work
            && (self.has_evidence || self.reservation.as_ref().is_none_or(|r| r.is_attempted))
    }

    /// Shown in turn history: no reservation without a message (INV-19).
    pub fn is_visible(&self) -> bool {
        self.reservation.is_none() || self.has_evidence
    }

    /// Reserved, and nothing proves that an agent saw it: may be rolled back by recovery.
    pub fn is_empty_reservation(&self) -> bool {
        !self.has_evidence && self.reservation.as_ref().is_some_and(|r| !r.is_attempted)
    }
}
