//! Every command of the lifecycle is a step of the search, and does something there. May import: ids and the rest of
//! lifecycle.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::lifecycle::{Command, Decision, Refusal, SessionView, Stamp, decide};

use super::drive::perform;
use super::legacy;
use super::random::{LARGE, START, choose};
use super::step::Step;
use super::world::Bounds;

/// Names for all of them: one that is missing does not compile.
macro_rules! alphabet {
    ($($pattern:pat => $name:literal,)*) => {
        const ALL: &[&str] = &[$($name),*];

        fn name(command: &Command) -> &'static str {
            match command { $($pattern => $name,)* }
        }
    };
}

alphabet! {
    Command::CreateSession { .. } => "CreateSession",
    Command::SetSessionState(_) => "SetSessionState",
    Command::EndSession(_) => "EndSession",
    Command::DeleteSession => "DeleteSession",
    Command::BindAgent(_) => "BindAgent",
    Command::AcceptTurn(_) => "AcceptTurn",
    Command::CompleteTurn(_) => "CompleteTurn",
    Command::CancelTurn(_) => "CancelTurn",
    Command::Ready { .. } => "Ready",
    Command::Ask(_) => "Ask",
    Command::RegisterWaiter(..) => "RegisterWaiter",
    Command::DropWaiter { .. } => "DropWaiter",
    Command::Detach(_) => "Detach",
    Command::Respond(_) => "Respond",
    Command::Skip(_) => "Skip",
    Command::ConfirmDelivery { .. } => "ConfirmDelivery",
    Command::FinalizeClaim(..) => "FinalizeClaim",
    Command::RestoreClaim(..) => "RestoreClaim",
    Command::Cancel(_) => "Cancel",
    Command::Expire => "Expire",
    Command::MarkAttempted(_) => "MarkAttempted",
    Command::Acknowledge(..) => "Acknowledge",
    Command::PublishAccepted(_) => "PublishAccepted",
    Command::RejectDispatch(_) => "RejectDispatch",
    Command::RevokeDispatch(_) => "RevokeDispatch",
    Command::ClaimDispatch(..) => "ClaimDispatch",
    Command::ExtendLease(..) => "ExtendLease",
    Command::LapseLease(_) => "LapseLease",
    Command::ResolveAmbiguous { .. } => "ResolveAmbiguous",
    Command::ArmWatchdog { .. } => "ArmWatchdog",
    Command::FireWatchdog(_) => "FireWatchdog",
    Command::AppendMessage(_) => "AppendMessage",
    Command::UpdateMessage { .. } => "UpdateMessage",
    Command::DeleteMessage(_) => "DeleteMessage",
    Command::RecordPermission { .. } => "RecordPermission",
    Command::ResolvePermission { .. } => "ResolvePermission",
    Command::Recover => "Recover",
}

thread_local! {
    static TAKEN: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

/// Remembers what changed something.
fn recording(view: &SessionView, command: &Command, stamp: &Stamp) -> Result<Decision, Refusal> {
    let decided = decide(view, command, stamp);
    if decided.as_ref().is_ok_and(|decision| !decision.changes.is_empty()) {
        TAKEN.with_borrow_mut(|taken| taken.insert(name(command)));
    }
    decided
}

/// The same traces each time: a plain generator of numbers, no seed from outside.
#[test]
fn every_command_is_taken_in_some_trace() {
    let mut number = 1u64;
    let mut next = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u16::try_from(number >> 48).unwrap()
    };
    for round in 0..240 {
        let bounds = Bounds { is_pulled: round % 2 == 1, ..LARGE };
        let mut world = START[round % START.len()](&bounds);
        for _ in 0..80 {
            let step = choose(&world, &bounds, next());
            world = perform(&world, step, &bounds, recording).unwrap();
        }
    }
    perform(&legacy::over(&LARGE), Step::Expire, &LARGE, recording).unwrap();
    let taken = TAKEN.with_borrow(Clone::clone);
    let missing: Vec<_> = ALL.iter().filter(|name| !taken.contains(*name)).collect();
    assert!(missing.is_empty(), "no trace does {missing:?}");
}
