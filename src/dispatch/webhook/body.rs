//! The body of a dispatch, as receivers read it. May import: dispatch, lifecycle, ids.

use serde::Serialize;

use crate::dispatch::Dispatch;
use crate::ids::{Micros, SessionId, TurnId};
use crate::lifecycle::SpokenAnswer;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<T> {
    r#type: &'static str,
    timestamp: String,
    data: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    dispatch_id: &'a str,
    session_id: &'a str,
    turn_id: &'a str,
    source_turn_id: Option<&'a str>,
    pending_id: Option<&'a str>,
    generation: i64,
    prompt: &'a str,
    answers: Vec<Answer<'a>>,
    interrupt: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Interrupted<'a> {
    session_id: &'a str,
    turn_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    question_id: &'a str,
    selected: &'a [String],
    text: Option<&'a str>,
}

impl<'a> From<&'a SpokenAnswer> for Answer<'a> {
    fn from(answer: &'a SpokenAnswer) -> Self {
        Self { question_id: answer.question_id.as_str(), selected: &answer.selected, text: answer.text.as_deref() }
    }
}

/// The dispatch as JSON, sent at that moment.
pub(super) fn json(dispatch: &Dispatch, now: Micros) -> String {
    let id = dispatch.turn_id.as_str();
    let body = Body {
        r#type: if dispatch.pending_id.is_some() { "clarification.answered" } else { "prompt.sent" },
        timestamp: now.rfc3339(),
        data: Data {
            dispatch_id: id,
            session_id: dispatch.session_id.as_str(),
            turn_id: id,
            source_turn_id: dispatch.source_turn_id.as_ref().map(|id| id.as_str()),
            pending_id: dispatch.pending_id.as_ref().map(|id| id.as_str()),
            generation: dispatch.generation.0,
            prompt: &dispatch.prompt,
            answers: dispatch.answers.iter().map(Answer::from).collect(),
            interrupt: dispatch.is_interrupt,
        },
    };
    written(&body)
}

/// Says that a turn was cancelled or superseded.
pub(super) fn interrupted(session_id: &SessionId, turn_id: &TurnId, now: Micros) -> String {
    let data = Interrupted { session_id: session_id.as_str(), turn_id: turn_id.as_str() };
    written(&Body { r#type: "turn.interrupted", timestamp: now.rfc3339(), data })
}

/// It has only texts and numbers in it, which cannot fail to be written.
fn written(body: &impl Serialize) -> String {
    serde_json::to_string(body).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json as value};

    use crate::ids::{Generation, PendingId, QuestionId};

    use super::*;

    #[test]
    fn the_body_names_the_dispatch_and_says_what_was_answered() {
        let dispatch = Dispatch {
            session_id: SessionId::new("s"),
            turn_id: TurnId::new("t2"),
            source_turn_id: Some(TurnId::new("t1")),
            pending_id: Some(PendingId::new("p")),
            generation: Generation(2),
            prompt: "Go on".into(),
            answers: vec![SpokenAnswer {
                question_id: QuestionId::new("q1"),
                selected: vec!["Red".into()],
                text: Some("dark".into()),
            }],
            is_interrupt: true,
        };
        let read: Value = serde_json::from_str(&json(&dispatch, Micros(0))).unwrap();
        let expected = value!({
            "type": "clarification.answered",
            "timestamp": "1970-01-01T00:00:00.000000Z",
            "data": {
                "dispatchId": "t2", "sessionId": "s", "turnId": "t2", "sourceTurnId": "t1", "pendingId": "p",
                "generation": 2, "prompt": "Go on", "interrupt": true,
                "answers": [{ "questionId": "q1", "selected": ["Red"], "text": "dark" }],
            },
        });
        assert_eq!(read, expected);
        let plain = Dispatch { pending_id: None, source_turn_id: None, answers: Vec::new(), ..dispatch };
        let read: Value = serde_json::from_str(&json(&plain, Micros(0))).unwrap();
        assert_eq!((&read["type"], &read["data"]["answers"]), (&value!("prompt.sent"), &value!([])));
    }
}
