//! Every spelling becomes one canonical form; every fault is named. May import: the module under test.

use serde_json::{Value, json};

use crate::lifecycle::canonical_questions;

use super::*;

fn read(arguments: Value) -> Result<AskArguments, Error> {
    ask(arguments.as_object().unwrap())
}

fn paths(arguments: Value) -> Vec<String> {
    match read(arguments) {
        Err(Error::Refused(Refusal::Invalid(faults))) => faults.into_iter().map(|fault| fault.path).collect(),
        other => panic!("expected faults, got {other:?}"),
    }
}

#[test]
fn the_spellings_of_all_agents_become_one_form() {
    let options = json!([{"label": "a", "description": "A"}, {"label": "b"}]);
    let spellings = [
        json!({"question": "Which?", "header": "H", "options": options, "multiSelect": true, "allowOther": false,
            "secret": true}),
        json!({"prompt": "Which?", "title": "H", "options": options, "multiple": true, "custom": false,
            "isSecret": true}),
        json!({"question": "Which?", "header": "H", "options": options, "multiSelect": true, "isOther": false,
            "isSecret": true, "preview": "ignored"}),
    ];
    let forms: Vec<_> = spellings
        .into_iter()
        .map(|question| {
            let input = read(json!({"questions": [question]})).unwrap().input;
            canonical_questions(&input.questions, &input.context).unwrap()
        })
        .collect();
    assert!(forms.windows(2).all(|pair| pair[0] == pair[1]), "{forms:?}");
    let spec = &forms[0][0];
    assert!(spec.multi_select && spec.secret && !spec.allow_custom_text);
    assert_eq!((spec.id.as_str(), spec.options[1].id.as_str()), ("q1", "q1_opt2"));
}

#[test]
fn free_text_is_allowed_unless_it_is_ruled_out() {
    let input = read(json!({"questions": [{"question": "Why?"}]})).unwrap().input;
    assert!(input.questions[0].allow_custom_text);
    assert!(!input.questions[0].multi_select);
}

#[test]
fn a_bare_string_is_an_option_and_null_is_absent() {
    let question = json!({"question": "Which?", "options": ["a", "b"], "header": null, "multiSelect": null});
    let input = read(json!({"questions": [question], "context": null, "requestKey": null})).unwrap().input;
    assert_eq!(input.questions[0].options[1].label, "b");
    assert_eq!(input.client_key, None);
}

#[test]
fn a_field_of_a_wrong_type_is_named_by_its_path() {
    let wrong = json!({
        "questions": [{"question": 1, "options": [{"label": 2}, 3], "multiSelect": "yes"}, 4],
        "requestKey": "", "maxWaitSeconds": -1,
    });
    assert_eq!(
        paths(wrong),
        [
            "questions[0].question",
            "questions[0].options[0].label",
            "questions[0].options[1]",
            "questions[0].multiSelect",
            "questions[1]",
            "requestKey",
            "maxWaitSeconds",
        ]
    );
}

#[test]
fn a_wait_has_a_named_limit() {
    let faults = match read(json!({"questions": [], "maxWaitSeconds": 7201})) {
        Err(Error::Refused(Refusal::Invalid(faults))) => faults,
        other => panic!("{other:?}"),
    };
    assert_eq!((faults[0].path.as_str(), faults[0].limit), ("maxWaitSeconds", Some(7_200)));
    assert_eq!(read(json!({"maxWaitSeconds": 60.0})).unwrap().wait, Some(Duration::from_secs(60)));
}
