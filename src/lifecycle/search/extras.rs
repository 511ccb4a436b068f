//! The rarer steps: what a runtime says of its session, a fallback armed apart from its confirmation, workers who come
//! for dispatches, a session's first and last moment. May import: ids and the rest of lifecycle.

use crate::ids::{AgentSessionId, Micros};
use crate::lifecycle::{Bundle, Command, Lease, Reservation, SessionState, Status, Turn};

use super::drive::{DEADLINE_TICKS, claim_of};
use super::rules;
use super::step::{B, Step, T, bundle_at, is_silent, turn_at};
use super::world::{Bounds, Reply, World, task};

/// How long a worker has: longer than any search, so that a lease runs out in its own step only.
pub(super) const LEASE_TICKS: i64 = 1_000_000;

/// Where a runtime may say that its session stands.
const STATES: [SessionState; 4] =
    [SessionState::Starting, SessionState::Running, SessionState::Idle, SessionState::WaitingForInput];

pub(super) fn steps(world: &World, bounds: &Bounds, steps: &mut Vec<Step>) {
    let view = &world.view;
    let is_over = !rules::is_live(view);
    if !bounds.has_states {
        return;
    }
    steps.push(Step::Remove);
    steps.extend(STATES.into_iter().filter(|to| may_stand(world, *to)).map(Step::Set));
    let is_named = view.session.as_ref().is_some_and(|session| session.agent_session.is_some());
    if !is_named && (!is_over || rules::reserved(view).is_some()) {
        steps.push(Step::Bind);
    }
    if view.message.as_ref().is_some_and(|message| view.turn(&message.turn_id).is_some()) {
        steps.push(Step::Edit);
    }
    for (n, bundle) in view.bundles.iter().enumerate() {
        if may_arm(world, bundle) {
            steps.push(Step::Arm(B(n)));
        }
        if rules::open_claim(bundle).is_some() && !rules::is_held(view, bundle) {
            steps.push(Step::Finalize(B(n)));
        }
    }
}

/// Another state, and one that hides nothing that is answerable.
pub(super) fn may_stand(world: &World, to: SessionState) -> bool {
    let view = &world.view;
    let asks = view.bundles.iter().any(|bundle| rules::is_active(view, bundle));
    let shows = matches!(to, SessionState::Running | SessionState::WaitingForInput);
    rules::is_live(view) && (shows || !asks) && view.session.as_ref().is_some_and(|session| session.state != to)
}

/// An answer was delivered in the current turn, and no fallback was used up for it.
fn may_arm(world: &World, bundle: &Bundle) -> bool {
    let view = &world.view;
    let wants = view.session.as_ref().is_some_and(|session| session.is_watchdog_on && session.executor.is_some());
    let rows = &bundle.questions;
    let is_settled = rows.iter().all(|q| !q.is_pending() && !q.has_intent());
    let is_spent = rows.iter().any(|q| q.is_watchdog_spent || q.dispatched_turn_id.is_some());
    let is_answered = rows.iter().any(|q| q.status == Status::Answered);
    let is_unarmed = rules::current(view).is_some_and(|turn| turn.watchdog.is_none());
    wants && is_unarmed && is_settled && is_answered && !is_spent && rules::is_current(view, bundle)
}

/// What may become of an offer, and of what a worker has.
pub(super) fn worker_steps(world: &World, t: T, turn: &Turn, reservation: &Reservation, steps: &mut Vec<Step>) {
    if !reservation.is_attempted {
        steps.push(Step::Revoke(t));
        if is_silent(&world.view, reservation) {
            steps.extend([Reply::Accepted, Reply::Rejected, Reply::Lost].map(|reply| Step::Claim(t, reply)));
        }
        return;
    }
    steps.extend([Step::Extend(t), Step::Lapse(t)]);
    if world.reply(&turn.id).is_some_and(|reply| reply != Reply::Lost) {
        steps.push(Step::Report(t));
    }
}

/// How many ticks pass with it, beside its own.
pub(super) fn ticks(step: Step) -> i64 {
    match step {
        Step::Fire(_) => DEADLINE_TICKS,
        Step::Lapse(_) => LEASE_TICKS,
        _ => 0,
    }
}

/// The command of such a step; none: it is another step.
pub(super) fn command(world: &World, next: &World, step: Step, bounds: &Bounds) -> Option<Command> {
    let now = next.stamp().now;
    let until = Micros(now.0 + 1_000 * LEASE_TICKS);
    let id = |t: T| turn_at(world, t).id;
    Some(match step {
        Step::Begin => Command::CreateSession {
            task_id: task().id,
            executor: bounds.has_executor.then(|| "scripted".into()),
            is_watchdog_on: bounds.has_watchdog,
        },
        Step::Bind => Command::BindAgent(AgentSessionId::new("conversation")),
        Step::Set(to) => Command::SetSessionState(to),
        Step::Edit => Command::UpdateMessage { id: world.view.message.clone()?.id, content: "better".into() },
        Step::Arm(b) => {
            let deadline = Micros(now.0 + 1_000 * DEADLINE_TICKS);
            Command::ArmWatchdog { pending_id: bundle_at(world, b).pending_id, deadline }
        }
        Step::Finalize(b) => {
            let bundle = bundle_at(world, b);
            Command::FinalizeClaim(bundle.pending_id.clone(), claim_of(&bundle))
        }
        Step::Claim(t, _) => {
            Command::ClaimDispatch(id(t), Lease { token_hash: "hash".into(), claimed_at: now, until })
        }
        Step::Extend(t) => Command::ExtendLease(id(t), until),
        Step::Lapse(t) => Command::LapseLease(id(t)),
        Step::Revoke(t) => Command::RevokeDispatch(id(t)),
        Step::Expire => Command::Expire,
        Step::Remove => Command::DeleteSession,
        _ => return None,
    })
}
