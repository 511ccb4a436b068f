//! What an agent is told of a bundle. Nothing here ever says that a person declined when nobody answered.
//! May import: ids and its siblings.

use crate::ids::{ClaimId, TurnId};

use super::decision::{ClaimFate, Outcome, OutcomeStatus, SpokenAnswer};
use super::question::{Bundle, Question, Status};
use super::view::SessionView;

impl SessionView {
    /// How the bundle stands for whoever asked it.
    pub fn outcome(&self, bundle: &Bundle) -> Outcome {
        outcome(bundle, self.is_of_current_turn(bundle), self.is_live())
    }
}

/// How a bundle stands for whoever asked it, from what a reader knows of its session.
pub fn outcome(bundle: &Bundle, is_current: bool, is_live_session: bool) -> Outcome {
    let status = status(bundle, is_current, is_live_session);
    let is_answered = status == OutcomeStatus::Answered;
    let is_rejected = status == OutcomeStatus::Rejected;
    let reason = bundle.questions.iter().map(|q| q.reject_reason.as_str()).find(|reason| !reason.is_empty());
    Outcome {
        status,
        pending_id: bundle.pending_id.clone(),
        turn_id: bundle.turn_id().cloned().unwrap_or_else(|| TurnId::new("")),
        answers: if is_answered { spoken_answers(bundle) } else { Vec::new() },
        reject_reason: reason.filter(|_| is_rejected).unwrap_or_default().to_owned(),
    }
}

fn status(bundle: &Bundle, is_current: bool, is_live_session: bool) -> OutcomeStatus {
    let has = |status: &Status| bundle.questions.iter().any(|q| &q.status == status);
    let is_retired = bundle.questions.iter().any(|q| q.claim.as_ref().is_some_and(|claim| claim.is_retired));
    // A detached answer starts the next turn before its claim is closed: what is being delivered is not decided yet.
    let is_claimed = bundle.open_claim().is_some();
    if is_claimed || is_retired || bundle.pending().next().is_some() {
        return match (is_live_session, is_claimed || is_current && !is_retired) {
            (true, true) => OutcomeStatus::Pending,
            (true, false) => OutcomeStatus::Superseded,
            (false, _) => OutcomeStatus::Expired,
        };
    }
    if has(&Status::Answered) {
        OutcomeStatus::Answered
    } else if has(&Status::Rejected) {
        OutcomeStatus::Rejected
    } else if has(&Status::Expired) {
        OutcomeStatus::Expired
    } else {
        OutcomeStatus::Cancelled
    }
}

/// The bundle's answers in the words that were asked; questions without one are left out.
pub fn spoken_answers(bundle: &Bundle) -> Vec<SpokenAnswer> {
    bundle.questions.iter().filter_map(spoken).collect()
}

/// One answer in the words that were asked: labels, not ids.
pub(super) fn spoken(question: &Question) -> Option<SpokenAnswer> {
    let answer = question.answer.as_ref().filter(|_| question.status == Status::Answered)?;
    let chosen = question.spec.options.iter().filter(|option| answer.option_ids.contains(&option.id));
    let selected: Vec<_> = chosen.map(|option| option.label.clone()).collect();
    let text = answer.custom_text.clone();
    let question_id = question.spec.id.clone();
    (!selected.is_empty() || text.is_some()).then_some(SpokenAnswer { question_id, selected, text })
}

/// What became of a claim, read from its rows.
pub fn claim_fate(bundle: &Bundle, id: &ClaimId) -> ClaimFate {
    let claimed = bundle.questions.iter().filter_map(|q| Some((q, q.claim.as_ref()?)));
    match claimed.filter(|(_, claim)| &claim.id == id).map(|(q, claim)| (q.dispatch_outcome, claim)).next() {
        None => ClaimFate::Restored,
        Some((_, claim)) if claim.is_open => ClaimFate::Open,
        Some((_, claim)) if claim.is_retired => ClaimFate::Retired,
        Some((outcome, _)) => ClaimFate::Delivered(outcome),
    }
}
