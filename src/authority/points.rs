//! The crash points of the one door: which name a command's transaction has while it is open, and when it is
//! committed and nobody knows yet. A command without a name does not compile. May import: store, lifecycle, crash.

use crate::crash;
use crate::lifecycle::{AcceptTurn, Admission, Certainty, Command, Decision, Effect};
use crate::store;

/// The transaction is open and has decided to change something: a crash here leaves everything as it was.
pub(super) fn open(command: &Command, decision: &Decision) {
    if !decision.changes.is_empty() {
        crash::point(name_of_open(command, decision));
    }
}

/// It is committed: nobody is woken, nothing is published, nobody is told.
pub(super) fn committed(command: &Command, decision: &Decision) {
    if !decision.changes.is_empty() {
        crash::point(name_of_committed(command, decision));
    }
}

/// CP-38: the outcome of a rollback stays unknown, with the connection lost before or after its commit.
pub(super) fn lost(command: &Command, when: &str) -> Result<(), store::Error> {
    let is_rollback = matches!(command, Command::RejectDispatch(_) | Command::RevokeDispatch(_));
    let is_armed = is_rollback && crash::fault("CP-38").is_some_and(|how| how == when);
    if is_armed { Err(store::Error::UnknownCommit) } else { Ok(()) }
}

fn name_of_open(command: &Command, decision: &Decision) -> &'static str {
    match command {
        Command::Ask(_) => "CP-01",
        Command::RegisterWaiter(..) => "CP-03",
        Command::DropWaiter { .. } | Command::Detach(_) => "CP-05",
        Command::CancelTurn(_) => "CP-07",
        Command::Skip(_) if matches!(decision.effect, Effect::Settled(_)) => "CP-22",
        Command::Respond(_) | Command::Skip(_) => "CP-09",
        Command::ConfirmDelivery { .. } | Command::FinalizeClaim(..) => "CP-17",
        Command::RestoreClaim(..) => "CP-20",
        Command::FireWatchdog(_) => "CP-21",
        Command::MarkAttempted(_) | Command::ClaimDispatch(..) => "CP-27",
        Command::Acknowledge(_, Certainty::Accepted) => "CP-30",
        Command::Acknowledge(_, Certainty::Unknown) | Command::LapseLease(_) => "CP-29",
        Command::PublishAccepted(_) => "CP-31",
        Command::RejectDispatch(_) | Command::RevokeDispatch(_) => "CP-34",
        Command::AcceptTurn(_) => "CP-41",
        Command::DeleteMessage(_) => "CP-44",
        Command::Cancel(_) => "CP-46",
        Command::EndSession(_) | Command::Expire => "CP-48",
        Command::Recover => "CP-50",
        Command::CreateSession { .. }
        | Command::BindAgent(_)
        | Command::SetSessionState(_)
        | Command::DeleteSession
        | Command::CompleteTurn(_)
        | Command::Ready { .. }
        | Command::ExtendLease(..)
        | Command::ResolveAmbiguous { .. }
        | Command::ArmWatchdog { .. }
        | Command::AppendMessage(_)
        | Command::UpdateMessage { .. }
        | Command::RecordPermission { .. }
        | Command::ResolvePermission { .. } => "CP-63",
    }
}

fn name_of_committed(command: &Command, decision: &Decision) -> &'static str {
    match command {
        Command::Ask(ask) if ask.waiter.is_none() => "CP-03",
        Command::Ask(_) | Command::RegisterWaiter(..) => "CP-04",
        Command::DropWaiter { .. } | Command::Detach(_) => "CP-06",
        Command::Respond(_)
        | Command::Skip(_)
        | Command::AcceptTurn(AcceptTurn { admission: Admission::Dispatch, .. }) => claimed(command, decision),
        Command::ConfirmDelivery { .. } if decision.arms_watchdog() => "CP-21",
        Command::ConfirmDelivery { .. } | Command::FinalizeClaim(..) => "CP-18",
        Command::RestoreClaim(..) | Command::RejectDispatch(_) | Command::RevokeDispatch(_) => "CP-36",
        Command::FireWatchdog(_) => "CP-26",
        Command::MarkAttempted(_) | Command::ClaimDispatch(..) => "CP-28",
        Command::Acknowledge(_, Certainty::Accepted) => "CP-39",
        Command::Acknowledge(_, Certainty::Unknown) | Command::LapseLease(_) | Command::PublishAccepted(_) => {
            "CP-33"
        }
        Command::CompleteTurn(_) | Command::Ready { .. } | Command::CancelTurn(_) => "CP-40",
        Command::AcceptTurn(_) => "CP-42",
        Command::DeleteMessage(_) => "CP-45",
        Command::Cancel(_) => "CP-46",
        Command::EndSession(_) | Command::Expire => "CP-49",
        Command::AppendMessage(_) => "CP-37",
        Command::Recover => "CP-51",
        Command::CreateSession { .. }
        | Command::BindAgent(_)
        | Command::SetSessionState(_)
        | Command::DeleteSession
        | Command::ExtendLease(..)
        | Command::ResolveAmbiguous { .. }
        | Command::ArmWatchdog { .. }
        | Command::UpdateMessage { .. }
        | Command::RecordPermission { .. }
        | Command::ResolvePermission { .. } => "CP-64",
    }
}

fn claimed(command: &Command, decision: &Decision) -> &'static str {
    match decision.effect {
        Effect::Settled(_) => "CP-23",
        Effect::HandOver(_) if matches!(command, Command::Skip(_)) => "CP-12",
        Effect::HandOver(_) => "CP-11",
        _ => "CP-26",
    }
}
