//! `decide`: one command over one view. One file per kind of command; [`draft`] is what they write on.
//! May import: ids and the rest of lifecycle.

mod ask;
mod claim;
mod delivery;
mod dispatch;
mod draft;
mod lease;
mod message;
mod recover;
mod respond;
mod session;
mod turn;
mod waiter;
mod watchdog;

use super::{Certainty, Command, Decision, Refusal, SessionView, Stamp};
use draft::Draft;

/// Decides one command over one view. Pure: the same arguments give the same decision, so a store may call it
/// again when its database asks for a retry.
///
/// # Errors
/// The [`Refusal`] says why nothing changes.
pub fn decide(view: &SessionView, command: &Command, stamp: &Stamp) -> Result<Decision, Refusal> {
    let mut draft = Draft::new(view, *stamp);
    let d = &mut draft;
    if let Command::CreateSession { task_id, executor, is_watchdog_on } = command {
        return session::create(draft, task_id, executor.as_ref(), *is_watchdog_on);
    }
    d.session()?;
    let effect = match command {
        Command::CreateSession { .. } => return Err(Refusal::Stale),
        Command::SetSessionState(to) => session::set_state(d, *to),
        Command::EndSession(to) => session::end(d, *to),
        Command::DeleteSession => session::delete(d),
        Command::BindAgent(known) => session::bind_agent(d, known),
        Command::Expire => session::expire(d),
        Command::AcceptTurn(accept) => turn::accept(d, accept),
        Command::CompleteTurn(id) => turn::complete(d, id),
        Command::CancelTurn(expected) => turn::cancel(d, expected),
        Command::Ready { generation, has_overlapped } => turn::ready(d, *generation, *has_overlapped),
        Command::Ask(request) => ask::ask(d, request),
        Command::RegisterWaiter(bundle, waiter) => waiter::register(d, bundle, waiter),
        Command::DropWaiter { pending_id, waiter, is_received } => {
            waiter::drop_waiter(d, pending_id, waiter, *is_received)
        }
        Command::Detach(turn) => waiter::detach(d, turn),
        Command::Respond(request) => respond::respond(d, request),
        Command::Skip(request) => respond::skip(d, request),
        Command::ConfirmDelivery { pending_id, waiter, watchdog } => {
            delivery::confirm(d, pending_id, waiter, *watchdog)
        }
        Command::FinalizeClaim(bundle, claim) => delivery::finalize(d, bundle, claim),
        Command::RestoreClaim(bundle, claim) => delivery::restore(d, bundle, claim),
        Command::Cancel(bundle) => respond::cancel(d, bundle),
        Command::MarkAttempted(turn) => dispatch::mark_attempted(d, turn, None),
        Command::ClaimDispatch(turn, lease) => dispatch::mark_attempted(d, turn, Some(lease)),
        Command::ExtendLease(turn, until) => lease::extend(d, turn, *until),
        Command::LapseLease(turn) => lease::lapse(d, turn),
        Command::RevokeDispatch(turn) => lease::revoke(d, turn),
        Command::Acknowledge(turn, Certainty::Accepted) => dispatch::acknowledge(d, turn),
        Command::Acknowledge(turn, Certainty::Unknown) => dispatch::close_unknown(d, turn),
        Command::PublishAccepted(turn) => dispatch::publish_accepted(d, turn),
        Command::RejectDispatch(turn) => dispatch::roll_back(d, turn),
        Command::ResolveAmbiguous { turn_id, pending_id, was_accepted } => {
            dispatch::resolve_ambiguous(d, turn_id, pending_id.as_ref(), *was_accepted)
        }
        Command::ArmWatchdog { pending_id, deadline } => watchdog::arm(d, pending_id, *deadline),
        Command::FireWatchdog(turn) => watchdog::fire(d, turn),
        Command::AppendMessage(new) => message::append(d, new),
        Command::UpdateMessage { id, content } => message::update(d, id, content),
        Command::DeleteMessage(id) => message::delete(d, id),
        Command::RecordPermission { id, content } => message::record_permission(d, id, content),
        Command::ResolvePermission { id, status } => message::resolve_permission(d, id, status),
        Command::Recover => recover::recover(d),
    }?;
    Ok(draft.finish(effect))
}
