//! A dispatch that workers come for: the reservation is the offer, the attempt marker is the claim, and the lease
//! says until when its worker may acknowledge (design: agents). May import: ids and the rest of lifecycle.

use crate::ids::{Micros, TurnId};
use crate::lifecycle::{Effect, Refusal, Turn};

use super::dispatch;
use super::draft::Draft;

/// Its worker had its time. A dispatch that nobody leased never lapses.
pub(super) fn has_lapsed(d: &Draft, turn: &Turn) -> bool {
    turn.lease.as_ref().is_some_and(|lease| lease.until <= d.now())
}

/// Nobody has claimed it, so nobody ever will.
pub(super) fn revoke(d: &mut Draft, id: &TurnId) -> Result<Effect, Refusal> {
    let turn = dispatch::reserved(d, id)?;
    if dispatch::is_attempted(&turn) { Err(Refusal::Stale) } else { dispatch::roll_back(d, id) }
}

/// A lease that lapsed is not to be had again.
pub(super) fn extend(d: &mut Draft, id: &TurnId, until: Micros) -> Result<Effect, Refusal> {
    let turn = dispatch::reserved(d, id)?;
    if turn.lease.is_none() || dispatch::is_acknowledged(&turn) || has_lapsed(d, &turn) {
        return Err(Refusal::Stale);
    }
    d.set_turn(&turn, |turn| {
        if let Some(lease) = &mut turn.lease {
            lease.until = lease.until.max(until);
        }
    });
    Ok(Effect::Turn(id.clone()))
}

/// Only once its time is over: an extension that came first holds it.
pub(super) fn lapse(d: &mut Draft, id: &TurnId) -> Result<Effect, Refusal> {
    let turn = dispatch::reserved(d, id)?;
    if has_lapsed(d, &turn) { dispatch::close_unknown(d, id) } else { Err(Refusal::Stale) }
}

#[cfg(test)]
mod tests {
    use crate::lifecycle::fixtures::{Trial, key, question_id};
    use crate::lifecycle::{Answer, BundleState, Certainty, Command, DispatchOutcome, Lease, Respond};

    use super::*;

    fn lease(until: i64) -> Lease {
        Lease { token_hash: "hash".into(), claimed_at: Micros(1), until: Micros(until) }
    }

    /// A detached answer whose dispatch is on offer.
    fn offered() -> (Trial, TurnId) {
        let mut trial = Trial::new();
        let bundle = trial.ask(1, None);
        let respond = Command::Respond(Respond {
            pending_id: bundle.pending_id,
            answers: vec![(question_id(1), Answer { option_ids: Vec::new(), custom_text: Some("yes".into()) })],
            expected_turn: None,
            principal: crate::ids::PrincipalId::new("p"),
            key: key("respond"),
        });
        match trial.run(&respond).unwrap().effect {
            Effect::Dispatch(_, turn) => (trial, turn),
            other => panic!("{other:?}"),
        }
    }

    fn bundle_state(trial: &Trial) -> BundleState {
        trial.view.bundle_state(&trial.view.bundles[0])
    }

    #[test]
    fn what_one_worker_claimed_no_other_gets_and_no_deadline_takes_back() {
        let (mut trial, turn) = offered();
        trial.run(&Command::ClaimDispatch(turn.clone(), lease(1_000_000))).unwrap();
        for late in [Command::ClaimDispatch(turn.clone(), lease(9)), Command::RevokeDispatch(turn.clone())] {
            assert_eq!(trial.run(&late), Err(Refusal::Stale), "{late:?}");
        }
        trial.run(&Command::Acknowledge(turn.clone(), Certainty::Accepted)).unwrap();
        trial.run(&Command::PublishAccepted(turn.clone())).unwrap();
        assert_eq!(trial.view.turn(&turn).unwrap().dispatch_outcome, Some(DispatchOutcome::Accepted));
        assert_eq!(bundle_state(&trial), BundleState::Terminal);
    }

    #[test]
    fn an_offer_that_nobody_claimed_is_taken_back_and_answerable_again() {
        let (mut trial, turn) = offered();
        trial.run(&Command::RevokeDispatch(turn.clone())).unwrap();
        assert_eq!(trial.view.turn(&turn), None);
        assert_eq!(bundle_state(&trial), BundleState::ActiveDetached);
        assert_eq!(trial.run(&Command::ClaimDispatch(turn, lease(1_000_000))), Err(Refusal::NotFound));
    }

    #[test]
    fn a_lease_ends_unknown_once_its_time_is_over_and_not_before() {
        let (mut trial, turn) = offered();
        let until = trial.clock + 5_000;
        trial.run(&Command::ClaimDispatch(turn.clone(), lease(until))).unwrap();
        assert_eq!(trial.run(&Command::LapseLease(turn.clone())), Err(Refusal::Stale));
        trial.run(&Command::ExtendLease(turn.clone(), Micros(until + 5_000))).unwrap();
        trial.clock = until;
        assert_eq!(trial.run(&Command::LapseLease(turn.clone())), Err(Refusal::Stale));
        trial.clock = until + 5_000;
        let late = [
            Command::Acknowledge(turn.clone(), Certainty::Accepted),
            Command::ExtendLease(turn.clone(), Micros(i64::MAX)),
        ];
        late.iter().for_each(|late| assert_eq!(trial.run(late), Err(Refusal::Stale), "{late:?}"));
        trial.run(&Command::LapseLease(turn.clone())).unwrap();
        let kept = trial.view.turn(&turn).unwrap();
        assert_eq!((kept.dispatch_outcome, kept.reservation.as_ref()), (Some(DispatchOutcome::Unknown), None));
        assert!(kept.lease.is_some(), "a late word of its worker could not be told from a stranger's");
        assert_eq!(bundle_state(&trial), BundleState::Terminal);
    }
}
