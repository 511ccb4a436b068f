//! What a command leaves by which it is known again when its commit was in doubt (decisions 23).
//! May import: lifecycle, ids.

use crate::lifecycle::{Bundle, ClaimTicket, Command, Effect, Focus, SessionView};

/// What a view must hold to look for it.
pub(super) fn focus(effect: &Effect) -> Focus {
    let mut focus = Focus::default();
    match effect {
        Effect::HandOver(ticket) | Effect::Dispatch(ticket, _) | Effect::Settled(ticket) => {
            focus.pending_id = Some(ticket.pending_id.clone());
        }
        Effect::Asked { outcome, .. } | Effect::Outcome(outcome) => {
            focus.pending_id = Some(outcome.pending_id.clone());
        }
        Effect::Turn(turn) => focus.turn_id = Some(turn.clone()),
        _ => {}
    }
    focus
}

/// It is there, so the commit was made.
pub(super) fn is_left(view: &SessionView, command: &Command, effect: &Effect) -> bool {
    match (command, effect) {
        (_, Effect::HandOver(ticket) | Effect::Dispatch(ticket, _) | Effect::Settled(ticket)) => {
            view.bundle(&ticket.pending_id).is_some_and(|bundle| holds(bundle, ticket))
        }
        (Command::Ask(ask), Effect::Asked { outcome, .. }) => match &ask.waiter {
            Some(waiter) => view.waiters.iter().any(|w| &w.id == waiter),
            None => view.bundle(&outcome.pending_id).is_some(),
        },
        (Command::RegisterWaiter(_, waiter), Effect::Outcome(_)) => view.waiters.iter().any(|w| &w.id == waiter),
        (Command::AcceptTurn(_) | Command::FireWatchdog(_), Effect::Turn(turn)) => view.turn(turn).is_some(),
        (Command::ClaimDispatch(turn, lease), Effect::Turn(_)) => {
            view.turn(turn).is_some_and(|turn| turn.lease.as_ref() == Some(lease))
        }
        _ => false,
    }
}

fn holds(bundle: &Bundle, ticket: &ClaimTicket) -> bool {
    bundle.questions.iter().filter_map(|q| q.claim.as_ref()).any(|claim| claim.id == ticket.id)
}
