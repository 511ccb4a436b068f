//! Tools of a person's assistant: the inbox, answers in the words of the question, skips. May import: authority,
//! access, lifecycle, ids, store.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::access::Viewer;
use crate::authority::{AnswerInput, Authority, Error, RespondInput, Responded, SkipInput};
use crate::ids::{ClientKey, Micros, OptionId, PendingId, QuestionId, SessionId};
use crate::lifecycle::{Bundle, FieldCode, FieldError, QuestionSpec, Refusal, outcome};
use crate::store::{BundleRow, PendingFilter};

use super::input::{self, Reader};
use super::output;

type Object = Map<String, Value>;

/// Bundles of one page, at most.
pub(super) const PAGE_MAX: u64 = 50;
const PAGE_DEFAULT: u64 = 20;

/// `list_my_questions`.
///
/// # Errors
/// A fault of the store.
pub(super) async fn list_own(authority: &Authority, session: &SessionId) -> Result<Value, Error> {
    let limit = i64::try_from(PAGE_MAX).unwrap_or(i64::MAX);
    let rows = authority.store().bundles_of_session(session, limit).await?;
    let bundles: Vec<_> = rows.iter().map(own).collect();
    Ok(json!({ "bundles": bundles }))
}

fn own(row: &BundleRow) -> Value {
    let state = outcome(&row.bundle, row.is_current, !row.session_state.is_terminal());
    let mut value = output::bundle(&row.bundle);
    value.insert("status".into(), json!(output::status_name(state.status)));
    value.insert("turnId".into(), json!(state.turn_id));
    value.insert("someoneWaits".into(), json!(row.has_waiter));
    value.into()
}

/// `list_pending_questions`.
///
/// # Errors
/// Input by name; a fault of the store.
pub(super) async fn list(authority: &Authority, viewer: &Viewer, arguments: &Object) -> Result<Value, Error> {
    let mut faults = Vec::new();
    let mut reader = Reader::new(arguments, &mut faults);
    let (limit, after) = (reader.number("limit", PAGE_MAX), reader.text(&["after"]));
    let after = match after.as_deref().map(parse_cursor) {
        Some(None) => {
            faults.push(fault("after", FieldCode::Unknown, "is not the next value of a page"));
            None
        }
        other => other.flatten(),
    };
    let (limit, after) = input::end(faults, (limit.unwrap_or(PAGE_DEFAULT).max(1), after))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = authority.store().pending_page(&viewer.scope, &PendingFilter::default(), after, limit).await?;
    let is_full = i64::try_from(rows.len()).is_ok_and(|len| len == limit);
    let next = rows.last().filter(|_| is_full).and_then(cursor);
    let bundles: Vec<_> = rows.iter().map(pending).collect();
    Ok(match next {
        Some(next) => json!({ "bundles": bundles, "next": next }),
        None => json!({ "bundles": bundles }),
    })
}

fn pending(row: &BundleRow) -> Value {
    let mut value = output::bundle(&row.bundle);
    value.insert("sessionId".into(), json!(row.session_id));
    value.insert("taskId".into(), json!(row.task_id));
    value.insert("agentWaits".into(), json!(row.has_waiter));
    value.into()
}

fn cursor(row: &BundleRow) -> Option<String> {
    let asked_at = row.bundle.questions.first()?.created_at;
    Some(format!("{asked_at}:{}", row.bundle.pending_id))
}

fn parse_cursor(text: &str) -> Option<(Micros, PendingId)> {
    let (at, id) = text.split_once(':')?;
    Some((Micros(at.parse().ok()?), PendingId::new(id)))
}

/// `answer_question`.
///
/// # Errors
/// Input by name; what the authority refuses.
pub(super) async fn answer(authority: &Authority, viewer: &Viewer, arguments: &Object) -> Result<Value, Error> {
    let mut faults = Vec::new();
    let mut reader = Reader::new(arguments, &mut faults);
    let (pending_id, key) = (reader.pending_id(), reader.key());
    let given = reader.objects(&["answers"], given);
    let pending_id = input::end(std::mem::take(&mut faults), pending_id)?;
    let rows = authority.store().bundles(std::slice::from_ref(&pending_id)).await?;
    let row = rows.into_iter().find(|row| viewer.may_read(&row.workspace_id)).ok_or(Refusal::NotFound)?;
    let answers = given.into_iter().enumerate().map(|(n, one)| named(&row.bundle, n, one, &mut faults)).collect();
    let answers = input::end(faults, answers)?;
    let client_key = key.unwrap_or_else(|| equal_key("answer", arguments));
    let input = RespondInput { pending_id, answers, expected_turn_id: None, client_key };
    authority.respond(viewer, input).await.map(|responded| told(&responded, "answered"))
}

/// One answer in the words of its question.
struct Given {
    question_id: Option<String>,
    selected: Vec<String>,
    text: Option<String>,
}

fn given(reader: &mut Reader<'_>) -> Given {
    let selected = reader.list(&["selected", "selectedOptions"]);
    Given {
        question_id: reader.text(&["questionId", "id"]),
        selected: selected.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        text: reader.text(&["text", "customText"]),
    }
}

/// Labels become ids; what is no label stays, so that validation names it.
fn named(bundle: &Bundle, n: usize, given: Given, faults: &mut Vec<FieldError>) -> AnswerInput {
    let id = given.question_id.map(QuestionId::new).or_else(|| only(bundle)).unwrap_or_else(|| {
        let path = format!("answers[{n}].questionId");
        faults.push(fault(&path, FieldCode::Required, "is required where several questions are asked"));
        QuestionId::new("")
    });
    let spec = bundle.questions.iter().map(|q| &q.spec).find(|spec| spec.id == id);
    let option_ids = given.selected.into_iter().map(|label| option_of(spec, label)).collect();
    AnswerInput { question_id: id, option_ids, custom_text: given.text }
}

fn only(bundle: &Bundle) -> Option<QuestionId> {
    let mut pending = bundle.pending();
    let first = pending.next()?;
    pending.next().is_none().then(|| first.spec.id.clone())
}

fn option_of(spec: Option<&QuestionSpec>, label: String) -> OptionId {
    let mut options = spec.into_iter().flat_map(|spec| &spec.options);
    options.find(|option| option.label == label).map_or_else(|| OptionId::new(label), |option| option.id.clone())
}

fn fault(path: &str, code: FieldCode, rule: &str) -> FieldError {
    FieldError { path: path.into(), code, limit: None, message: format!("{path} {rule}") }
}

/// `skip_question`.
///
/// # Errors
/// Input by name; what the authority refuses.
pub(super) async fn skip(authority: &Authority, viewer: &Viewer, arguments: &Object) -> Result<Value, Error> {
    let mut faults = Vec::new();
    let mut reader = Reader::new(arguments, &mut faults);
    let (pending_id, key) = (reader.pending_id(), reader.key());
    let reason = reader.text(&["reason"]).unwrap_or_default();
    let pending_id = input::end(faults, pending_id)?;
    let client_key = key.unwrap_or_else(|| equal_key("skip", arguments));
    let input = SkipInput { pending_id, reason, expected_turn_id: None, client_key };
    authority.skip(viewer, input).await.map(|responded| told(&responded, "rejected"))
}

/// Without a key, the same call is the same response.
fn equal_key(what: &str, arguments: &Object) -> ClientKey {
    let body = serde_json::to_vec(arguments).unwrap_or_default();
    let hash: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    ClientKey::new(format!("equal:{what}:{hash}"))
}

fn told(responded: &Responded, status: &str) -> Value {
    match responded {
        Responded::Accepted { pending_id, is_replayed, dispatched_turn } => {
            let mut value = json!({"status": status, "pendingId": pending_id, "replayed": is_replayed});
            if let (Some(turn), Some(object)) = (dispatched_turn, value.as_object_mut()) {
                object.insert("dispatchedTurnId".into(), json!(turn));
            }
            value
        }
        Responded::Failed { pending_id, failure } => json!({
            "status": "failed",
            "pendingId": pending_id,
            "failure": failure.message,
            "retryable": failure.is_retryable,
        }),
    }
}
