//! What may happen next in a world, in words. A step that is listed must be taken by `decide`; what is not listed
//! is for the probes, which hold that it is refused. May import: ids and the rest of lifecycle.

use std::fmt;

use crate::lifecycle::{
    Bundle, DispatchOutcome, KeyResult, Question, Reservation, SessionState, SessionView, Turn, TurnKind,
};

use super::world::{Bounds, Reply, World};
use super::{extras, rules};

/// A bundle by its place in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct B(pub(super) usize);

/// A turn by its place in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct T(pub(super) usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Ask { is_awaited: bool },
    AskAgain(B),
    Await(B),
    Drop(B),
    Received(B),
    Detach(T),
    Respond(B),
    Skip(B),
    Confirm(B),
    Restore(B),
    Cancel(B),
    Accept,
    Reserve,
    Note,
    Mark(T),
    Call(T, Reply),
    Report(T),
    GiveUp(T),
    Publish(T),
    Complete(T),
    CancelTurn(T),
    Ready { is_named: bool },
    End(SessionState),
    Append(T),
    Delete(B, usize),
    Fire(T),
    Settle(T),
    Permit,
    Resolve,
    Begin,
    Bind,
    Set(SessionState),
    Edit,
    Arm(B),
    Finalize(B),
    Claim(T, Reply),
    Extend(T),
    Lapse(T),
    Revoke(T),
    Expire,
    Remove,
    Restart,
}

/// Every step that this world must be able to take.
pub(super) fn steps(world: &World, bounds: &Bounds) -> Vec<Step> {
    if world.view.session.is_none() {
        return vec![Step::Begin];
    }
    let mut steps = Vec::with_capacity(24);
    prompts(world, bounds, &mut steps);
    for (n, bundle) in world.view.bundles.iter().enumerate() {
        bundle_steps(world, bounds, B(n), bundle, &mut steps);
    }
    for (n, turn) in world.view.turns.iter().enumerate() {
        turn_steps(world, bounds, T(n), turn, &mut steps);
    }
    session_steps(world, bounds, &mut steps);
    extras::steps(world, bounds, &mut steps);
    steps.push(Step::Restart);
    steps
}

/// There is room for one more turn in the search.
pub(super) fn has_room(world: &World, bounds: &Bounds) -> bool {
    world.view.turns.len() < bounds.turns
}

/// Prompt admission, from decisions 13.
pub(super) fn may_prompt(view: &SessionView, is_dispatched: bool) -> bool {
    use SessionState::{Cancelled, Failed, Running, Starting};
    let Some(session) = &view.session else { return false };
    let is_asking = view.bundles.iter().any(|b| rules::is_active(view, b) || rules::open_claim(b).is_some());
    let is_claimed = view.bundles.iter().any(|bundle| rules::open_claim(bundle).is_some());
    let is_working = rules::current(view).is_some_and(|turn| turn.end.is_none());
    let is_free = rules::reserved(view).is_none() && !(is_dispatched && is_claimed);
    is_free
        && match session.state {
            Failed | Cancelled => false,
            Starting => !is_dispatched,
            Running => !is_working || is_asking,
            _ => true,
        }
}

/// Whether an answer or a skip must be taken.
pub(super) fn may_respond(view: &SessionView, bundle: &Bundle) -> bool {
    rules::is_active(view, bundle) && rules::reserved(view).is_none()
}

/// An answer to it would start a dispatch.
pub(super) fn would_dispatch(view: &SessionView, bundle: &Bundle) -> bool {
    let has_executor = view.session.as_ref().is_some_and(|session| session.executor.is_some());
    has_executor && rules::waiters(view, bundle) == 0
}

fn prompts(world: &World, bounds: &Bounds, steps: &mut Vec<Step>) {
    let view = &world.view;
    let has_turn = rules::current(view).is_some();
    let is_free = rules::reserved(view).is_none();
    let has_place = has_turn || (is_free && has_room(world, bounds));
    if world.asked < bounds.bundles && rules::is_live(view) && has_place {
        steps.push(Step::Ask { is_awaited: true });
        steps.push(Step::Ask { is_awaited: false });
    }
    if has_room(world, bounds) {
        if may_prompt(view, false) {
            steps.push(Step::Accept);
        }
        if bounds.has_executor && may_prompt(view, true) {
            steps.push(Step::Reserve);
        }
        if bounds.has_extras && rules::is_live(view) {
            steps.push(Step::Note);
        }
    }
}

fn bundle_steps(world: &World, bounds: &Bounds, b: B, bundle: &Bundle, steps: &mut Vec<Step>) {
    let view = &world.view;
    let is_current = rules::is_current(view, bundle) && rules::is_live(view);
    let is_active = rules::is_active(view, bundle);
    let is_claimed = rules::open_claim(bundle).is_some();
    let waiting = rules::waiters(view, bundle);
    if is_current && (is_active || is_claimed) && waiting < bounds.waiters {
        let has_key = view.keys.iter().any(|record| record.result == KeyResult::Asked(bundle.pending_id.clone()));
        if has_key {
            steps.push(Step::AskAgain(b));
        }
        if bounds.has_extras || !has_key {
            steps.push(Step::Await(b));
        }
    }
    if waiting > 0 {
        steps.push(Step::Drop(b));
    }
    let has_place = has_room(world, bounds) || !would_dispatch(view, bundle);
    if may_respond(view, bundle) {
        steps.push(Step::Skip(b));
        if has_place && !is_beside_claim(view, bundle) {
            steps.push(Step::Respond(b));
        }
    }
    if is_active && waiting > 0 {
        steps.push(Step::Cancel(b));
    }
    if is_claimed && !rules::is_held(view, bundle) {
        steps.push(Step::Restore(b));
        if is_current && waiting > 0 {
            steps.push(Step::Confirm(b));
        }
    }
    let is_read = bundle.questions.iter().all(|q| q.is_result_received);
    if bounds.has_extras && world.returned.contains(&bundle.pending_id) && !is_read {
        steps.push(Step::Received(b));
    }
    if bounds.has_deletes {
        let free = bundle.questions.iter().enumerate().filter(|(_, q)| !q.has_intent());
        let free = free.filter(|(n, _)| rules::keeps_turn(bundle, *n));
        steps.extend(free.map(|(n, _)| Step::Delete(b, n)));
    }
}

/// A detached answer waits while another one is being handed over: its attempt would supersede that one, and a
/// refused attempt would come back to a turn in which a response was lost.
pub(super) fn is_beside_claim(view: &SessionView, bundle: &Bundle) -> bool {
    would_dispatch(view, bundle) && view.bundles.iter().any(|other| rules::open_claim(other).is_some())
}

fn turn_steps(world: &World, bounds: &Bounds, t: T, turn: &Turn, steps: &mut Vec<Step>) {
    let view = &world.view;
    let is_current = rules::current(view).is_some_and(|current| current.id == turn.id);
    match &turn.reservation {
        Some(reservation) => {
            dispatch_steps(world, bounds, t, turn, steps);
            if reservation.is_acknowledged && turn.end.is_none() {
                steps.push(Step::Complete(t));
            }
        }
        None if turn.end.is_none() && turn.kind == TurnKind::Work => {
            steps.push(Step::Complete(t));
            if is_current {
                steps.push(Step::CancelTurn(t));
            }
            if is_current && rules::reserved(view).is_none() {
                steps.push(Step::Ready { is_named: true });
                steps.push(Step::Ready { is_named: false });
            }
        }
        None => {}
    }
    let is_silent = turn.watchdog.is_some() || (turn.reservation.is_some() && !turn.has_evidence);
    if is_silent || (bounds.has_deletes && is_current) {
        steps.push(Step::Append(t));
    }
    let is_free = rules::reserved(view).is_none();
    let is_quiet = !view.bundles.iter().any(|bundle| rules::open_claim(bundle).is_some());
    if turn.watchdog.is_some() && is_free && is_quiet && (has_room(world, bounds) || !is_current) {
        steps.push(Step::Fire(t));
    }
    let is_flipping = view.bundles.iter().any(|b| rules::is_active(view, b) && rules::waiters(view, b) > 0);
    if is_current && is_flipping {
        steps.push(Step::Detach(t));
    }
    let is_unknown = turn.dispatch_outcome == Some(DispatchOutcome::Unknown);
    if bounds.has_extras && is_unknown && turn.reservation.is_none() {
        steps.push(Step::Settle(t));
    }
}

/// The responder's next steps with its reservation; each must be possible, so that no claim stays open (INV-34).
fn dispatch_steps(world: &World, bounds: &Bounds, t: T, turn: &Turn, steps: &mut Vec<Step>) {
    let Some(reservation) = &turn.reservation else { return };
    let reply = world.reply(&turn.id);
    if reservation.is_acknowledged {
        steps.push(Step::Publish(t));
    } else if bounds.is_pulled {
        extras::worker_steps(world, t, turn, reservation, steps);
    } else if !reservation.is_attempted {
        steps.push(Step::GiveUp(t));
        if is_silent(&world.view, reservation) {
            steps.push(Step::Mark(t));
        }
    } else if reply.is_some() {
        steps.push(Step::Report(t));
    } else {
        steps.extend([Reply::Accepted, Reply::Rejected, Reply::Lost].map(|reply| Step::Call(t, reply)));
    }
}

/// The agent of a fallback's turn has shown nothing yet, and may still be prompted; any other dispatch may be made.
pub(super) fn is_silent(view: &SessionView, reservation: &Reservation) -> bool {
    let fallback = reservation.source.as_ref().filter(|source| source.claim_id.is_none());
    fallback.is_none_or(|source| {
        let silent = view.turn(&source.turn_id).is_some_and(|turn| turn.watchdog.is_some());
        silent && rules::is_live(view) && rules::current(view).is_some_and(|turn| turn.id == source.turn_id)
    })
}

fn session_steps(world: &World, bounds: &Bounds, steps: &mut Vec<Step>) {
    let view = &world.view;
    if rules::is_live(view) || rules::reserved(view).is_some() {
        steps.extend([SessionState::Completed, SessionState::Failed].map(Step::End));
    }
    let may_permit = bounds.has_extras && rules::is_live(view) && rules::current(view).is_some();
    if may_permit && view.permissions.is_empty() {
        steps.push(Step::Permit);
    }
    if !view.permissions.is_empty() {
        steps.push(Step::Resolve);
    }
}

/// The turn of that place.
pub(super) fn turn_at(world: &World, t: T) -> Turn {
    world.view.turns[t.0].clone()
}

/// The bundle of that place.
pub(super) fn bundle_at(world: &World, b: B) -> Bundle {
    world.view.bundles[b.0].clone()
}

/// Rows of a claim, by its bundle.
pub(super) fn claimed_rows(bundle: &Bundle) -> Vec<Question> {
    bundle.questions.iter().filter(|q| q.has_intent()).cloned().collect()
}

impl fmt::Display for B {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bundle {}", self.0 + 1)
    }
}

impl fmt::Display for T {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "turn {}", self.0 + 1)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask { is_awaited: true } => write!(f, "the agent asks a bundle and waits"),
            Self::Ask { is_awaited: false } => write!(f, "the agent asks a bundle and does not wait"),
            Self::AskAgain(b) => write!(f, "the agent asks {b} again by its key"),
            Self::Await(b) => write!(f, "the agent waits for {b} again"),
            Self::Drop(b) => write!(f, "a waiter of {b} is gone"),
            Self::Received(b) => write!(f, "the agent received the result of {b}"),
            Self::Detach(t) => write!(f, "the waits of {t} time out"),
            Self::Respond(b) => write!(f, "a person answers {b}"),
            Self::Skip(b) => write!(f, "a person skips {b}"),
            Self::Confirm(b) => write!(f, "a waiter confirms the response to {b} and returns it"),
            Self::Restore(b) => write!(f, "the responder of {b} gives up its hand-over"),
            Self::Cancel(b) => write!(f, "the asker withdraws {b}"),
            Self::Accept => write!(f, "a new turn is accepted"),
            Self::Reserve => write!(f, "a prompt is reserved for dispatch"),
            Self::Note => write!(f, "a bookkeeping turn is noted"),
            Self::Mark(t) => write!(f, "the dispatch of {t} is marked attempted"),
            Self::Call(t, reply) => write!(f, "the executor is called for {t}: {reply:?}"),
            Self::Report(t) => write!(f, "the executor's reply for {t} is recorded"),
            Self::GiveUp(t) => write!(f, "the reservation {t} is given up before its attempt"),
            Self::Publish(t) => write!(f, "the bus takes the start of {t}"),
            Self::Complete(t) => write!(f, "{t} completes"),
            Self::CancelTurn(t) => write!(f, "{t} is cancelled"),
            Self::Ready { is_named: true } => write!(f, "a ready event names the current turn"),
            Self::Ready { is_named: false } => write!(f, "a ready event names nothing"),
            Self::End(state) => write!(f, "the session ends: {state:?}"),
            Self::Append(t) => write!(f, "a message is appended to {t}"),
            Self::Delete(b, n) => write!(f, "question {} of {b} is deleted", n + 1),
            Self::Fire(t) => write!(f, "the watchdog of {t} fires"),
            Self::Settle(t) => write!(f, "an operator settles the dispatch of {t}"),
            Self::Permit => write!(f, "the agent asks for a permission"),
            Self::Resolve => write!(f, "the permission is resolved"),
            Self::Begin => write!(f, "the session is made"),
            Self::Bind => write!(f, "the agent names the conversation"),
            Self::Set(state) => write!(f, "the runtime says how the session stands: {state:?}"),
            Self::Edit => write!(f, "the newest message is replaced"),
            Self::Arm(b) => write!(f, "the fallback of {b} is armed"),
            Self::Finalize(b) => write!(f, "the response to {b} is said to stand"),
            Self::Claim(t, reply) => write!(f, "a worker claims {t}, and will do so: {reply:?}"),
            Self::Extend(t) => write!(f, "the worker of {t} needs longer"),
            Self::Lapse(t) => write!(f, "the lease of {t} runs out"),
            Self::Revoke(t) => write!(f, "the offer {t} is taken back"),
            Self::Expire => write!(f, "what is pending in a session that is over expires"),
            Self::Remove => write!(f, "the session is deleted"),
            Self::Restart => write!(f, "the server crashes, starts and recovers"),
        }
    }
}
