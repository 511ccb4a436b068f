//! What must be refused, or must change nothing, in a state: stale, late and repeated commands.
//! May import: ids and the rest of lifecycle.

use crate::ids::{Micros, WaiterId};
use crate::lifecycle::fixtures::key;
use crate::lifecycle::{
    Admission, Bundle, BundleState, Certainty, Command, ConflictReason, Decision, Effect, ExpectedTurn, KeyResult,
    Keyed, Lease, Refusal, SessionState, Turn,
};

use super::drive;
use super::rules::{self, ensure};
use super::step;
use super::world::{Decide, World};

/// Asks a state everything that it must not do.
pub(super) fn check(world: &World, decide: Decide) -> Result<(), String> {
    let probe = Probe { world, decide };
    if world.view.session.is_none() {
        return probe.nothing();
    }
    probe.prompts()?;
    probe.session()?;
    world.view.bundles.iter().try_for_each(|bundle| probe.bundle(bundle))?;
    world.view.turns.iter().try_for_each(|turn| probe.turn(turn))?;
    probe.malformed()
}

fn lease() -> Lease {
    Lease { token_hash: "another".into(), claimed_at: Micros(1), until: Micros(i64::MAX) }
}

struct Probe<'w> {
    world: &'w World,
    decide: Decide,
}

impl Probe<'_> {
    fn run(&self, command: &Command) -> Result<Decision, Refusal> {
        (self.decide)(&self.world.view, command, &self.world.stamp_after(1))
    }

    fn refused(&self, command: &Command, what: &str) -> Result<(), String> {
        if self.run(command).is_err() { Ok(()) } else { Err(format!("{what}: {command:?}")) }
    }

    /// Refused, or taken without any change and event.
    fn inert(&self, command: &Command, what: &str) -> Result<(), String> {
        let is_inert = self.run(command).is_ok_and(|done| done.changes.is_empty() && done.events.is_empty());
        if is_inert { Ok(()) } else { Err(format!("{what}: {command:?}")) }
    }

    /// A session that is not there, or not any more, takes nothing.
    fn nothing(&self) -> Result<(), String> {
        let commands =
            [drive::prompt(Admission::Immediate), Command::Expire, Command::Recover, Command::DeleteSession];
        commands.iter().try_for_each(|command| self.refused(command, "a session that is not there did something"))
    }

    fn prompts(&self) -> Result<(), String> {
        for (admission, is_dispatched) in [(Admission::Immediate, false), (Admission::Dispatch, true)] {
            if !step::may_prompt(&self.world.view, is_dispatched) {
                self.refused(&drive::prompt(admission), "INV-33: a prompt is admitted")?;
            }
        }
        Ok(())
    }

    fn session(&self) -> Result<(), String> {
        let view = &self.world.view;
        if rules::is_live(view) {
            self.refused(&Command::Expire, "a live session expires")?;
        } else {
            self.inert(&Command::Expire, "INV-18, 29: something was left to expire")?;
        }
        let overlapped = Command::Ready { generation: None, has_overlapped: true };
        if rules::reserved(view).is_some() {
            self.refused(&overlapped, "INV-32: a ready event did not wait")?;
        } else {
            self.inert(&overlapped, "INV-32: a ready event that proves nothing acted")?;
        }
        let is_asked = view.bundles.iter().any(|bundle| rules::is_active(view, bundle));
        for hiding in [SessionState::Created, SessionState::Starting, SessionState::Idle] {
            if is_asked || !rules::is_live(view) {
                self.refused(&Command::SetSessionState(hiding), "INV-26: what is answerable is hidden")?;
            }
        }
        if rules::current(view).is_some() {
            self.refused(
                &Command::CancelTurn(ExpectedTurn::NoTurn),
                "INV-32: a turn nobody expected is cancelled",
            )?;
        }
        Ok(())
    }

    fn bundle(&self, bundle: &Bundle) -> Result<(), String> {
        let view = &self.world.view;
        let answer = drive::answer(bundle, key("another"));
        if !step::may_respond(view, bundle) {
            self.conflict(bundle, &answer)?;
            self.conflict(bundle, &drive::skip(bundle, key("another")))?;
        } else if !step::is_beside_claim(view, bundle) {
            ensure(self.run(&answer).is_ok(), "a question that is asked cannot be answered")?;
        } else {
            self.refused(&answer, "a dispatch would supersede a hand-over")?;
        }
        let is_live = rules::is_active(view, bundle) && rules::waiters(view, bundle) > 0;
        let cancel = Command::Cancel(bundle.pending_id.clone());
        ensure(self.run(&cancel).is_ok() == is_live, "INV-04: cancel is for what is live")?;
        self.replays(bundle)?;
        self.closed_claims(bundle)?;
        self.nothing_to_take(bundle)
    }

    /// INV-07, 29: the reason is the bundle's state.
    fn conflict(&self, bundle: &Bundle, command: &Command) -> Result<(), String> {
        let view = &self.world.view;
        let is_active = rules::is_active(view, bundle);
        let Err(refusal) = self.run(command) else {
            return Err(format!("INV-04, 07: taken for what is over: {command:?}"));
        };
        let reason = match refusal {
            Refusal::Conflict { reason, .. } if !is_active => reason,
            Refusal::DispatchUnresolved if is_active => return Ok(()),
            _ => return Err(format!("INV-07: refused as {refusal:?}")),
        };
        let fits = match view.bundle_state(bundle) {
            BundleState::DeliveryClaimed => reason == ConflictReason::DeliveryClaimed,
            BundleState::SupersededHistory => reason == ConflictReason::Superseded,
            _ if rules::is_live(view) => reason == ConflictReason::Terminal,
            _ => matches!(reason, ConflictReason::Terminal | ConflictReason::SessionEnded),
        };
        if fits { Ok(()) } else { Err(format!("INV-07: the conflict says {reason:?}")) }
    }

    /// INV-06: the same key again is told of its claim, and nothing is done twice.
    fn replays(&self, bundle: &Bundle) -> Result<(), String> {
        for record in &self.world.view.keys {
            let KeyResult::Responded(id, claim) = &record.result else { continue };
            if id != &bundle.pending_id {
                continue;
            }
            let keyed = Keyed { key: record.key.clone(), body_hash: record.body_hash.clone() };
            let done = self.run(&drive::answer(bundle, keyed.clone()));
            let is_told = done.is_ok_and(|done| {
                done.changes.is_empty() && matches!(&done.effect, Effect::Replayed(told, _) if told == claim)
            });
            ensure(is_told, "INV-06: a resend is not answered with its own claim")?;
            let other = Keyed { body_hash: "another body".into(), ..keyed };
            self.refused(&drive::answer(bundle, other), "a key is taken with another body")?;
        }
        Ok(())
    }

    /// INV-16: a claim that is closed is closed for both.
    fn closed_claims(&self, bundle: &Bundle) -> Result<(), String> {
        let Some(claim) = bundle.questions.iter().find_map(|q| q.claim.clone().filter(|claim| !claim.is_open))
        else {
            return Ok(());
        };
        let restore = Command::RestoreClaim(bundle.pending_id.clone(), claim.id.clone());
        self.refused(&restore, "INV-16: a closed claim is restored")?;
        let finalize = Command::FinalizeClaim(bundle.pending_id.clone(), claim.id);
        self.refused(&finalize, "INV-16: a closed claim is closed again")
    }

    /// A waiter that comes too late, or for a claim that a dispatch holds, takes nothing.
    fn nothing_to_take(&self, bundle: &Bundle) -> Result<(), String> {
        let view = &self.world.view;
        let known = view.waiters.iter().find(|waiter| waiter.pending_id == bundle.pending_id);
        let waiter = known.map_or_else(|| WaiterId::new("nobody"), |waiter| waiter.id.clone());
        let is_takable = rules::open_claim(bundle).is_some()
            && known.is_some()
            && rules::is_current(view, bundle)
            && !rules::is_held(view, bundle);
        if is_takable {
            return Ok(());
        }
        let pending_id = bundle.pending_id.clone();
        let confirm = Command::ConfirmDelivery { pending_id, waiter, watchdog: None };
        self.inert(&confirm, "INV-11, 16: a late waiter took something")
    }

    fn turn(&self, turn: &Turn) -> Result<(), String> {
        let view = &self.world.view;
        let id = || turn.id.clone();
        let stage = turn.reservation.as_ref().map(|r| (r.is_attempted, r.is_acknowledged));
        if stage != Some((false, false)) || !turn.reservation.as_ref().is_some_and(|r| step::is_silent(view, r)) {
            self.refused(&Command::MarkAttempted(id()), "INV-08: attempted twice")?;
        }
        if !matches!(stage, Some((true, _))) {
            self.refused(&Command::Acknowledge(id(), Certainty::Accepted), "INV-10: accepted without an attempt")?;
        }
        if stage != Some((true, false)) {
            self.refused(&Command::Acknowledge(id(), Certainty::Unknown), "INV-10: unknown without an attempt")?;
        }
        if stage != Some((true, true)) {
            self.refused(&Command::PublishAccepted(id()), "INV-22: published without an acknowledgement")?;
        }
        if !matches!(stage, Some((false, _))) {
            self.refused(&Command::RevokeDispatch(id()), "INV-08: what was attempted is taken back")?;
            self.refused(&Command::ClaimDispatch(id(), lease()), "INV-08: a dispatch is claimed twice")?;
        }
        self.refused(&Command::LapseLease(id()), "a lease runs out before its time, or where there is none")?;
        if turn.lease.is_none() || stage != Some((true, false)) {
            self.refused(&Command::ExtendLease(id(), Micros(i64::MAX)), "a lease is extended that is over")?;
        }
        if !matches!(stage, Some((_, false))) {
            self.refused(&Command::RejectDispatch(id()), "INV-03: a turn that was accepted is rolled back")?;
        }
        if rules::current(view).is_some_and(|current| current.id == turn.id) {
            return Ok(());
        }
        self.inert(&Command::Detach(id()), "INV-17: a late detach acted")?;
        self.refused(&Command::CancelTurn(ExpectedTurn::Turn(id())), "INV-32: a stale pause cancelled")?;
        let late = Command::Ready { generation: Some(turn.generation), has_overlapped: false };
        if rules::reserved(view).is_none() {
            self.inert(&late, "INV-32: a late ready event acted")?;
        }
        Ok(())
    }

    /// INV-25: a record that cannot be read fails the start, and changes nothing.
    fn malformed(&self) -> Result<(), String> {
        let Some(reserved) = rules::reserved(&self.world.view) else { return Ok(()) };
        let mut view = self.world.view.clone();
        view.dead_epochs.push(self.world.epoch);
        let is_it = |turn: &&mut Turn| turn.id == reserved.id;
        view.turns.iter_mut().filter(is_it).for_each(|turn| turn.malformed = Some("no list".into()));
        let refusal = (self.decide)(&view, &Command::Recover, &self.world.stamp());
        ensure(matches!(refusal, Err(Refusal::Malformed { .. })), "INV-25: recovery read what cannot be read")
    }
}
