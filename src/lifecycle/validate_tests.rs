//! Every fault of an input is named with its path and limit. May import: ids and the rest of lifecycle.

use crate::ids::{OptionId, QuestionId};

use super::fixtures::{Trial, question_id, question_input};
use super::*;

fn codes<T>(result: Result<T, Vec<FieldError>>) -> Vec<(String, FieldCode, Option<i64>)> {
    let faults = result.err().unwrap_or_default();
    faults.into_iter().map(|fault| (fault.path, fault.code, fault.limit)).collect()
}

fn fault(path: &str, code: FieldCode, limit: Option<i64>) -> Vec<(String, FieldCode, Option<i64>)> {
    vec![(path.to_owned(), code, limit)]
}

fn asked(change: impl FnOnce(&mut QuestionInput)) -> Vec<(String, FieldCode, Option<i64>)> {
    let mut input = question_input();
    change(&mut input);
    codes(canonical_questions(&[input], ""))
}

#[test]
fn a_bundle_has_one_to_four_questions() {
    assert_eq!(codes(canonical_questions(&[], "")), fault("questions", FieldCode::TooFew, Some(1)));
    let five = vec![question_input(); 5];
    assert_eq!(codes(canonical_questions(&five, "")), fault("questions", FieldCode::TooMany, Some(4)));
    assert_eq!(codes(canonical_questions(&five[..4], "")), vec![]);
}

#[test]
fn a_question_names_what_is_wrong_with_it() {
    use FieldCode::{NotAllowed, Required, TooFew, TooLong, TooMany};
    assert_eq!(asked(|q| q.prompt = " ".into()), fault("questions[0].question", Required, None));
    let limit = Some(4_000);
    assert_eq!(asked(|q| q.prompt = "ä".repeat(4_001)), fault("questions[0].question", TooLong, limit));
    assert_eq!(asked(|q| q.prompt = "ä".repeat(4_000)), vec![]);
    assert_eq!(asked(|q| q.prompt = "a\0b".into()), fault("questions[0].question", NotAllowed, None));
    assert_eq!(asked(|q| q.options.truncate(1)), fault("questions[0].options", TooFew, Some(2)));
    let many = |q: &mut QuestionInput| q.options = vec![q.options[0].clone(); 7];
    assert_eq!(asked(many), fault("questions[0].options", TooMany, Some(6)));
    assert_eq!(
        asked(|q| q.options[1].label = String::new()),
        fault("questions[0].options[1].label", Required, None)
    );
    let mute = |q: &mut QuestionInput| {
        q.options.clear();
        q.allow_custom_text = false;
    };
    assert_eq!(asked(mute), fault("questions[0]", Required, None));
}

#[test]
fn ids_are_given_by_position_and_never_twice() {
    let specs = canonical_questions(&[question_input(), question_input()], "").unwrap();
    assert_eq!(specs[1].id, QuestionId::new("q2"));
    assert_eq!(specs[1].options[1].id, OptionId::new("q2_opt2"));
    let twin = QuestionInput { id: Some("q1".into()), ..question_input() };
    let twins = canonical_questions(&[question_input(), twin], "");
    assert_eq!(codes(twins), fault("questions[1].id", FieldCode::Duplicate, None));
}

fn answer(options: &[&str], text: Option<&str>) -> Answer {
    let option_ids = options.iter().map(|id| OptionId::new(*id)).collect();
    Answer { option_ids, custom_text: text.map(str::to_owned) }
}

#[test]
fn an_answer_set_is_refused_by_name() {
    use FieldCode::{Duplicate, Required, TooLong, TooMany, Unknown};
    let bundle = Trial::new().ask(1, None);
    let check = |answers: &[(&str, Answer)]| {
        let answers: Vec<_> = answers.iter().map(|(id, answer)| (QuestionId::new(*id), answer.clone())).collect();
        codes(check_answers(&bundle, &answers))
    };
    let red = answer(&["q1_opt1"], None);
    assert_eq!(check(&[("q1", red.clone())]), vec![]);
    assert_eq!(check(&[]), fault("answers", Required, None));
    assert_eq!(check(&[("q1", red.clone()), ("q9", red.clone())]), fault("answers[1].questionId", Unknown, None));
    assert_eq!(check(&[("q1", red.clone()), ("q1", red)]), fault("answers[1].questionId", Duplicate, None));
    assert_eq!(check(&[("q1", answer(&["nope"], None))]), fault("answers[0].optionIds", Unknown, None));
    let both = answer(&["q1_opt1", "q1_opt2"], None);
    assert_eq!(check(&[("q1", both)]), fault("answers[0].optionIds", TooMany, Some(1)));
    assert_eq!(check(&[("q1", answer(&[], Some(" ")))]), fault("answers[0]", Required, None));
    let long = answer(&[], Some(&"x".repeat(2_001)));
    assert_eq!(check(&[("q1", long)]), fault("answers[0].customText", TooLong, Some(2_000)));
}

#[test]
fn what_is_stored_is_trimmed_and_in_the_questions_order() {
    let mut bundle = Trial::new().ask(1, None);
    bundle.questions[0].spec.multi_select = true;
    let given = answer(&["q1_opt2", "q1_opt1", "q1_opt2"], Some("  and green "));
    let stored = check_answers(&bundle, &[(question_id(1), given)]).unwrap();
    assert_eq!(stored[0].1, answer(&["q1_opt1", "q1_opt2"], Some("and green")));
}

#[test]
fn only_pending_questions_are_answered_in_a_mixed_bundle() {
    let mut bundle = Trial::new().ask(2, None);
    bundle.questions[0].status = Status::Rejected;
    let given = [(question_id(2), answer(&["q2_opt1"], None))];
    assert_eq!(check_answers(&bundle, &given).unwrap().len(), 1);
    let all = [(question_id(1), answer(&["q1_opt1"], None)), given[0].clone()];
    assert_eq!(codes(check_answers(&bundle, &all)), fault("answers[0].questionId", FieldCode::Unknown, None));
}
