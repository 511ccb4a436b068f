//! `decide` with one fault each: its view is bent before, or its decision after. May import: ids and the rest of
//! lifecycle.

use crate::ids::{EventId, MessageId};
use crate::lifecycle::{
    Certainty, Change, Command, Decision, Event, EventKind, Question, Refusal, SessionView, Stamp, Status,
    TurnKind, decide,
};

type Decided = Result<Decision, Refusal>;

/// Drops changes of question rows, and what announces them.
fn without_rows(decided: Decided, is_dropped: impl Fn(&Change) -> bool) -> Decided {
    without(decided, is_dropped).map(|mut decision| {
        let is_kept = |id: &MessageId| {
            decision.changes.iter().any(|change| matches!(change, Change::SetQuestion(_, row) if &row.id == id))
        };
        decision.events.retain(|event| match &event.kind {
            EventKind::MessageUpdated { message_id } => is_kept(message_id),
            _ => true,
        });
        decision
    })
}

/// Drops changes of a decision.
fn without(decided: Decided, is_dropped: impl Fn(&Change) -> bool) -> Decided {
    decided.map(|mut decision| {
        decision.changes.retain(|change| !is_dropped(change));
        decision
    })
}

/// Rewrites the question rows of a decision.
fn rewriting(decided: Decided, set: impl Fn(&mut Question)) -> Decided {
    decided.map(|mut decision| {
        for change in &mut decision.changes {
            if let Change::SetQuestion(_, row) = change {
                set(row);
            }
        }
        decision
    })
}

fn is_row(change: &Change) -> bool {
    matches!(change, Change::SetQuestion(..))
}

/// Respond does not ask whose turn it is.
pub(super) fn no_turn_predicate(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let mut bent = view.clone();
    if let (Command::Respond(_) | Command::Skip(_), Some(current)) = (command, view.current_turn()) {
        let rows = bent.bundles.iter_mut().flat_map(|bundle| &mut bundle.questions);
        rows.for_each(|row| row.turn_id.clone_from(&current.id));
    }
    decide(&bent, command, stamp)
}

/// Recovery takes a tried reservation for an untried one.
pub(super) fn recovery_ignores_attempts(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let mut bent = view.clone();
    if command == &Command::Recover {
        let reservations = bent.turns.iter_mut().filter_map(|turn| turn.reservation.as_mut());
        reservations.for_each(|reservation| reservation.is_attempted = false);
    }
    let decided = decide(&bent, command, stamp)?;
    Ok(decided)
}

/// Recovery forgets claims that nobody delivered.
pub(super) fn recovery_forgets_claims(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let decided = decide(view, command, stamp);
    if command != &Command::Recover {
        return decided;
    }
    without_rows(decided, |change| matches!(change, Change::SetQuestion(guard, _) if guard.has_intent))
}

/// Recovery retires a current claim instead of giving it back.
pub(super) fn recovery_retires_all(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let mut decided = decide(view, command, stamp)?;
    for change in decided.changes.iter_mut().filter(|_| command == &Command::Recover) {
        let Change::SetQuestion(guard, row) = change else { continue };
        let old = view.question(&row.id).filter(|_| guard.has_intent && row.is_pending());
        if let Some(old) = old {
            row.clone_from(old);
            row.claim.iter_mut().for_each(|claim| (claim.is_open, claim.is_retired) = (false, true));
        }
    }
    Ok(decided)
}

/// A claim is made without its delivery intent.
pub(super) fn no_intent(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let decided = decide(view, command, stamp);
    if !matches!(command, Command::Respond(_)) {
        return decided;
    }
    rewriting(decided, |row| row.claim.iter_mut().for_each(|claim| claim.is_open = false))
}

/// A restore reopens siblings that were decided before.
pub(super) fn restore_reopens_siblings(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let mut decided = decide(view, command, stamp)?;
    let restored = decided.changes.iter().find_map(|change| match change {
        Change::SetQuestion(guard, row) if guard.has_intent && row.is_pending() => Some(row.pending_id.clone()),
        _ => None,
    });
    let bundle = restored.and_then(|id| view.bundle(&id).cloned());
    for row in bundle.iter().flat_map(|bundle| &bundle.questions).filter(|q| !q.has_intent() && !q.is_pending()) {
        let guard = crate::lifecycle::QuestionGuard { status: row.status.clone(), has_intent: false };
        let reopened = Question { status: Status::Pending, answer: None, ..row.clone() };
        decided.changes.push(Change::SetQuestion(guard, reopened));
    }
    Ok(decided)
}

/// A waiter confirms, and the intent stays.
pub(super) fn confirm_keeps_intent(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let decided = decide(view, command, stamp);
    if matches!(command, Command::ConfirmDelivery { .. }) { without_rows(decided, is_row) } else { decided }
}

/// A new turn carries no authority.
pub(super) fn new_turn_has_no_authority(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let mut decided = decide(view, command, stamp)?;
    for change in decided.changes.iter_mut().filter(|_| matches!(command, Command::AcceptTurn(_))) {
        if let Change::InsertTurn(turn) = change {
            turn.kind = TurnKind::Bookkeeping;
        }
    }
    Ok(decided)
}

/// A new turn leaves what was being delivered in the old one.
pub(super) fn new_turn_keeps_claims(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let decided = decide(view, command, stamp);
    if matches!(command, Command::AcceptTurn(_)) { without_rows(decided, is_row) } else { decided }
}

/// A second detach announces what the first one did.
pub(super) fn detach_announces_twice(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let mut decided = decide(view, command, stamp)?;
    if matches!(command, Command::CompleteTurn(_)) {
        let rows = view.active_bundles().flat_map(|bundle| bundle.pending()).filter(|row| row.is_detached);
        let event = |row: &Question| Event {
            id: EventId::new("again"),
            kind: EventKind::MessageUpdated { message_id: row.id.clone() },
        };
        decided.events.extend(rows.map(event));
    }
    Ok(decided)
}

/// A session ends, and what it asks stays open.
pub(super) fn end_does_not_expire(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let decided = decide(view, command, stamp);
    if matches!(command, Command::EndSession(_)) { without_rows(decided, is_row) } else { decided }
}

/// The successor is not reserved with the claim.
pub(super) fn claim_without_reservation(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let decided = decide(view, command, stamp);
    let is_turn = |change: &Change| matches!(change, Change::InsertTurn(_));
    if matches!(command, Command::Respond(_)) { without(decided, is_turn) } else { decided }
}

/// An accepted turn is never announced.
pub(super) fn acknowledge_is_silent(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let mut decided = decide(view, command, stamp)?;
    if matches!(command, Command::Acknowledge(..)) {
        decided.events.retain(|event| !matches!(event.kind, EventKind::TurnStarted { .. }));
    }
    Ok(decided)
}

/// The attempt marker is not written.
pub(super) fn no_attempt_marker(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let decided = decide(view, command, stamp);
    let is_turn = |change: &Change| matches!(change, Change::SetTurn(..));
    if matches!(command, Command::MarkAttempted(_)) { without(decided, is_turn) } else { decided }
}

/// What may have reached the agent is taken for refused.
pub(super) fn unknown_is_refused(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    match command {
        Command::Acknowledge(turn, Certainty::Unknown) => {
            decide(view, &Command::RejectDispatch(turn.clone()), stamp)
        }
        _ => decide(view, command, stamp),
    }
}

/// A proven refusal gives nothing back.
pub(super) fn rollback_keeps_claim(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let decided = decide(view, command, stamp);
    if matches!(command, Command::RejectDispatch(_)) { without_rows(decided, is_row) } else { decided }
}

/// A claim does not keep others out.
pub(super) fn claims_do_not_exclude(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let mut bent = view.clone();
    if matches!(command, Command::Respond(_) | Command::Skip(_)) {
        let rows = bent.bundles.iter_mut().flat_map(|bundle| &mut bundle.questions).filter(|row| row.has_intent());
        rows.for_each(|row| (row.status, row.claim) = (Status::Pending, None));
    }
    decide(&bent, command, stamp)
}

/// Deleting a message takes back what it proved.
pub(super) fn evidence_fades(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let mut decided = decide(view, command, stamp)?;
    let reserved = view.turns.iter().find(|turn| turn.reservation.is_some() && turn.has_evidence);
    if let (Command::DeleteMessage(_), Some(turn)) = (command, reserved) {
        let guard = crate::lifecycle::TurnGuard::of(turn);
        let faded = crate::lifecycle::Turn { has_evidence: false, ..turn.clone() };
        decided.changes.push(Change::SetTurn(guard, faded));
    }
    Ok(decided)
}

/// A rollback leaves the bundles that lost their waiter meanwhile unmarked.
pub(super) fn rollback_forgets_detached(view: &SessionView, command: &Command, stamp: &Stamp) -> Decided {
    let decided = decide(view, command, stamp);
    let is_mark = |change: &Change| matches!(change, Change::SetQuestion(guard, _) if !guard.has_intent);
    if matches!(command, Command::RejectDispatch(_)) { without_rows(decided, is_mark) } else { decided }
}
