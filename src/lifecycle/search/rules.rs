//! The one rule and the state invariants, written a second time from the specification: none of it calls the rule
//! that it checks. May import: ids and the rest of lifecycle.

use crate::lifecycle::{
    Bundle, BundleState, Claim, DispatchOutcome, OutcomeStatus, PendingAction, Question, SessionState,
    SessionView, Turn, TurnKind,
};

use super::world::World;

pub(super) fn is_authoritative(turn: &Turn) -> bool {
    let is_plain = turn.reservation.is_none();
    let is_tried = turn.reservation.as_ref().is_some_and(|r| r.is_attempted);
    turn.kind == TurnKind::Work && (is_plain || is_tried || turn.has_evidence)
}

/// The specification's order, by time and id; the core goes by ordinals.
pub(super) fn current(view: &SessionView) -> Option<&Turn> {
    view.turns.iter().filter(|turn| is_authoritative(turn)).max_by_key(|turn| (turn.started_at, turn.id.as_str()))
}

pub(super) fn is_live(view: &SessionView) -> bool {
    use SessionState::{Cancelled, Completed, Failed};
    !view.session.as_ref().is_none_or(|session| matches!(session.state, Completed | Failed | Cancelled))
}

/// The one turn that all rows agree on.
pub(super) fn turn_of(bundle: &Bundle) -> Option<&str> {
    let mut ids: Vec<_> =
        bundle.questions.iter().map(|q| q.turn_id.as_str()).filter(|id| !id.is_empty()).collect();
    ids.sort_unstable();
    ids.dedup();
    if let [one] = ids[..] { Some(one) } else { None }
}

/// A row may go if the rest is of the same turn, or if there is no rest (INV-31).
pub(super) fn keeps_turn(bundle: &Bundle, row: usize) -> bool {
    let mut rest = bundle.clone();
    rest.questions.remove(row);
    rest.questions.is_empty() || turn_of(&rest) == turn_of(bundle)
}

pub(super) fn is_current(view: &SessionView, bundle: &Bundle) -> bool {
    current(view).is_some_and(|turn| turn_of(bundle) == Some(turn.id.as_str()))
}

pub(super) fn is_active(view: &SessionView, bundle: &Bundle) -> bool {
    bundle.questions.iter().any(Question::is_pending) && is_current(view, bundle) && is_live(view)
}

pub(super) fn open_claim(bundle: &Bundle) -> Option<&Claim> {
    bundle.questions.iter().filter_map(|q| q.claim.as_ref()).find(|claim| claim.is_open)
}

pub(super) fn reserved(view: &SessionView) -> Option<&Turn> {
    view.turns.iter().find(|turn| turn.reservation.is_some())
}

/// A reservation holds the bundle's claim: only the dispatch moves it.
pub(super) fn is_held(view: &SessionView, bundle: &Bundle) -> bool {
    let source = reserved(view).and_then(|turn| turn.reservation.as_ref()?.source.as_ref());
    source.is_some_and(|source| source.pending_id == bundle.pending_id && source.claim_id.is_some())
}

pub(super) fn waiters(view: &SessionView, bundle: &Bundle) -> usize {
    view.waiters.iter().filter(|waiter| waiter.pending_id == bundle.pending_id).count()
}

/// What the session must show, by the one rule.
pub(super) fn pending_action(view: &SessionView) -> Option<PendingAction> {
    use SessionState::{Running, WaitingForInput};
    let session = view.session.as_ref().filter(|s| matches!(s.state, Running | WaitingForInput))?;
    let turn = current(view)?;
    let asks = view.bundles.iter().any(|bundle| is_active(view, bundle));
    let permits = view.permissions.iter().any(|permission| permission.turn_id == turn.id);
    let or = permits.then_some(PendingAction::Permission);
    if asks { Some(PendingAction::Clarification) } else { or.filter(|_| !session.state.is_terminal()) }
}

/// Holds in every state.
pub(super) fn check(world: &World) -> Result<(), String> {
    let view = &world.view;
    let same = view.current_turn().map(|turn| &turn.id) == current(view).map(|turn| &turn.id);
    ensure(same, "INV-02: another turn is current than by (started_at, id)")?;
    ensure(view.pending_action() == pending_action(view), "INV-26: the pending action is not the derived one")?;
    ensure(is_live(view) || view.pending_action().is_none(), "INV-29: a session that is over shows an action")?;
    let reservations = view.turns.iter().filter(|turn| turn.reservation.is_some()).count();
    ensure(reservations <= 1, "INV-33: two reservations")?;
    view.turns.iter().try_for_each(|turn| check_turn(world, turn))?;
    view.bundles.iter().try_for_each(|bundle| check_bundle(world, bundle))?;
    for waiter in &view.waiters {
        let bundle = view.bundle(&waiter.pending_id);
        ensure(bundle.is_some_and(|bundle| may_wait(view, bundle)), "INV-37: somebody waits for what is over")?;
    }
    Ok(())
}

/// Undecided or being delivered, and its turn current or superseded by nothing that is settled.
fn may_wait(view: &SessionView, bundle: &Bundle) -> bool {
    let is_open = bundle.questions.iter().any(|q| q.is_pending() || q.has_intent());
    is_open && is_live(view) && (is_current(view, bundle) || reserved(view).is_some())
}

fn check_turn(world: &World, turn: &Turn) -> Result<(), String> {
    let (is_started, is_completed) = (world.started.contains(&turn.id), world.completed.contains(&turn.id));
    match &turn.reservation {
        Some(reservation) => {
            ensure(turn.is_visible() == turn.has_evidence, "INV-19: a reservation shows without a message")?;
            ensure(is_started == reservation.is_acknowledged, "INV-21: announced before it was acknowledged")?;
            let is_called = world.reply(&turn.id).is_some();
            ensure(reservation.is_attempted || !is_called, "INV-10: a call without an attempt marker")?;
            let source = reservation.source.as_ref().filter(|source| source.claim_id.is_some());
            let Some(source) = source else { return Ok(()) };
            let bundle = world.view.bundle(&source.pending_id);
            let rows: Vec<_> = bundle.map(|b| b.claimed().map(|q| q.id.clone()).collect()).unwrap_or_default();
            ensure(rows == source.message_ids, "INV-14: a reservation names other rows than its claim took")
        }
        None => {
            ensure(turn.is_visible(), "INV-19: a turn is hidden")?;
            ensure(is_started, "INV-21: a turn was published but never announced")?;
            ensure(is_completed == turn.end.is_some(), "INV-21: a turn's end is not what was announced")
        }
    }?;
    let mut timed = turn.watchdog.iter().flat_map(|watchdog| watchdog.bundles());
    ensure(timed.all(|id| world.view.bundle(id).is_some()), "INV-37: a watchdog outlives its bundle")
}

fn check_bundle(world: &World, bundle: &Bundle) -> Result<(), String> {
    let view = &world.view;
    let active = is_active(view, bundle);
    ensure(view.is_active(bundle) == active, "INV-01: active is not what the rule says")?;
    ensure(view.bundle_state(bundle) == state(view, bundle), "INV-37: the bundle is in another state")?;
    let is_undecided = active || open_claim(bundle).is_some();
    let is_told_so = view.outcome(bundle).status == OutcomeStatus::Pending;
    ensure(is_told_so == is_undecided, "an agent is told an outcome that is not final, or none of one that is")?;
    ensure(world.dispatches(&bundle.pending_id) <= 1, "INV-08: two dispatches of one bundle")?;
    let claims: Vec<_> = bundle.claimed().filter_map(|q| Some(&q.claim.as_ref()?.id)).collect();
    ensure(claims.windows(2).all(|pair| pair[0] == pair[1]), "INV-06: two claims are open")?;
    if active {
        let is_waited = waiters(view, bundle) > 0;
        let agrees = bundle.pending().all(|q| q.is_detached != is_waited);
        ensure(agrees, "INV-17: the detached mark is not what waiters say")?;
        // A runtime may say that its agent works on beside what it asked.
        let is_stated = world.stated == Some(SessionState::Running);
        let is_shown =
            is_stated || view.session.as_ref().is_some_and(|s| s.state == SessionState::WaitingForInput);
        ensure(is_shown, "a question is answerable and the session does not say that it waits")?;
    }
    if open_claim(bundle).is_some() {
        ensure(is_live(view), "INV-34: a claim is open in a session that is over")?;
        let is_timely = is_current(view, bundle) || reserved(view).is_some();
        ensure(is_timely, "INV-34: a claim is open though a newer turn stands")?;
    }
    let was_retired = bundle.questions.iter().any(|q| q.claim.as_ref().is_some_and(|claim| claim.is_retired));
    let is_lost = was_retired && is_live(view) && is_current(view, bundle);
    ensure(!is_lost, "a response was retired though its turn is still the current one")?;
    check_knowledge(world, bundle)
}

/// The rows never claim more, or less, than what the executor did.
fn check_knowledge(world: &World, bundle: &Bundle) -> Result<(), String> {
    for question in &bundle.questions {
        let is_accepted = question.dispatch_outcome == Some(DispatchOutcome::Accepted);
        let was_sent = world.dispatches(&bundle.pending_id) > 0;
        ensure(!is_accepted || was_sent, "a row says that its dispatch was accepted, and nothing was sent")?;
        let is_back = question.is_pending() && was_sent;
        ensure(!is_back, "INV-08: answerable again after a dispatch that may have been accepted")?;
        let was_given = world.returned.contains(&bundle.pending_id);
        let is_standing = !question.is_pending() && !question.has_intent();
        ensure(!was_given || is_standing, "INV-11: an agent was given what is not final")?;
    }
    Ok(())
}

fn state(view: &SessionView, bundle: &Bundle) -> BundleState {
    if open_claim(bundle).is_some() {
        BundleState::DeliveryClaimed
    } else if is_active(view, bundle) {
        if waiters(view, bundle) > 0 { BundleState::ActiveLive } else { BundleState::ActiveDetached }
    } else if bundle.questions.iter().any(Question::is_pending) && is_live(view) {
        BundleState::SupersededHistory
    } else {
        BundleState::Terminal
    }
}

pub(super) fn ensure(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}
