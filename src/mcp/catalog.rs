//! The tools and their schemas. Schemas are flat on purpose: no `$ref` and no arrays of types, which several clients
//! cannot read (ARCHITECTURE.md, "Agents"). May import: access, lifecycle.

use serde_json::{Map, Value, json};

use crate::access::Viewer;
use crate::lifecycle::{
    ANSWER_CHARS_MAX, DESCRIPTION_CHARS_MAX, LABEL_CHARS_MAX, OPTIONS_MAX, PROMPT_CHARS_MAX, QUESTIONS_MAX,
};

use super::input::WAIT_MAX_S;
use super::people::PAGE_MAX;

/// A tool, as `tools/list` shows it.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) input: Map<String, Value>,
    pub(super) output: Map<String, Value>,
    pub(super) is_read_only: bool,
}

/// Asks.
pub(super) const ASK: &str = "ask_user_question";
/// Waits again.
pub(super) const AWAIT: &str = "await_user_answer";
/// Lists what the session asked.
pub(super) const LIST_OWN: &str = "list_my_questions";
/// Lists what waits for people.
pub(super) const LIST: &str = "list_pending_questions";
/// Answers for a person.
pub(super) const ANSWER: &str = "answer_question";
/// Skips for a person.
pub(super) const SKIP: &str = "skip_question";

/// The tools of a caller: an agent's for a session, a person's for an inbox.
pub(super) fn tools_of(viewer: &Viewer) -> Vec<Tool> {
    if viewer.session.is_some() {
        if viewer.may_ask() { vec![ask(), wait_again(), list_own()] } else { Vec::new() }
    } else if viewer.may_answer() {
        vec![list(), answer(), skip()]
    } else {
        Vec::new()
    }
}

/// The tool of that name, whoever may call it.
pub(super) fn tool(name: &str) -> Option<Tool> {
    [ask, wait_again, list_own, list, answer, skip].into_iter().map(|make| make()).find(|tool| tool.name == name)
}

fn ask() -> Tool {
    Tool {
        name: ASK,
        title: "Ask the user",
        description: "Ask the person one to four questions and wait for the answer. Use it when a decision is theirs. \
            Give options where you can; the person may choose, write freely, do both, or skip. The result's status \
            says what happened: answered, rejected (skipped on purpose), pending (nobody has answered yet; call \
            await_user_answer), superseded, expired or cancelled. Repeating a call does not ask twice.",
        input: object(
            json!({
                "questions": {
                    "type": "array", "minItems": 1, "maxItems": QUESTIONS_MAX, "items": question(),
                    "description": "What to ask, together.",
                },
                "context": text(PROMPT_CHARS_MAX, "Background that all questions share."),
                "requestKey": key("the same key in the same turn returns to the same questions"),
                "maxWaitSeconds": wait(),
            }),
            &["questions"],
        ),
        output: outcome(),
        is_read_only: false,
    }
}

fn question() -> Value {
    let option = object(
        json!({
            "label": text(LABEL_CHARS_MAX, "What the person chooses."),
            "description": text(DESCRIPTION_CHARS_MAX, "What it means."),
        }),
        &["label"],
    );
    let properties = json!({
        "question": text(PROMPT_CHARS_MAX, "The question, complete in itself."),
        "header": text(LABEL_CHARS_MAX, "A heading of a few words."),
        "id": text(LABEL_CHARS_MAX, "The key of its answer; q1, q2, … if absent."),
        "options": {
            "type": "array", "maxItems": OPTIONS_MAX, "items": option,
            "description": "None for a free answer, or two to six.",
        },
        "multiSelect": flag("Several options may be chosen. Default: false."),
        "allowOther": flag("The person may write, too. Default: true."),
        "secret": flag("The answer is masked for others and never logged. Default: false."),
    });
    object(properties, &["question"]).into()
}

fn wait_again() -> Tool {
    Tool {
        name: AWAIT,
        title: "Wait for the user's answer",
        description: "Wait again for questions that were asked before, or get their recorded answer at once. It \
            never asks anything new.",
        input: object(
            json!({"pendingId": text(LABEL_CHARS_MAX, "From the result of ask_user_question."), "maxWaitSeconds": wait()}),
            &["pendingId"],
        ),
        output: outcome(),
        is_read_only: false,
    }
}

fn list_own() -> Tool {
    Tool {
        name: LIST_OWN,
        title: "List my questions",
        description: "List the questions of this session, newest first, with how each stands. Answers are not part of \
            it; get them by await_user_answer.",
        input: object(json!({}), &[]),
        output: object(json!({"bundles": list_of("Newest first; at most 50.")}), &["bundles"]),
        is_read_only: true,
    }
}

fn list() -> Tool {
    Tool {
        name: LIST,
        title: "List pending questions",
        description: "List the questions of agents that wait for a person, oldest first.",
        input: object(
            json!({
                "limit": {"type": "integer", "minimum": 1, "maximum": PAGE_MAX, "description": "Bundles, at most. Default: 20."},
                "after": text(LABEL_CHARS_MAX, "The next value of the page before."),
            }),
            &[],
        ),
        output: object(
            json!({
                "bundles": list_of("Oldest first."),
                "next": {"type": "string", "description": "Where the next page begins; absent at the end."},
            }),
            &["bundles"],
        ),
        is_read_only: true,
    }
}

fn answer() -> Tool {
    let one = object(
        json!({
            "questionId": text(LABEL_CHARS_MAX, "May be absent where one question is asked."),
            "selected": {"type": "array", "items": {"type": "string"}, "description": "Labels of the chosen options."},
            "text": text(ANSWER_CHARS_MAX, "What the person wrote."),
        }),
        &[],
    );
    Tool {
        name: ANSWER,
        title: "Answer a question",
        description: "Give the person's own answer to an agent's questions: all questions of the bundle at once. Never \
            answer without the person.",
        input: object(
            json!({
                "pendingId": text(LABEL_CHARS_MAX, "From list_pending_questions."),
                "answers": {
                    "type": "array", "minItems": 1, "maxItems": QUESTIONS_MAX, "items": one,
                    "description": "One for each question.",
                },
                "requestKey": key("the same key returns the first outcome"),
            }),
            &["pendingId", "answers"],
        ),
        output: responded(),
        is_read_only: false,
    }
}

fn skip() -> Tool {
    Tool {
        name: SKIP,
        title: "Skip a question",
        description: "Tell the agent that the person does not want to answer.",
        input: object(
            json!({
                "pendingId": text(LABEL_CHARS_MAX, "From list_pending_questions."),
                "reason": text(ANSWER_CHARS_MAX, "Why, for the agent."),
                "requestKey": key("the same key returns the first outcome"),
            }),
            &["pendingId"],
        ),
        output: responded(),
        is_read_only: false,
    }
}

fn outcome() -> Map<String, Value> {
    let answer = object(
        json!({
            "selected": {"type": "array", "items": {"type": "string"}, "description": "Labels, in the question's order."},
            "text": {"type": "string", "description": "What the person wrote."},
        }),
        &["selected"],
    );
    object(
        json!({
            "status": {
                "type": "string",
                "enum": ["answered", "rejected", "pending", "superseded", "expired", "cancelled"],
                "description": "What happened.",
            },
            "pendingId": {"type": "string", "description": "Names these questions."},
            "turnId": {"type": "string", "description": "The turn that asked."},
            "answers": {"type": "object", "additionalProperties": answer, "description": "By question id."},
            "rejectReason": {"type": "string", "description": "Why the person skipped; may be empty."},
            "next": {"type": "string", "description": "How to go on."},
        }),
        &["status", "pendingId", "turnId", "answers"],
    )
}

fn responded() -> Map<String, Value> {
    object(
        json!({
            "status": {"type": "string", "enum": ["answered", "rejected", "failed"], "description": "What happened."},
            "pendingId": {"type": "string", "description": "The bundle."},
            "replayed": {"type": "boolean", "description": "The same key came before."},
            "dispatchedTurnId": {"type": "string", "description": "The new turn that took the answer to its agent."},
            "failure": {"type": "string", "description": "Why it was not delivered."},
            "retryable": {"type": "boolean", "description": "The same answer can be sent again."},
        }),
        &["status", "pendingId"],
    )
}

fn list_of(description: &str) -> Value {
    json!({"type": "array", "items": {"type": "object"}, "description": description})
}

#[expect(clippy::needless_pass_by_value, reason = "callers build the value in place")]
fn object(properties: Value, required: &[&str]) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), properties.clone());
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    schema
}

fn text(max: usize, description: &str) -> Value {
    json!({"type": "string", "maxLength": max, "description": description})
}

fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

fn key(rule: &str) -> Value {
    text(LABEL_CHARS_MAX, &format!("Makes the call safe to repeat: {rule}."))
}

fn wait() -> Value {
    let description = "How long to wait in this call, at most; then the status is pending.";
    json!({"type": "integer", "minimum": 0, "maximum": WAIT_MAX_S, "description": description})
}

#[cfg(test)]
mod tests {
    use crate::access::Role;
    use crate::ids::{PrincipalId, SessionId};
    use crate::scope::Scope;

    use super::*;

    fn viewer(role: Role, session: Option<SessionId>) -> Viewer {
        Viewer { principal: PrincipalId::new("p"), role, scope: Scope::All, session }
    }

    fn names(role: Role, session: Option<SessionId>) -> Vec<&'static str> {
        tools_of(&viewer(role, session)).into_iter().map(|tool| tool.name).collect()
    }

    fn assert_flat(path: &str, schema: &Value) {
        assert!(schema.get("$ref").is_none() && schema.get("anyOf").is_none(), "{path}");
        assert!(schema["type"].is_string(), "{path}: a schema has one type");
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            assert!(property["description"].is_string(), "{path} has no description");
            assert_flat(&path, property);
        }
        for part in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(part) {
                assert_flat(&format!("{path}.{part}"), inner);
            }
        }
    }

    #[test]
    fn every_schema_is_flat_and_described() {
        for tool in [ask(), wait_again(), list_own(), list(), answer(), skip()] {
            assert_flat(tool.name, &tool.input.into());
            assert_flat(tool.name, &tool.output.into());
        }
    }

    #[test]
    fn an_agent_sees_tools_to_ask_and_a_person_sees_tools_to_answer() {
        let session = Some(SessionId::new("s"));
        assert_eq!(names(Role::Agent, session), [ASK, AWAIT, LIST_OWN]);
        assert_eq!(names(Role::Person, None), [LIST, ANSWER, SKIP]);
        assert_eq!(names(Role::Operator, None), [LIST, ANSWER, SKIP]);
    }

    #[test]
    fn a_tool_is_found_by_its_name() {
        for name in [ASK, AWAIT, LIST_OWN, LIST, ANSWER, SKIP] {
            assert_eq!(tool(name).map(|tool| tool.name), Some(name));
        }
        assert!(tool("x").is_none());
    }
}
