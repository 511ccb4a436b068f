//! Metadata as the record: the keys of a question row and of a turn, read and written in one place.
//!
//! Reading is tolerant and never fails a whole session: a question row that lacks what makes it a question is
//! an error for the caller to leave out; anything else of a wrong type reads as absent and is kept as it is in
//! `rest`. A reservation with unreadable recovery keys says so in [`Turn::malformed`]. Writing puts `rest` first
//! and the known keys over it. May import: ids and its siblings.

use serde_json::{Map, Value};

use crate::ids::{ClaimId, Epoch, MessageId, Micros, OptionId, PendingId, PrincipalId, QuestionId, TurnId};

use super::question::{Answer, Choice, Claim, Question, QuestionSpec, Status};
use super::turn::{ClaimRef, DispatchOutcome, Lease, Reservation, Turn, Watchdog};

/// The `type` of a message row that is a question.
pub const QUESTION_KIND: &str = "clarification_request";
/// The `type` of a message row that asks for a permission.
pub const PERMISSION_KIND: &str = "permission_request";

/// The columns of a question row beside its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionColumns {
    /// The message row.
    pub id: MessageId,
    /// Its turn; may be empty.
    pub turn_id: TurnId,
    /// When it was asked.
    pub created_at: Micros,
    /// When it last changed.
    pub updated_at: Micros,
}

/// The one tolerant decoder of flags: `true`, `"true"`, `"1"` and `1` are true, all else is false.
pub fn is_flag(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::String(text) => text == "true" || text == "1",
        Value::Number(number) => number.as_i64() == Some(1),
        _ => false,
    }
}

/// What of a row's metadata others may see: recovery keys and claims are left out (INV-20).
pub fn public_metadata(metadata: &Map<String, Value>) -> Map<String, Value> {
    let is_private = |key: &str| {
        let private = ["prompt_dispatch_", "dispatch_lease", "claim_"];
        private.iter().any(|prefix| key.starts_with(prefix)) || key == "response_delivery_pending"
    };
    metadata.iter().filter(|(key, _)| !is_private(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The metadata of a permission request.
pub fn permission_metadata(id: &str, status: &str) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("pending_id".to_owned(), id.into());
    out.insert("status".to_owned(), status.into());
    out
}

/// Reads a question row.
///
/// # Errors
/// Says which key keeps the row from being a question; such a row is inert (INV-25, decisions 11).
pub fn read_question(columns: QuestionColumns, metadata: Map<String, Value>) -> Result<Question, String> {
    let mut keys = Keys(metadata);
    let pending_id = PendingId::new(keys.text("pending_id").filter(|id| !id.is_empty()).ok_or("pending_id")?);
    let (status, is_status_absent) = take_status(&mut keys)?;
    let flat_id = keys.text("question_id");
    let spec = take_spec(&mut keys, flat_id)?;
    let answer = take_answer(&mut keys);
    let claim = take_claim(&mut keys, &pending_id, columns.updated_at);
    Ok(Question {
        id: columns.id,
        turn_id: columns.turn_id,
        created_at: columns.created_at,
        updated_at: columns.updated_at,
        pending_id,
        index: keys.number("question_index").unwrap_or(0),
        total: keys.number("question_total").unwrap_or(1),
        spec,
        context: keys.text("context").unwrap_or_default(),
        status,
        is_status_absent,
        is_detached: keys.flag("agent_disconnected"),
        answer,
        reject_reason: keys.text("reject_reason").unwrap_or_default(),
        claim,
        dispatched_turn_id: keys.text("dispatched_turn_id").map(TurnId::new),
        dispatch_outcome: keys.take_if("dispatch_outcome", |value| parse_outcome(value.as_str()?)),
        is_result_received: keys.flag("result_received"),
        is_watchdog_spent: keys.flag("watchdog_spent"),
        rest: keys.0,
    })
}

/// The metadata of a question row.
pub fn question_metadata(question: &Question) -> Map<String, Value> {
    let mut out = Out { map: question.rest.clone(), keeps: false };
    out.put("pending_id", question.pending_id.as_str());
    out.put("question_id", question.spec.id.as_str());
    let nested = question.rest.get("question").and_then(Value::as_object).cloned().unwrap_or_default();
    out.put("question", spec_value(&question.spec, nested));
    out.put("question_index", question.index);
    out.put("question_total", question.total);
    out.put("context", question.context.as_str());
    if !(question.is_status_absent && question.is_pending()) {
        out.put("status", question.status.as_str());
    }
    out.put_flag("agent_disconnected", question.is_detached);
    if let Some(answer) = &question.answer {
        out.put("response", answer_value(&question.spec.id, answer));
    }
    if !question.reject_reason.is_empty() {
        out.put("reject_reason", question.reject_reason.as_str());
    }
    if let Some(claim) = &question.claim {
        out.put_flag("response_delivery_pending", claim.is_open);
        out.put("claim_id", claim.id.as_str());
        out.put("claim_epoch", claim.epoch.0);
        out.put_flag("claim_retired", claim.is_retired);
        out.put("responded_by", claim.principal.as_str());
        out.put("responded_at_us", claim.responded_at.0);
    }
    if let Some(turn_id) = &question.dispatched_turn_id {
        out.put("dispatched_turn_id", turn_id.as_str());
    }
    if let Some(outcome) = question.dispatch_outcome {
        out.put("dispatch_outcome", outcome_name(outcome));
    }
    out.put_flag("result_received", question.is_result_received);
    out.put_flag("watchdog_spent", question.is_watchdog_spent);
    out.map
}

/// Fills what a turn's metadata holds into a turn made of its columns.
#[must_use]
pub fn read_turn(columns: Turn, metadata: Map<String, Value>) -> Turn {
    let mut keys = Keys(metadata);
    let (reservation, malformed) = take_reservation(&mut keys);
    let dispatch_outcome = keys.take_if("dispatch_outcome", |value| parse_outcome(value.as_str()?));
    let lease = keys.take_if("dispatch_lease", read_lease);
    let watchdog = take_watchdog(&mut keys);
    Turn { reservation, dispatch_outcome, lease, watchdog, malformed, rest: keys.0, ..columns }
}

/// The metadata of a turn.
pub fn turn_metadata(turn: &Turn) -> Map<String, Value> {
    let mut out = Out { map: turn.rest.clone(), keeps: turn.malformed.is_some() };
    if let Some(reservation) = &turn.reservation {
        out.put("prompt_dispatch_pending", true);
        out.put_flag("prompt_dispatch_attempted", reservation.is_attempted);
        out.put_flag("prompt_dispatch_acknowledged", reservation.is_acknowledged);
        out.put("prompt_dispatch_prompt", reservation.prompt.as_str());
        out.put("prompt_dispatch_epoch", reservation.epoch.0);
        if let Some(source) = &reservation.source {
            put_source(&mut out, source);
        }
    }
    if let Some(outcome) = turn.dispatch_outcome {
        out.put("dispatch_outcome", outcome_name(outcome));
    }
    if let Some(lease) = &turn.lease {
        out.put("dispatch_lease", lease_value(lease));
    }
    if let Some(watchdog) = &turn.watchdog {
        out.put("watchdog_pending_id", watchdog.pending_id.as_str());
        out.put("watchdog_deadline_us", watchdog.deadline.0);
        if !watchdog.earlier.is_empty() {
            let ids: Vec<Value> = watchdog.earlier.iter().map(|id| id.as_str().into()).collect();
            out.put("watchdog_earlier_pending_ids", ids);
        }
    }
    out.map
}

/// Keys not read yet. What has the wrong type is left in.
struct Keys(Map<String, Value>);

impl Keys {
    fn take_if<T>(&mut self, key: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let read = read(self.0.get(key)?)?;
        self.0.remove(key);
        Some(read)
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.take_if(key, |value| value.as_str().map(str::to_owned))
    }

    fn number(&mut self, key: &str) -> Option<i64> {
        self.take_if(key, Value::as_i64)
    }

    fn flag(&mut self, key: &str) -> bool {
        self.take_if(key, as_flag).unwrap_or(false)
    }

    /// Like `take_if`, and says so when the key holds something else; null and absence are fine.
    fn checked<T>(
        &mut self,
        wrong: &mut Option<String>,
        key: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let is_there = self.0.get(key).is_some_and(|value| !value.is_null());
        let read = self.take_if(key, read);
        if is_there && read.is_none() && wrong.is_none() {
            *wrong = Some(format!("{key} cannot be read"));
        }
        if !is_there {
            self.0.remove(key);
        }
        read
    }
}

/// A value that can be a flag; none: it is garbage, which reads as false and stays.
fn as_flag(value: &Value) -> Option<bool> {
    let is_known = match value {
        Value::Null | Value::Bool(_) => true,
        Value::String(text) => matches!(text.as_str(), "true" | "1" | "false" | "0" | ""),
        Value::Number(number) => matches!(number.as_i64(), Some(0 | 1)),
        Value::Array(_) | Value::Object(_) => false,
    };
    is_known.then(|| is_flag(value))
}

/// Keys being written.
struct Out {
    map: Map<String, Value>,
    /// Keys that are there stay as they are: they could not be read.
    keeps: bool,
}

impl Out {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        if !(self.keeps && self.map.contains_key(key)) {
            self.map.insert(key.to_owned(), value.into());
        }
    }

    fn put_flag(&mut self, key: &str, flag: bool) {
        if flag {
            self.put(key, true);
        }
    }
}

fn take_status(keys: &mut Keys) -> Result<(Status, bool), String> {
    match keys.0.remove("status") {
        None | Some(Value::Null) => Ok((Status::Pending, true)),
        Some(Value::String(text)) if text.is_empty() => Ok((Status::Pending, true)),
        Some(Value::String(text)) => Ok((parse_status(text), false)),
        Some(_) => Err("status".to_owned()),
    }
}

fn parse_status(text: String) -> Status {
    match text.as_str() {
        "pending" => Status::Pending,
        "answered" => Status::Answered,
        "rejected" => Status::Rejected,
        "expired" => Status::Expired,
        "cancelled" => Status::Cancelled,
        _ => Status::Other(text),
    }
}

fn take_spec(keys: &mut Keys, flat_id: Option<String>) -> Result<QuestionSpec, String> {
    let Some(Value::Object(nested)) = keys.0.remove("question") else { return Err("question".to_owned()) };
    let mut nested = Keys(nested);
    let id = match nested.0.remove("id") {
        Some(Value::String(id)) => id,
        Some(_) => return Err("question.id".to_owned()),
        None => flat_id.ok_or("question.id")?,
    };
    let spec = QuestionSpec {
        id: QuestionId::new(id),
        prompt: nested.text("prompt").ok_or("question.prompt")?,
        title: nested.text("title").unwrap_or_default(),
        options: take_options(&mut nested),
        multi_select: nested.flag("multi_select"),
        allow_custom_text: nested.take_if("allow_custom_text", as_flag).unwrap_or(true),
        secret: nested.flag("secret"),
    };
    if !nested.0.is_empty() {
        keys.0.insert("question".to_owned(), Value::Object(nested.0));
    }
    Ok(spec)
}

fn take_options(nested: &mut Keys) -> Vec<Choice> {
    let items = nested.take_if("options", |value| value.as_array().cloned()).unwrap_or_default();
    items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect()
}

fn spec_value(spec: &QuestionSpec, nested: Map<String, Value>) -> Value {
    let mut out = Out { map: nested, keeps: false };
    out.put("id", spec.id.as_str());
    out.put("title", spec.title.as_str());
    out.put("prompt", spec.prompt.as_str());
    out.put("options", spec.options.iter().map(choice_value).collect::<Vec<_>>());
    out.put("multi_select", spec.multi_select);
    out.put("allow_custom_text", spec.allow_custom_text);
    out.put("secret", spec.secret);
    Value::Object(out.map)
}

fn choice_value(choice: &Choice) -> Value {
    let mut out = Out { map: Map::new(), keeps: false };
    out.put("option_id", choice.id.as_str());
    out.put("label", choice.label.as_str());
    out.put("description", choice.description.as_str());
    Value::Object(out.map)
}

fn take_answer(keys: &mut Keys) -> Option<Answer> {
    let response = keys.take_if("response", |value| value.as_object().cloned())?;
    let options = response.get("selected_options").and_then(Value::as_array);
    let ids = options.into_iter().flatten().filter_map(Value::as_str).map(OptionId::new);
    let custom_text = response.get("custom_text").and_then(Value::as_str).map(str::to_owned);
    Some(Answer { option_ids: ids.collect(), custom_text })
}

fn answer_value(question_id: &QuestionId, answer: &Answer) -> Value {
    let mut out = Out { map: Map::new(), keeps: false };
    out.put("question_id", question_id.as_str());
    if !answer.option_ids.is_empty() {
        let ids: Vec<Value> = answer.option_ids.iter().map(|id| id.as_str().into()).collect();
        out.put("selected_options", ids);
    }
    if let Some(text) = &answer.custom_text {
        out.put("custom_text", text.as_str());
    }
    Value::Object(out.map)
}

/// An intent without the keys of a claim is an old one: its bundle names it, and no living server owns it.
fn take_claim(keys: &mut Keys, pending_id: &PendingId, updated_at: Micros) -> Option<Claim> {
    let is_open = keys.flag("response_delivery_pending");
    let id = keys.text("claim_id").map(ClaimId::new);
    let id = id.or_else(|| is_open.then(|| ClaimId::new(pending_id.as_str())))?;
    Some(Claim {
        id,
        is_open,
        is_retired: keys.flag("claim_retired"),
        epoch: Epoch(keys.number("claim_epoch").unwrap_or(0)),
        principal: PrincipalId::new(keys.text("responded_by").unwrap_or_default()),
        responded_at: keys.number("responded_at_us").map_or(updated_at, Micros),
    })
}

fn take_reservation(keys: &mut Keys) -> (Option<Reservation>, Option<String>) {
    if !keys.0.get("prompt_dispatch_pending").is_some_and(is_flag) {
        return (None, None);
    }
    keys.0.remove("prompt_dispatch_pending");
    let wrong = &mut None;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let reservation = Reservation {
        is_attempted: keys.checked(wrong, "prompt_dispatch_attempted", as_flag).unwrap_or(false),
        is_acknowledged: keys.checked(wrong, "prompt_dispatch_acknowledged", as_flag).unwrap_or(false),
        source: take_source(keys, wrong),
        prompt: keys.checked(wrong, "prompt_dispatch_prompt", text).unwrap_or_default(),
        epoch: Epoch(keys.checked(wrong, "prompt_dispatch_epoch", Value::as_i64).unwrap_or(0)),
    };
    (Some(reservation), wrong.take())
}

fn take_source(keys: &mut Keys, wrong: &mut Option<String>) -> Option<ClaimRef> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let pending = keys.checked(wrong, "prompt_dispatch_clarification_pending_id", text);
    let turn_id = keys.checked(wrong, "prompt_dispatch_clarification_turn_id", text);
    let ids = keys.checked(wrong, "prompt_dispatch_clarification_message_ids", as_ids);
    let claim_id = keys.checked(wrong, "prompt_dispatch_claim_id", text);
    let pending = pending.filter(|id| !id.is_empty())?;
    Some(ClaimRef {
        claim_id: claim_id.map(ClaimId::new),
        pending_id: PendingId::new(pending),
        turn_id: TurnId::new(turn_id.unwrap_or_default()),
        message_ids: ids.unwrap_or_default().into_iter().map(MessageId::new).collect(),
    })
}

/// A list of ids: each one a text that is not empty, none of them twice (CP-55).
fn as_ids(value: &Value) -> Option<Vec<String>> {
    let mut ids = Vec::new();
    for item in value.as_array()? {
        let id = item.as_str().filter(|id| !id.is_empty())?.to_owned();
        if ids.contains(&id) {
            return None;
        }
        ids.push(id);
    }
    Some(ids)
}

fn put_source(out: &mut Out, source: &ClaimRef) {
    out.put("prompt_dispatch_clarification_pending_id", source.pending_id.as_str());
    out.put("prompt_dispatch_clarification_turn_id", source.turn_id.as_str());
    let ids: Vec<Value> = source.message_ids.iter().map(|id| id.as_str().into()).collect();
    out.put("prompt_dispatch_clarification_message_ids", ids);
    if let Some(claim_id) = &source.claim_id {
        out.put("prompt_dispatch_claim_id", claim_id.as_str());
    }
}

fn lease_value(lease: &Lease) -> Value {
    let mut out = Out { map: Map::new(), keeps: false };
    out.put("token_hash", lease.token_hash.as_str());
    out.put("claimed_us", lease.claimed_at.0);
    out.put("until_us", lease.until.0);
    Value::Object(out.map)
}

fn read_lease(value: &Value) -> Option<Lease> {
    let time = |key| value.get(key).and_then(Value::as_i64).map(Micros);
    Some(Lease {
        token_hash: value.get("token_hash").and_then(Value::as_str)?.to_owned(),
        claimed_at: time("claimed_us")?,
        until: time("until_us")?,
    })
}

fn take_watchdog(keys: &mut Keys) -> Option<Watchdog> {
    let deadline = keys.0.get("watchdog_deadline_us").and_then(Value::as_i64)?;
    let pending_id = keys.text("watchdog_pending_id")?;
    keys.0.remove("watchdog_deadline_us");
    let earlier = keys.take_if("watchdog_earlier_pending_ids", texts).unwrap_or_default();
    let earlier = earlier.into_iter().map(PendingId::new).collect();
    Some(Watchdog { pending_id: PendingId::new(pending_id), earlier, deadline: Micros(deadline) })
}

/// A list of texts, at least one, none of them empty.
fn texts(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array().filter(|items| !items.is_empty())?;
    items.iter().map(|item| item.as_str().filter(|text| !text.is_empty()).map(str::to_owned)).collect()
}

fn outcome_name(outcome: DispatchOutcome) -> &'static str {
    match outcome {
        DispatchOutcome::Accepted => "ACCEPTED",
        DispatchOutcome::Unknown => "UNKNOWN",
        DispatchOutcome::NotAccepted => "NOT_ACCEPTED",
    }
}

fn parse_outcome(text: &str) -> Option<DispatchOutcome> {
    let all = [DispatchOutcome::Accepted, DispatchOutcome::Unknown, DispatchOutcome::NotAccepted];
    all.into_iter().find(|outcome| outcome_name(*outcome) == text)
}

#[cfg(test)]
#[path = "metadata_tests.rs"]
mod tests;
