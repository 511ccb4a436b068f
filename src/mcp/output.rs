//! What a tool says: outcomes, refusals and faults as plain JSON. Nothing here ever says that a person declined when
//! nobody answered. May import: authority, lifecycle.

use serde_json::{Map, Value, json};

use crate::authority::{Error, Fault, FaultCode};
use crate::lifecycle::{
    Bundle, ConflictReason, FieldCode, FieldError, Outcome, OutcomeStatus, Question, QuestionSpec, Refusal, Winner,
};

/// `answered`, `rejected`, …
pub(super) fn status_name(status: OutcomeStatus) -> &'static str {
    match status {
        OutcomeStatus::Answered => "answered",
        OutcomeStatus::Rejected => "rejected",
        OutcomeStatus::Pending => "pending",
        OutcomeStatus::Superseded => "superseded",
        OutcomeStatus::Expired => "expired",
        OutcomeStatus::Cancelled => "cancelled",
    }
}

/// How a bundle stands, for the agent that asked: everything that was selected and written.
pub(super) fn outcome(outcome: &Outcome) -> Value {
    let mut answers = Map::new();
    for answer in &outcome.answers {
        let mut one = Map::new();
        one.insert("selected".into(), json!(answer.selected));
        if let Some(text) = &answer.text {
            one.insert("text".into(), json!(text));
        }
        answers.insert(answer.question_id.as_str().into(), one.into());
    }
    let mut value = Map::new();
    value.insert("status".into(), json!(status_name(outcome.status)));
    value.insert("pendingId".into(), json!(outcome.pending_id));
    value.insert("turnId".into(), json!(outcome.turn_id));
    value.insert("answers".into(), answers.into());
    if outcome.status == OutcomeStatus::Rejected {
        value.insert("rejectReason".into(), json!(outcome.reject_reason));
    }
    if let Some(next) = next(outcome) {
        value.insert("next".into(), json!(next));
    }
    value.into()
}

/// How an agent goes on from here.
fn next(outcome: &Outcome) -> Option<String> {
    let id = &outcome.pending_id;
    match outcome.status {
        OutcomeStatus::Answered => None,
        OutcomeStatus::Rejected => {
            Some("The person skipped this on purpose. Go on without an answer to it.".into())
        }
        OutcomeStatus::Pending => Some(format!(
            "Nobody has answered yet; the question stays open. To go on waiting, call await_user_answer with \
             pendingId {id}. Or end your turn: if this session can be resumed, the answer begins your next one."
        )),
        OutcomeStatus::Superseded => {
            Some("A newer turn began, so nobody can answer this any more. Follow the newest prompt.".into())
        }
        OutcomeStatus::Expired => Some("The session ended before anybody answered.".into()),
        OutcomeStatus::Cancelled => Some("The question was withdrawn before anybody answered.".into()),
    }
}

/// A bundle for whoever lists it: never its answers.
pub(super) fn bundle(bundle: &Bundle) -> Map<String, Value> {
    let mut value = Map::new();
    value.insert("pendingId".into(), json!(bundle.pending_id));
    let context = bundle.questions.first().map(|q| q.context.as_str()).unwrap_or_default();
    if !context.is_empty() {
        value.insert("context".into(), json!(context));
    }
    value.insert("questions".into(), bundle.questions.iter().map(question).collect());
    value
}

fn question(question: &Question) -> Value {
    let spec = &question.spec;
    json!({
        "id": spec.id,
        "header": spec.title,
        "question": spec.prompt,
        "options": options(spec),
        "multiSelect": spec.multi_select,
        "allowOther": spec.allow_custom_text,
        "secret": spec.secret,
    })
}

fn options(spec: &QuestionSpec) -> Value {
    spec.options.iter().map(|option| json!({"label": option.label, "description": option.description})).collect()
}

/// What went wrong, for a model or a person: a code, words, whether to try again, and every field by path and limit.
pub(super) fn error(error: &Error) -> Value {
    let code = error_code(error);
    let mut value = json!({
        "code": code,
        "message": error_text(error),
        "retryable": is_retryable(error),
    });
    match error {
        Error::Refused(Refusal::Invalid(faults)) => {
            put(&mut value, "fields", faults.iter().map(field).collect());
        }
        Error::Refused(Refusal::Conflict { winner: Some(winner), .. }) => put(&mut value, "winner", shown(winner)),
        _ => {}
    }
    json!({ "error": value })
}

fn put(value: &mut Value, name: &str, item: Value) {
    if let Some(object) = value.as_object_mut() {
        object.insert(name.into(), item);
    }
}

fn shown(winner: &Winner) -> Value {
    json!({
        "principal": winner.principal,
        "respondedAtMicros": winner.responded_at.to_string(),
        "status": winner.status.as_str(),
    })
}

fn field(fault: &FieldError) -> Value {
    let mut value = json!({"path": fault.path, "code": field_code(fault.code), "message": fault.message});
    if let Some(limit) = fault.limit {
        put(&mut value, "limit", json!(limit));
    }
    value
}

fn field_code(code: FieldCode) -> &'static str {
    match code {
        FieldCode::Required => "REQUIRED",
        FieldCode::TooFew => "TOO_FEW",
        FieldCode::TooMany => "TOO_MANY",
        FieldCode::TooLong => "TOO_LONG",
        FieldCode::Unknown => "UNKNOWN",
        FieldCode::Duplicate => "DUPLICATE",
        FieldCode::NotAllowed => "NOT_ALLOWED",
    }
}

fn error_code(error: &Error) -> &'static str {
    match error {
        Error::Unauthenticated => "UNAUTHENTICATED",
        Error::Forbidden => "FORBIDDEN",
        Error::Fault(fault) => fault_code(fault.code),
        Error::Refused(refusal) => refusal_code(refusal),
    }
}

fn fault_code(code: FaultCode) -> &'static str {
    match code {
        FaultCode::Busy => "BUSY",
        FaultCode::Timeout => "TIMEOUT",
        FaultCode::Unavailable => "UNAVAILABLE",
        FaultCode::ShuttingDown => "SHUTTING_DOWN",
        FaultCode::Internal => "INTERNAL",
    }
}

fn refusal_code(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NotFound => "NOT_FOUND",
        Refusal::Conflict { reason, .. } => match reason {
            ConflictReason::Superseded => "SUPERSEDED",
            ConflictReason::Terminal => "TERMINAL",
            ConflictReason::DeliveryClaimed => "DELIVERY_CLAIMED",
            ConflictReason::SessionEnded => "SESSION_ENDED",
            ConflictReason::ExpectedTurnChanged => "EXPECTED_TURN_CHANGED",
        },
        Refusal::Invalid(_) => "INVALID_INPUT",
        Refusal::KeyReused => "KEY_REUSED",
        Refusal::TurnInProgress => "TURN_IN_PROGRESS",
        Refusal::StateNotAllowed => "STATE_NOT_ALLOWED",
        Refusal::DispatchUnresolved => "DISPATCH_UNRESOLVED",
        Refusal::NotLive => "NOT_LIVE",
        Refusal::Stale => "STALE",
        Refusal::Malformed { .. } => "MALFORMED",
    }
}

fn error_text(error: &Error) -> String {
    match error {
        Error::Unauthenticated => "The token is not valid any more.".into(),
        Error::Forbidden => "This token may not do that.".into(),
        // Its message is for the log.
        Error::Fault(Fault { retryable: true, .. }) => {
            "The server could not do it now; call again with the same arguments.".into()
        }
        Error::Fault(_) => "The server met a defect; its log says more.".into(),
        Error::Refused(refusal) => refusal_text(refusal),
    }
}

fn refusal_text(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NotFound => "There is no such thing here: pendingId, or the session that was named.".into(),
        Refusal::Invalid(faults) => faults.iter().map(|f| f.message.as_str()).collect::<Vec<_>>().join("; "),
        Refusal::KeyReused => "requestKey was used before with other contents; use a new one.".into(),
        Refusal::Conflict { reason, .. } => match reason {
            ConflictReason::Superseded => "A newer turn began; nobody can answer this any more.".into(),
            ConflictReason::Terminal => "It is decided already.".into(),
            ConflictReason::DeliveryClaimed => "Another response to it is being delivered.".into(),
            ConflictReason::SessionEnded => "The session is over.".into(),
            ConflictReason::ExpectedTurnChanged => "Another turn is current than was expected.".into(),
        },
        other => other.to_string(),
    }
}

fn is_retryable(error: &Error) -> bool {
    match error {
        Error::Fault(fault) => fault.retryable,
        Error::Refused(refusal) => matches!(refusal, Refusal::DispatchUnresolved | Refusal::Stale),
        Error::Unauthenticated | Error::Forbidden => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::ids::{PendingId, QuestionId, TurnId};
    use crate::lifecycle::SpokenAnswer;

    use super::*;

    const ALL: [OutcomeStatus; 6] = [
        OutcomeStatus::Answered,
        OutcomeStatus::Rejected,
        OutcomeStatus::Pending,
        OutcomeStatus::Superseded,
        OutcomeStatus::Expired,
        OutcomeStatus::Cancelled,
    ];

    fn of(status: OutcomeStatus) -> Outcome {
        let answers = vec![SpokenAnswer {
            question_id: QuestionId::new("q1"),
            selected: vec!["a".into(), "b".into()],
            text: Some("and c".into()),
        }];
        Outcome {
            status,
            pending_id: PendingId::new("p"),
            turn_id: TurnId::new("t"),
            answers: if status == OutcomeStatus::Answered { answers } else { Vec::new() },
            reject_reason: String::new(),
        }
    }

    #[test]
    fn all_that_was_selected_and_written_is_told() {
        let value = outcome(&of(OutcomeStatus::Answered));
        assert_eq!(value["answers"]["q1"], json!({"selected": ["a", "b"], "text": "and c"}));
    }

    #[test]
    fn only_a_skip_is_told_as_a_persons_decision_against_answering() {
        for status in ALL {
            let value = outcome(&of(status));
            let text = value.to_string();
            assert_eq!(value["status"], status_name(status));
            assert_eq!(text.contains("skipped"), status == OutcomeStatus::Rejected, "{text}");
            assert_eq!(value.get("rejectReason").is_some(), status == OutcomeStatus::Rejected);
            assert!(!text.contains("declin") && !text.contains("refus"), "{text}");
        }
    }

    #[test]
    fn every_status_has_a_name_of_its_own() {
        let names: std::collections::HashSet<_> = ALL.into_iter().map(status_name).collect();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn a_refusal_names_the_field_and_the_limit() {
        let fault = FieldError {
            path: "questions[0].options".into(),
            code: FieldCode::TooMany,
            limit: Some(6),
            message: "questions[0].options must have at most 6 items".into(),
        };
        let value = error(&Refusal::Invalid(vec![fault]).into());
        assert_eq!(value["error"]["fields"][0]["path"], "questions[0].options");
        assert_eq!(value["error"]["fields"][0]["limit"], 6);
        assert_eq!(value["error"]["message"], "questions[0].options must have at most 6 items");
    }

    #[test]
    fn a_faults_own_words_stay_in_the_log() {
        let fault = Fault { code: FaultCode::Unavailable, retryable: true, message: "disk /secret".into() };
        assert!(!error(&fault.into()).to_string().contains("secret"));
    }
}
