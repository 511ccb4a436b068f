//! A turn's transcript: messages, questions' deletion, permissions. May import: ids and the rest of lifecycle.

use crate::ids::{MessageId, PermissionId};
use crate::lifecycle::{
    Change, ConflictReason, Effect, EventKind, MessageRow, NewMessage, Permission, Question, Refusal,
};

use super::draft::Draft;
use super::{ask, turn, watchdog};

/// Appends; on a reservation it is evidence that its agent runs, for good (architecture section 4).
pub(super) fn append(d: &mut Draft, new: &NewMessage) -> Result<Effect, Refusal> {
    let turn = match &new.turn_id {
        Some(id) => d.turn(id)?,
        None => d.view.current_turn().cloned().ok_or(Refusal::NotFound)?,
    };
    ask::mark_evidence(d, &turn.id);
    watchdog::disarm(d, &turn.id);
    let row = MessageRow {
        id: d.fresh(),
        turn_id: turn.id,
        author: new.author.clone(),
        kind: new.kind.clone(),
        content: new.content.clone(),
        metadata: new.metadata.clone(),
        created_at: d.now(),
    };
    let id = row.id.clone();
    d.push(Change::InsertMessage(row));
    d.emit(EventKind::MessageAdded { message_id: id.clone() });
    Ok(Effect::Message(id))
}

pub(super) fn update(d: &mut Draft, id: &MessageId, content: &str) -> Result<Effect, Refusal> {
    if d.view.question(id).is_some() {
        return Err(Refusal::StateNotAllowed);
    }
    let message = d.view.message.clone().filter(|message| &message.id == id).ok_or(Refusal::NotFound)?;
    watchdog::disarm(d, &message.turn_id);
    d.push(Change::SetMessageContent(id.clone(), content.into(), d.now()));
    d.emit(EventKind::MessageUpdated { message_id: id.clone() });
    Ok(Effect::Message(id.clone()))
}

/// Deletes a row. It moves no turn and revives nothing (INV-05).
pub(super) fn delete(d: &mut Draft, id: &MessageId) -> Result<Effect, Refusal> {
    let question = d.view.question(id).cloned();
    let turn_id = match &question {
        Some(question) if question.has_intent() => {
            return Err(Refusal::Conflict { reason: ConflictReason::DeliveryClaimed, winner: None });
        }
        // The rest would be of another turn, and history never comes back (specification, turn ownership).
        Some(question) if moves_bundle(d, question) => return Err(Refusal::StateNotAllowed),
        Some(question) => question.turn_id.clone(),
        None => named_turn(d, id)?,
    };
    d.push(Change::DeleteMessage(id.clone()));
    d.emit(EventKind::MessageDeleted { message_id: id.clone(), turn_id });
    if let Some(question) = question {
        leave_bundle(d, &question);
    }
    Ok(Effect::Done)
}

fn named_turn(d: &Draft, id: &MessageId) -> Result<crate::ids::TurnId, Refusal> {
    let permission = d.view.permissions.iter().find(|p| &p.message_id == id).map(|p| p.turn_id.clone());
    let message = d.view.message.as_ref().filter(|m| &m.id == id).map(|m| m.turn_id.clone());
    permission.or(message).ok_or(Refusal::NotFound)
}

/// Only rows of imported bundles differ in their turns.
fn moves_bundle(d: &Draft, question: &Question) -> bool {
    d.view.bundle(&question.pending_id).is_some_and(|bundle| !bundle.keeps_turn_without(&question.id))
}

/// A bundle without undecided rows has nobody left to wait for it.
fn leave_bundle(d: &mut Draft, question: &Question) {
    let is_decided = d.view.bundle(&question.pending_id).is_none_or(|bundle| bundle.pending().next().is_none());
    let is_claimed = d.view.bundle(&question.pending_id).is_some_and(|bundle| bundle.open_claim().is_some());
    if d.view.bundle(&question.pending_id).is_none() {
        watchdog::disarm_of(d, question);
    }
    if is_decided && !is_claimed {
        d.delete_waiters(&question.pending_id);
        turn::settle_state(d);
    }
}

pub(super) fn record_permission(d: &mut Draft, id: &PermissionId, content: &str) -> Result<Effect, Refusal> {
    if let Some(known) = d.view.permissions.iter().find(|permission| &permission.id == id) {
        return Ok(Effect::Message(known.message_id.clone()));
    }
    if !d.view.is_live() {
        return Err(Refusal::StateNotAllowed);
    }
    let turn_id = d.view.current_turn().map(|turn| turn.id.clone()).ok_or(Refusal::NotFound)?;
    ask::mark_evidence(d, &turn_id);
    watchdog::disarm(d, &turn_id);
    let message_id: MessageId = d.fresh();
    let permission = Permission { message_id: message_id.clone(), id: id.clone(), turn_id };
    d.push(Change::InsertPermission(permission, content.into(), d.now()));
    d.emit(EventKind::MessageAdded { message_id: message_id.clone() });
    Ok(Effect::Message(message_id))
}

pub(super) fn resolve_permission(d: &mut Draft, id: &PermissionId, status: &str) -> Result<Effect, Refusal> {
    let known = d.view.permissions.iter().find(|permission| &permission.id == id).cloned();
    let permission = known.ok_or(Refusal::NotFound)?;
    d.push(Change::ResolvePermission(id.clone(), status.into(), d.now()));
    d.emit(EventKind::MessageUpdated { message_id: permission.message_id });
    Ok(Effect::Done)
}
