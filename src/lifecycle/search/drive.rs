//! Doing a step: the command that it is, what `decide` makes of it, and what happens outside.
//! May import: ids and the rest of lifecycle.

use serde_json::Map;

use crate::ids::{ClaimId, Micros, PendingId, PermissionId, PrincipalId, TurnId, WaiterId};
use crate::lifecycle::fixtures::{key, specs};
use crate::lifecycle::{
    AcceptTurn, Admission, Answer, Ask, Bundle, Certainty, Command, Decision, Effect, ExpectedTurn, KeyResult,
    Keyed, NewMessage, OutcomeStatus, QuestionSpec, Respond, SessionState, Skip, TurnKind,
};

use super::rules::{self, ensure};
use super::step::{Step, T, bundle_at, turn_at};
use super::world::{Bounds, Decide, Reply, World, task};
use super::{edges, extras, recovery};

/// Where a watchdog's deadline lies: after the command that arms it.
pub(super) const DEADLINE_TICKS: i64 = 1;

/// Takes the step. The error says which invariant it broke.
pub(super) fn perform(world: &World, step: Step, bounds: &Bounds, decide: Decide) -> Result<World, String> {
    let mut next = world.clone();
    match step {
        Step::Restart => return recovery::restart(world, decide),
        Step::Call(t, reply) => {
            call(&mut next, t, reply);
            return Ok(next);
        }
        _ => {}
    }
    next.tick += 1 + extras::ticks(step);
    let command = command(world, &next, step, bounds);
    let decision = decide(&world.view, &command, &next.stamp())
        .map_err(|refusal| format!("refused, though it must be possible: {refusal:?}"))?;
    next.commit(&decision)?;
    note(world, &mut next, step, &decision)?;
    edges::check(world, step, &decision, &next)?;
    Ok(next)
}

/// The command of a step that is one, as the world would issue it at that tick.
pub(super) fn command_at(world: &World, step: Step, bounds: &Bounds, tick: i64) -> Option<Command> {
    let next = World { tick, ..world.clone() };
    (!matches!(step, Step::Call(..))).then(|| command(world, &next, step, bounds))
}

fn principal() -> PrincipalId {
    PrincipalId::new("person")
}

/// A key that was never used.
fn fresh_key(world: &World) -> Keyed {
    key(&format!("key {}", world.tick))
}

fn fresh_waiter(world: &World) -> WaiterId {
    WaiterId::new(format!("waiter {}", world.tick))
}

/// A waiter of that bundle, the one who came first.
fn waiter_of(world: &World, bundle: &Bundle) -> WaiterId {
    let found = world.view.waiters.iter().find(|waiter| waiter.pending_id == bundle.pending_id);
    found.map_or_else(|| WaiterId::new("nobody"), |waiter| waiter.id.clone())
}

pub(super) fn claim_of(bundle: &Bundle) -> ClaimId {
    rules::open_claim(bundle).map_or_else(|| ClaimId::new("none"), |claim| claim.id.clone())
}

pub(super) fn answer(bundle: &Bundle, key: Keyed) -> Command {
    let text = || Answer { option_ids: Vec::new(), custom_text: Some("yes".into()) };
    let answers = bundle.pending().map(|q| (q.spec.id.clone(), text())).collect();
    let pending_id = bundle.pending_id.clone();
    Command::Respond(Respond { pending_id, answers, expected_turn: None, principal: principal(), key })
}

pub(super) fn skip(bundle: &Bundle, key: Keyed) -> Command {
    let pending_id = bundle.pending_id.clone();
    let reason = "not now".into();
    Command::Skip(Skip { pending_id, reason, expected_turn: None, principal: principal(), key })
}

pub(super) fn prompt(admission: Admission) -> Command {
    Command::AcceptTurn(AcceptTurn {
        prompt: String::new(),
        kind: TurnKind::Work,
        admission,
        expected: None,
        principal: principal(),
        key: None,
    })
}

/// Questions with nothing to choose: what is chosen moves no state, and small rows make a fast search.
pub(super) fn questions(count: usize) -> Vec<QuestionSpec> {
    let mut specs = specs(count);
    specs.iter_mut().for_each(|spec| spec.options.clear());
    specs
}

/// Asks with the key under which the bundle was asked, as an agent does that lost its stream.
pub(super) fn ask_again(world: &World, bundle: &Bundle, waiter: Option<WaiterId>) -> Command {
    let result = KeyResult::Asked(bundle.pending_id.clone());
    let record = world.view.keys.iter().find(|record| record.result == result);
    let key = record.map_or_else(
        || fresh_key(world),
        |record| Keyed { key: record.key.clone(), body_hash: record.body_hash.clone() },
    );
    ask(key, bundle.questions.len(), waiter)
}

fn ask(key: Keyed, count: usize, waiter: Option<WaiterId>) -> Command {
    let (questions, context) = (questions(count), String::new());
    Command::Ask(Ask { expected: None, questions, context, key, is_key_explicit: true, waiter })
}

fn command(world: &World, next: &World, step: Step, bounds: &Bounds) -> Command {
    if let Some(command) = extras::command(world, next, step, bounds) {
        return command;
    }
    match step {
        Step::Accept => prompt(Admission::Immediate),
        Step::Reserve => prompt(Admission::Dispatch),
        Step::Note => match prompt(Admission::Immediate) {
            Command::AcceptTurn(accept) => {
                Command::AcceptTurn(AcceptTurn { kind: TurnKind::Bookkeeping, ..accept })
            }
            other => other,
        },
        Step::Ask { is_awaited } => ask(fresh_key(next), bounds.questions, is_awaited.then(|| fresh_waiter(next))),
        Step::End(state) => Command::EndSession(state),
        Step::Permit => Command::RecordPermission {
            id: PermissionId::new(format!("permission {}", next.tick)),
            content: "?".into(),
        },
        Step::Resolve => {
            let id = world.view.permissions[0].id.clone();
            Command::ResolvePermission { id, status: "approved".into() }
        }
        Step::AskAgain(b) => ask_again(world, &bundle_at(world, b), Some(fresh_waiter(next))),
        Step::Await(b) => Command::RegisterWaiter(bundle_at(world, b).pending_id, fresh_waiter(next)),
        Step::Respond(b) => answer(&bundle_at(world, b), fresh_key(next)),
        Step::Skip(b) => skip(&bundle_at(world, b), fresh_key(next)),
        Step::Drop(b) | Step::Received(b) | Step::Confirm(b) => {
            waiter_command(world, next, step, &bundle_at(world, b))
        }
        Step::Restore(b) => {
            let bundle = bundle_at(world, b);
            Command::RestoreClaim(bundle.pending_id.clone(), claim_of(&bundle))
        }
        Step::Cancel(b) => Command::Cancel(bundle_at(world, b).pending_id),
        Step::Delete(b, n) => Command::DeleteMessage(bundle_at(world, b).questions[n].id.clone()),
        Step::Ready { is_named } => {
            let generation = rules::current(&world.view).map(|turn| turn.generation).filter(|_| is_named);
            Command::Ready { generation, has_overlapped: false }
        }
        _ => turn_command(world, step),
    }
}

fn waiter_command(world: &World, next: &World, step: Step, bundle: &Bundle) -> Command {
    let (pending_id, waiter) = (bundle.pending_id.clone(), waiter_of(world, bundle));
    match step {
        Step::Confirm(_) => {
            let deadline = Micros(next.stamp().now.0 + 1_000 * DEADLINE_TICKS);
            let is_on = world.view.session.as_ref().is_some_and(|session| session.is_watchdog_on);
            Command::ConfirmDelivery { pending_id, waiter, watchdog: is_on.then_some(deadline) }
        }
        _ => Command::DropWaiter { pending_id, waiter, is_received: matches!(step, Step::Received(_)) },
    }
}

fn turn_command(world: &World, step: Step) -> Command {
    let id = |t: T| turn_at(world, t).id;
    match step {
        Step::Detach(t) => Command::Detach(id(t)),
        Step::Mark(t) => Command::MarkAttempted(id(t)),
        Step::GiveUp(t) => Command::RejectDispatch(id(t)),
        Step::Publish(t) => Command::PublishAccepted(id(t)),
        Step::Complete(t) => Command::CompleteTurn(id(t)),
        Step::CancelTurn(t) => Command::CancelTurn(ExpectedTurn::Turn(id(t))),
        Step::Append(t) => append(id(t)),
        Step::Fire(t) => Command::FireWatchdog(id(t)),
        Step::Settle(t) => settle(world, id(t)),
        Step::Report(t) => match world.reply(&id(t)) {
            Some(Reply::Accepted) => Command::Acknowledge(id(t), Certainty::Accepted),
            Some(Reply::Rejected) => Command::RejectDispatch(id(t)),
            _ => Command::Acknowledge(id(t), Certainty::Unknown),
        },
        _ => Command::Recover,
    }
}

fn append(turn_id: TurnId) -> Command {
    Command::AppendMessage(NewMessage {
        turn_id: Some(turn_id),
        author: "agent".into(),
        kind: "message".into(),
        content: "working".into(),
        metadata: Map::new(),
    })
}

/// The operator finds the truth: what the executor really did.
fn settle(world: &World, turn_id: TurnId) -> Command {
    let rows = world.view.bundles.iter().flat_map(|bundle| &bundle.questions);
    let mut bundles =
        rows.filter(|q| q.dispatched_turn_id.as_ref() == Some(&turn_id)).map(|q| q.pending_id.clone());
    let pending_id = bundles.next();
    let was_accepted = pending_id.as_ref().is_none_or(|id| world.dispatches(id) > 0);
    Command::ResolveAmbiguous { turn_id, pending_id, was_accepted }
}

/// The prompt leaves. The marker must be durable by now (INV-10); what the executor took can never be taken back.
fn call(next: &mut World, t: T, reply: Reply) {
    let turn = turn_at(next, t);
    if reply != Reply::Rejected {
        let source = turn.reservation.and_then(|reservation| reservation.source);
        next.dispatched.extend(source.map(|source| source.pending_id));
    }
    next.calls.push((turn.id, reply));
}

/// What the step means outside of the store.
fn note(world: &World, next: &mut World, step: Step, decision: &Decision) -> Result<(), String> {
    match step {
        Step::Ask { .. } => next.asked += 1,
        Step::Claim(t, reply) => call(next, t, reply),
        // The task outlives its session.
        Step::Remove => next.view.task = Some(task()),
        Step::Confirm(b) => {
            let bundle = bundle_at(world, b);
            returned(next, &bundle, &decision.effect)?;
        }
        Step::Report(t) => {
            let id = turn_at(world, t).id;
            next.calls.retain(|(turn, _)| turn != &id);
        }
        Step::Respond(b) => ensure(is_claim(world, next, &bundle_at(world, b), &decision.effect), EFFECT)?,
        Step::Skip(b) => ensure(is_skip(next, &bundle_at(world, b), &decision.effect), EFFECT)?,
        Step::Accept => {
            let now = rules::current(&next.view).map(|turn| Effect::Turn(turn.id.clone()));
            ensure(now.as_ref() == Some(&decision.effect), "INV-03: an accepted turn is not the current one")?;
        }
        _ => {}
    }
    if state(world) != state(next) {
        next.stated = if let Step::Set(to) = step { Some(to) } else { None };
    }
    let view = &next.view;
    next.calls.retain(|(turn, _)| view.turn(turn).is_some_and(|turn| turn.reservation.is_some()));
    let is_there = |id: &PendingId| view.bundle(id).is_some();
    next.dispatched.retain(is_there);
    next.returned.retain(is_there);
    next.started.retain(|id| view.turn(id).is_some());
    next.completed.retain(|id| view.turn(id).is_some());
    Ok(())
}

const EFFECT: &str = "the responder is told what did not happen";

/// INV-11: what a waiter returns is final in the store at that moment, and is what was said.
fn returned(next: &mut World, bundle: &Bundle, effect: &Effect) -> Result<(), String> {
    let Effect::Outcome(outcome) = effect else { return Err("a confirmation told no outcome".into()) };
    let now = next.view.bundle(&bundle.pending_id).cloned();
    let is_final = now.is_some_and(|now| now.questions.iter().all(|q| !q.is_pending() && !q.has_intent()));
    ensure(is_final, "INV-11: a waiter returned a response that is not final")?;
    let is_skipped = bundle.questions.iter().all(|q| q.status.as_str() != "answered");
    let said = if is_skipped { OutcomeStatus::Rejected } else { OutcomeStatus::Answered };
    ensure(outcome.status == said, "INV-11: a waiter returned another outcome than was claimed")?;
    next.returned.push(bundle.pending_id.clone());
    Ok(())
}

fn is_claim(world: &World, next: &World, bundle: &Bundle, effect: &Effect) -> bool {
    let Some(claimed) = next.view.bundle(&bundle.pending_id) else { return false };
    let taken: Vec<_> = bundle.pending().map(|q| q.id.clone()).collect();
    let is_open = rules::open_claim(claimed).is_some();
    let reserved = rules::reserved(&next.view);
    let is_dispatch = super::step::would_dispatch(&world.view, bundle);
    match effect {
        Effect::HandOver(ticket) => is_open && ticket.message_ids == taken && !is_dispatch && reserved.is_none(),
        Effect::Dispatch(ticket, turn) => {
            let is_held = reserved.is_some_and(|r| &r.id == turn) && rules::is_held(&next.view, claimed);
            is_open && ticket.message_ids == taken && is_dispatch && is_held
        }
        _ => false,
    }
}

fn is_skip(next: &World, bundle: &Bundle, effect: &Effect) -> bool {
    let is_open = next.view.bundle(&bundle.pending_id).is_some_and(|now| rules::open_claim(now).is_some());
    match effect {
        Effect::HandOver(_) => is_open,
        Effect::Settled(_) => !is_open && rules::reserved(&next.view).is_none(),
        _ => false,
    }
}

/// For summaries of traces.
pub(super) fn state(world: &World) -> Option<SessionState> {
    world.view.session.as_ref().map(|session| session.state)
}
