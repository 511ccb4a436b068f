//! What may be asked and answered: every fault is named with its path and limit, before anything is claimed
//! (decisions 27). May import: ids and its siblings.

use std::collections::HashSet;

use crate::ids::{OptionId, QuestionId};

use super::question::{Answer, Bundle, Choice, QuestionSpec};
use super::refusal::{FieldCode, FieldError};

/// Questions of a bundle, at most.
pub const QUESTIONS_MAX: usize = 4;
/// Options of a question, at least, where it has any.
pub const OPTIONS_MIN: usize = 2;
/// Options of a question, at most.
pub const OPTIONS_MAX: usize = 6;
/// Code points of an answer's text or a skip's reason, at most.
pub const ANSWER_CHARS_MAX: usize = 2_000;
/// Code points of a question's prompt, or a bundle's context, at most.
pub const PROMPT_CHARS_MAX: usize = 4_000;
/// Code points of an option's label, a title or an id, at most.
pub const LABEL_CHARS_MAX: usize = 200;
/// Code points of an option's description, at most.
pub const DESCRIPTION_CHARS_MAX: usize = 1_000;

/// A choice as a caller writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionInput {
    /// Its id; given by position if absent.
    pub id: Option<String>,
    /// What a person reads.
    pub label: String,
    /// What it means; may be empty.
    pub description: String,
}

/// A question as a caller writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionInput {
    /// Its id; given by position if absent.
    pub id: Option<String>,
    /// A short heading; may be empty.
    pub title: String,
    /// The question.
    pub prompt: String,
    /// None, or two to six.
    pub options: Vec<OptionInput>,
    /// Several options may be taken.
    pub multi_select: bool,
    /// Free text may be given.
    pub allow_custom_text: bool,
    /// The answer is masked for others.
    pub secret: bool,
}

/// Collects faults; a check that fails goes on, so that a caller learns of all at once.
#[derive(Default)]
pub(super) struct Faults(Vec<FieldError>);

impl Faults {
    pub(super) fn add(&mut self, path: &str, code: FieldCode, limit: Option<usize>, message: &str) {
        let limit = limit.and_then(|limit| i64::try_from(limit).ok());
        self.0.push(FieldError { path: path.into(), code, limit, message: message.into() });
    }

    pub(super) fn text(&mut self, path: &str, text: &str, max: usize) {
        if text.chars().count() > max {
            let message = format!("{path} is longer than {max} characters");
            self.add(path, FieldCode::TooLong, Some(max), &message);
        }
        if text.contains('\0') {
            self.add(path, FieldCode::NotAllowed, None, &format!("{path} contains a null character"));
        }
    }

    fn required(&mut self, path: &str, text: &str, max: usize) {
        if text.trim().is_empty() {
            self.add(path, FieldCode::Required, None, &format!("{path} is empty"));
        }
        self.text(path, text, max);
    }

    pub(super) fn end<T>(self, value: T) -> Result<T, Vec<FieldError>> {
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }
}

/// Puts a bundle into its one canonical form.
///
/// # Errors
/// Every fault, by path and limit.
pub fn canonical_questions(inputs: &[QuestionInput], context: &str) -> Result<Vec<QuestionSpec>, Vec<FieldError>> {
    let mut faults = Faults::default();
    size(&mut faults, inputs.len());
    faults.text("context", context, PROMPT_CHARS_MAX);
    let mut seen = HashSet::new();
    let specs: Vec<_> = inputs.iter().enumerate().map(|(n, input)| canonical(&mut faults, n, input)).collect();
    for (n, spec) in specs.iter().enumerate() {
        if !seen.insert(&spec.id) {
            let path = format!("questions[{n}].id");
            faults.add(&path, FieldCode::Duplicate, None, &format!("{path} stands twice: {}", spec.id));
        }
    }
    faults.end(specs)
}

/// The bundle's size, for callers that hold canonical questions already.
///
/// # Errors
/// Too few or too many questions.
pub fn check_bundle_size(questions: &[QuestionSpec]) -> Result<(), Vec<FieldError>> {
    let mut faults = Faults::default();
    size(&mut faults, questions.len());
    faults.end(())
}

fn size(faults: &mut Faults, count: usize) {
    if count == 0 {
        faults.add("questions", FieldCode::TooFew, Some(1), "questions must have at least 1 item");
    }
    if count > QUESTIONS_MAX {
        let message = format!("questions must have at most {QUESTIONS_MAX} items");
        faults.add("questions", FieldCode::TooMany, Some(QUESTIONS_MAX), &message);
    }
}

fn canonical(faults: &mut Faults, n: usize, input: &QuestionInput) -> QuestionSpec {
    let path = format!("questions[{n}]");
    let place = n.saturating_add(1);
    let id = input.id.clone().unwrap_or_else(|| format!("q{place}"));
    faults.required(&format!("{path}.id"), &id, LABEL_CHARS_MAX);
    faults.text(&format!("{path}.title"), &input.title, LABEL_CHARS_MAX);
    faults.required(&format!("{path}.question"), &input.prompt, PROMPT_CHARS_MAX);
    if input.options.is_empty() && !input.allow_custom_text {
        let message = format!("{path} has no options and allows no text: nothing could answer it");
        faults.add(&path, FieldCode::Required, None, &message);
    }
    QuestionSpec {
        options: choices(faults, &path, place, &input.options),
        id: QuestionId::new(id),
        title: input.title.trim().into(),
        prompt: input.prompt.clone(),
        multi_select: input.multi_select,
        allow_custom_text: input.allow_custom_text,
        secret: input.secret,
    }
}

fn choices(faults: &mut Faults, question: &str, place: usize, options: &[OptionInput]) -> Vec<Choice> {
    let path = format!("{question}.options");
    if options.len() == 1 {
        let message = format!("{path} must have none or at least {OPTIONS_MIN} items");
        faults.add(&path, FieldCode::TooFew, Some(OPTIONS_MIN), &message);
    }
    if options.len() > OPTIONS_MAX {
        let message = format!("{path} must have at most {OPTIONS_MAX} items");
        faults.add(&path, FieldCode::TooMany, Some(OPTIONS_MAX), &message);
    }
    let mut seen = HashSet::new();
    options
        .iter()
        .enumerate()
        .map(|(m, option)| {
            let path = format!("{path}[{m}]");
            let id = option.id.clone().unwrap_or_else(|| format!("q{place}_opt{}", m.saturating_add(1)));
            faults.required(&format!("{path}.id"), &id, LABEL_CHARS_MAX);
            faults.required(&format!("{path}.label"), &option.label, LABEL_CHARS_MAX);
            faults.text(&format!("{path}.description"), &option.description, DESCRIPTION_CHARS_MAX);
            if !seen.insert(id.clone()) {
                faults.add(&path, FieldCode::Duplicate, None, &format!("{path}.id stands twice: {id}"));
            }
            Choice { id: OptionId::new(id), label: option.label.clone(), description: option.description.clone() }
        })
        .collect()
}

/// Checks an answer set against the questions that are still pending, by id, and puts it into storage order.
///
/// # Errors
/// Every fault, by path and limit.
pub fn check_answers(
    bundle: &Bundle,
    answers: &[(QuestionId, Answer)],
) -> Result<Vec<(QuestionId, Answer)>, Vec<FieldError>> {
    let mut faults = Faults::default();
    let mut seen = HashSet::new();
    for (n, (id, answer)) in answers.iter().enumerate() {
        let path = format!("answers[{n}]");
        let spec = bundle.pending().map(|q| &q.spec).find(|spec| &spec.id == id);
        match spec {
            None => {
                let message = format!("{path}.questionId names no pending question of this bundle: {id}");
                faults.add(&format!("{path}.questionId"), FieldCode::Unknown, None, &message);
            }
            Some(_) if !seen.insert(id) => {
                let message = format!("{path}.questionId is answered twice: {id}");
                faults.add(&format!("{path}.questionId"), FieldCode::Duplicate, None, &message);
            }
            Some(spec) => check_answer(&mut faults, &path, spec, answer),
        }
    }
    for spec in bundle.pending().map(|q| &q.spec).filter(|spec| !seen.contains(&spec.id)) {
        let message = format!("answers has no answer to question {}", spec.id);
        faults.add("answers", FieldCode::Required, None, &message);
    }
    faults.end(bundle.pending().filter_map(|q| stored(&q.spec, answers)).collect())
}

fn check_answer(faults: &mut Faults, path: &str, spec: &QuestionSpec, answer: &Answer) {
    let text = answer.custom_text.as_deref().unwrap_or_default();
    faults.text(&format!("{path}.customText"), text, ANSWER_CHARS_MAX);
    let has_text = !text.trim().is_empty();
    if has_text && !spec.allow_custom_text {
        let path = format!("{path}.customText");
        faults.add(&path, FieldCode::NotAllowed, None, &format!("{path}: question {} takes no text", spec.id));
    }
    let options = format!("{path}.optionIds");
    for id in &answer.option_ids {
        if !spec.options.iter().any(|option| &option.id == id) {
            let message = format!("{options} names no option of question {}: {id}", spec.id);
            faults.add(&options, FieldCode::Unknown, None, &message);
        }
    }
    let distinct: HashSet<_> = answer.option_ids.iter().collect();
    if distinct.len() > 1 && !spec.multi_select {
        let message = format!("{options}: question {} takes one option", spec.id);
        faults.add(&options, FieldCode::TooMany, Some(1), &message);
    }
    if answer.option_ids.is_empty() && !has_text {
        faults.add(path, FieldCode::Required, None, &format!("{path} has neither an option nor a text"));
    }
}

/// Options in the question's order, each once; text trimmed at both ends.
fn stored(spec: &QuestionSpec, answers: &[(QuestionId, Answer)]) -> Option<(QuestionId, Answer)> {
    let (id, answer) = answers.iter().find(|(id, _)| id == &spec.id)?;
    let chosen = spec.options.iter().map(|option| &option.id).filter(|id| answer.option_ids.contains(id));
    let text = answer.custom_text.as_deref().map(str::trim).filter(|text| !text.is_empty());
    Some((id.clone(), Answer { option_ids: chosen.cloned().collect(), custom_text: text.map(str::to_owned) }))
}

/// Checks a skip's reason and trims it.
///
/// # Errors
/// It is too long.
pub fn check_reason(reason: &str) -> Result<String, Vec<FieldError>> {
    let mut faults = Faults::default();
    faults.text("reason", reason, ANSWER_CHARS_MAX);
    faults.end(reason.trim().to_owned())
}
