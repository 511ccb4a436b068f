//! The fallback of a live answer whose agent stays silent (decisions 3). May import: ids and the rest of lifecycle.

use crate::ids::{Micros, PendingId, TurnId};
use crate::lifecycle::{
    Bundle, ClaimRef, Effect, Question, Refusal, Reservation, Status, Turn, Watchdog, answer_prompt,
};

use super::draft::Draft;
use super::{respond, turn};

/// Arms it, where the session wants one, somebody can be dispatched to and the bundle has not used it up. A turn has
/// one: its agent is silent or it is not. A bundle that is confirmed while it is armed joins it and gives the agent the
/// whole time again; a fallback of its own would be superseded by the other one's, and its answer told to nobody.
pub(super) fn arm(d: &mut Draft, pending_id: &PendingId, deadline: Micros) -> Result<Effect, Refusal> {
    let session = d.session()?;
    let is_wanted = session.is_watchdog_on && session.executor.is_some();
    let bundle = d.bundle(pending_id)?;
    let is_due = is_delivered_answer(&bundle) && d.view.is_of_current_turn(&bundle);
    let Some(turn) = d.view.current_turn().filter(|_| is_wanted && is_due).cloned() else {
        return Ok(Effect::Unchanged);
    };
    let armed = turn.watchdog.iter().flat_map(Watchdog::bundles);
    let earlier = armed.filter(|id| *id != pending_id).cloned().collect();
    let watchdog = Watchdog { pending_id: pending_id.clone(), earlier, deadline };
    d.set_turn(&turn, |turn| turn.watchdog = Some(watchdog));
    Ok(Effect::Done)
}

fn is_delivered_answer(bundle: &Bundle) -> bool {
    let is_answered = bundle.questions.iter().any(|q| q.status == Status::Answered);
    let is_settled = bundle.open_claim().is_none() && bundle.pending().next().is_none();
    let is_spent = bundle.questions.iter().any(|q| q.is_watchdog_spent || q.dispatched_turn_id.is_some());
    is_answered && is_settled && !is_spent
}

/// The agent did something.
pub(super) fn disarm(d: &mut Draft, turn_id: &TurnId) {
    if let Some(turn) = d.view.turn(turn_id).filter(|turn| turn.watchdog.is_some()).cloned() {
        d.set_turn(&turn, |turn| turn.watchdog = None);
    }
}

/// Its bundle is gone: there is nothing left of it to fall back to.
pub(super) fn disarm_of(d: &mut Draft, question: &Question) {
    let Some(turn) = d.view.turn(&question.turn_id).cloned() else { return };
    let Some(watchdog) = &turn.watchdog else { return };
    let mut left: Vec<_> = watchdog.bundles().filter(|id| **id != question.pending_id).cloned().collect();
    let deadline = watchdog.deadline;
    let last = left.pop();
    d.set_turn(&turn, |turn| {
        turn.watchdog = last.map(|pending_id| Watchdog { pending_id, earlier: left, deadline });
    });
}

/// Reserves the successor, if the turn is still the current one. The watchdog stays armed until the attempt: an agent
/// that shows itself first, or a server that goes, leaves an empty reservation, and whoever is silent again is due.
pub(super) fn fire(d: &mut Draft, turn_id: &TurnId) -> Result<Effect, Refusal> {
    let turn = d.turn(turn_id)?;
    let now = d.now();
    let Some(watchdog) = turn.watchdog.clone().filter(|watchdog| watchdog.deadline <= now) else {
        return Err(Refusal::Stale);
    };
    if d.view.reservation().is_some() {
        return Err(Refusal::DispatchUnresolved);
    }
    respond::check_hand_overs(d)?;
    let bundles = told(d, &watchdog);
    if bundles.is_empty() || !is_due(d, turn_id) {
        disarm(d, turn_id);
        return Ok(Effect::Unchanged);
    }
    let (pending_id, turn_id) = (watchdog.pending_id, turn_id.clone());
    let source = Some(ClaimRef { claim_id: None, pending_id, turn_id, message_ids: Vec::new() });
    let (prompt, epoch) = (answer_prompt(&bundles), d.stamp().epoch);
    let reservation = Reservation { is_attempted: false, is_acknowledged: false, source, prompt, epoch };
    Ok(Effect::Turn(turn::reserve(d, reservation)))
}

/// Its turn is the current one of a session that lives.
fn is_due(d: &Draft, turn_id: &TurnId) -> bool {
    d.view.is_live() && d.view.current_turn().is_some_and(|current| &current.id == turn_id)
}

/// What the agent took and was silent over.
fn told(d: &Draft, watchdog: &Watchdog) -> Vec<Bundle> {
    let known = watchdog.bundles().filter_map(|id| d.view.bundle(id));
    known.filter(|bundle| is_delivered_answer(bundle)).cloned().collect()
}

/// The armed watchdog of a reserved fallback; an error where the agent was quicker.
pub(super) fn behind(d: &Draft, reserved: &Turn) -> Result<Option<(TurnId, Watchdog)>, Refusal> {
    let source = reserved.reservation.as_ref().and_then(|reservation| reservation.source.as_ref());
    let Some(source) = source.filter(|source| source.claim_id.is_none()) else { return Ok(None) };
    let armed = d.view.turn(&source.turn_id).and_then(|turn| turn.watchdog.clone());
    let armed = armed.filter(|_| is_due(d, &source.turn_id)).ok_or(Refusal::Stale)?;
    Ok(Some((source.turn_id.clone(), armed)))
}

/// Its fallback is attempted: never a second one (decisions 3).
pub(super) fn spend(d: &mut Draft, turn_id: &TurnId, watchdog: &Watchdog) {
    let bundles = told(d, watchdog);
    for question in bundles.iter().flat_map(|bundle| &bundle.questions) {
        let updated_at = question.updated_at;
        d.set_question(question, false, |q| {
            q.updated_at = updated_at;
            q.is_watchdog_spent = true;
        });
    }
    disarm(d, turn_id);
}

#[cfg(test)]
mod tests {
    use crate::ids::{MessageId, PrincipalId, WaiterId};
    use crate::lifecycle::fixtures::{Trial, key, question_id};
    use crate::lifecycle::{AcceptTurn, Admission, Answer, Command, NewMessage, Respond, TurnKind};

    use super::*;

    /// An agent that took an answer and may be silent until the clock says 100,000; its turn.
    fn armed() -> (Trial, TurnId) {
        let mut trial = Trial::new();
        trial.view.session.as_mut().unwrap().is_watchdog_on = true;
        let pending_id = trial.ask(1, Some("w")).pending_id;
        let answer = Answer { option_ids: Vec::new(), custom_text: Some("yes".into()) };
        let (answers, principal) = (vec![(question_id(1), answer)], PrincipalId::new("p"));
        let respond =
            Respond { pending_id: pending_id.clone(), answers, expected_turn: None, principal, key: key("r") };
        trial.run(&Command::Respond(respond)).unwrap();
        let (waiter, watchdog) = (WaiterId::new("w"), Some(Micros(100_000)));
        trial.run(&Command::ConfirmDelivery { pending_id, waiter, watchdog }).unwrap();
        let turn = trial.view.turns[0].clone();
        assert!(turn.watchdog.is_some());
        (trial, turn.id)
    }

    /// The same, with its fallback reserved; the successor.
    fn reserved() -> (Trial, TurnId, TurnId) {
        let (mut trial, turn) = armed();
        trial.clock = 100_000;
        match trial.run(&Command::FireWatchdog(turn.clone())).unwrap().effect {
            Effect::Turn(successor) => (trial, turn, successor),
            other => panic!("{other:?}"),
        }
    }

    fn speak(trial: &mut Trial, turn: &TurnId) {
        let message = NewMessage {
            turn_id: Some(turn.clone()),
            author: "agent".into(),
            kind: "message".into(),
            content: "here".into(),
            metadata: serde_json::Map::new(),
        };
        trial.run(&Command::AppendMessage(message)).unwrap();
    }

    fn is_spent(trial: &Trial) -> bool {
        trial.view.bundles[0].questions[0].is_watchdog_spent
    }

    #[test]
    fn it_fires_when_its_time_is_over_and_not_before() {
        let (mut trial, turn) = armed();
        assert_eq!(trial.run(&Command::FireWatchdog(turn.clone())), Err(Refusal::Stale));
        trial.clock = 100_000;
        assert!(matches!(trial.run(&Command::FireWatchdog(turn)).unwrap().effect, Effect::Turn(_)));
    }

    #[test]
    fn an_agent_that_speaks_between_the_look_and_the_reservation_is_not_prompted() {
        let (mut trial, turn) = armed();
        trial.clock = 100_000;
        speak(&mut trial, &turn);
        assert_eq!(trial.run(&Command::FireWatchdog(turn)), Err(Refusal::Stale));
    }

    #[test]
    fn a_turn_that_was_superseded_between_them_is_not_fallen_back_to() {
        let (mut trial, turn) = armed();
        trial.clock = 100_000;
        trial.run(&Command::CompleteTurn(turn.clone())).unwrap();
        let accept = AcceptTurn {
            prompt: String::new(),
            kind: TurnKind::Work,
            admission: Admission::Immediate,
            expected: None,
            principal: PrincipalId::new("p"),
            key: None,
        };
        trial.run(&Command::AcceptTurn(accept)).unwrap();
        assert_eq!(trial.run(&Command::FireWatchdog(turn)), Err(Refusal::Stale));
        assert_eq!(trial.view.reservation(), None);
    }

    #[test]
    fn a_reserved_fallback_is_no_attempt_before_it_is_marked() {
        let (mut trial, turn, successor) = reserved();
        assert_eq!(trial.view.current_turn().unwrap().id, turn);
        assert!(!is_spent(&trial) && trial.view.turn(&turn).unwrap().watchdog.is_some());
        trial.run(&Command::MarkAttempted(successor.clone())).unwrap();
        assert_eq!(trial.view.current_turn().unwrap().id, successor);
        assert!(is_spent(&trial) && trial.view.turn(&turn).unwrap().watchdog.is_none());
    }

    #[test]
    fn an_agent_that_speaks_between_the_reservation_and_the_attempt_is_not_prompted() {
        let (mut trial, turn, successor) = reserved();
        speak(&mut trial, &turn);
        assert_eq!(trial.run(&Command::MarkAttempted(successor.clone())), Err(Refusal::Stale));
        trial.run(&Command::RejectDispatch(successor)).unwrap();
        assert_eq!(trial.view.reservation(), None);
        assert_eq!(trial.run(&Command::FireWatchdog(turn)), Err(Refusal::Stale));
    }

    #[test]
    fn a_fallback_that_was_never_attempted_is_due_again_and_a_refused_one_never() {
        let (mut trial, turn, successor) = reserved();
        trial.run(&Command::RejectDispatch(successor)).unwrap();
        let Effect::Turn(second) = trial.run(&Command::FireWatchdog(turn.clone())).unwrap().effect else {
            panic!()
        };
        trial.run(&Command::MarkAttempted(second.clone())).unwrap();
        trial.run(&Command::RejectDispatch(second)).unwrap();
        assert_eq!(trial.view.current_turn().unwrap().id, turn, "its agent works on");
        assert_eq!(trial.run(&Command::FireWatchdog(turn.clone())), Err(Refusal::Stale));
        let pending_id = trial.view.bundles[0].pending_id.clone();
        trial.run(&Command::ArmWatchdog { pending_id, deadline: Micros(1) }).unwrap();
        assert!(trial.view.turn(&turn).unwrap().watchdog.is_none(), "once per bundle");
    }

    #[test]
    fn a_bundle_that_is_deleted_takes_its_watchdog_with_it() {
        let (mut trial, turn) = armed();
        let row: MessageId = trial.view.bundles[0].questions[0].id.clone();
        trial.run(&Command::DeleteMessage(row)).unwrap();
        assert!(trial.view.turn(&turn).unwrap().watchdog.is_none());
    }
}
