//! Reads tool arguments. Models spell the same thing in several ways (Claude Code, Codex, opencode, Kandev); all of
//! them become one canonical form here, and every fault is named by its path. May import: lifecycle, ids.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::authority::{AskInput, Error};
use crate::ids::{ClientKey, PendingId};
use crate::lifecycle::{FieldCode, FieldError, LABEL_CHARS_MAX, OptionInput, QuestionInput, Refusal};

type Object = Map<String, Value>;

/// A wait in one call, at most, in seconds.
pub(super) const WAIT_MAX_S: u64 = 7_200;

/// Reads one object's fields; a fault does not stop the reading, so that a model learns of all at once.
pub(super) struct Reader<'a> {
    object: &'a Object,
    path: String,
    faults: &'a mut Vec<FieldError>,
}

impl<'a> Reader<'a> {
    /// Reads the arguments themselves.
    pub(super) fn new(object: &'a Object, faults: &'a mut Vec<FieldError>) -> Self {
        Self { object, path: String::new(), faults }
    }

    fn at<'b>(&'b mut self, object: &'b Object, path: String) -> Reader<'b> {
        Reader { object, path, faults: self.faults }
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn fault(&mut self, name: &str, code: FieldCode, limit: Option<i64>, rule: &str) {
        let path = self.path_of(name);
        let message = format!("{path} {rule}");
        self.faults.push(FieldError { path, code, limit, message });
    }

    /// The first of these names that is there and not null. The first name is the one that faults use.
    fn find(&self, names: &[&str]) -> Option<&'a Value> {
        names.iter().find_map(|name| self.object.get(*name)).filter(|value| !value.is_null())
    }

    /// A text, or nothing.
    pub(super) fn text(&mut self, names: &[&str]) -> Option<String> {
        let value = self.find(names)?;
        if value.as_str().is_none() {
            self.fault(first(names), FieldCode::NotAllowed, None, "must be a string");
        }
        value.as_str().map(str::to_owned)
    }

    fn flag(&mut self, names: &[&str], default: bool) -> bool {
        let Some(value) = self.find(names) else { return default };
        if value.as_bool().is_none() {
            self.fault(first(names), FieldCode::NotAllowed, None, "must be true or false");
        }
        value.as_bool().unwrap_or(default)
    }

    /// The items of a list; none if it is absent.
    pub(super) fn list(&mut self, names: &[&str]) -> &'a [Value] {
        let Some(value) = self.find(names) else { return &[] };
        if value.as_array().is_none() {
            self.fault(first(names), FieldCode::NotAllowed, None, "must be an array");
        }
        value.as_array().map_or(&[], Vec::as_slice)
    }

    /// Each item of a list of objects, read by `read`.
    pub(super) fn objects<T>(&mut self, names: &[&str], read: impl Fn(&mut Reader<'_>) -> T) -> Vec<T> {
        let mut items = Vec::new();
        for (n, item) in self.list(names).iter().enumerate() {
            let name = format!("{}[{n}]", first(names));
            match item.as_object() {
                Some(object) => {
                    let path = self.path_of(&name);
                    items.push(read(&mut self.at(object, path)));
                }
                None => self.fault(&name, FieldCode::NotAllowed, None, "must be an object"),
            }
        }
        items
    }

    /// A key that makes a call idempotent.
    pub(super) fn key(&mut self) -> Option<ClientKey> {
        let names = ["requestKey", "clientKey"];
        let key = self.text(&names)?;
        if key.is_empty() || key.chars().count() > LABEL_CHARS_MAX {
            let limit = i64::try_from(LABEL_CHARS_MAX).ok();
            let rule = format!("must have 1 to {LABEL_CHARS_MAX} characters");
            self.fault(first(&names), FieldCode::TooLong, limit, &rule);
        }
        Some(ClientKey::new(key))
    }

    /// The bundle that a call is about.
    pub(super) fn pending_id(&mut self) -> PendingId {
        let id = self.text(&["pendingId", "pending_id"]);
        if id.is_none() {
            self.fault("pendingId", FieldCode::Required, None, "is required");
        }
        PendingId::new(id.unwrap_or_default())
    }

    /// The wait that a caller wants, at most.
    pub(super) fn wait(&mut self) -> Option<Duration> {
        self.number("maxWaitSeconds", WAIT_MAX_S).map(Duration::from_secs)
    }

    /// A whole number from 0 to `max`.
    pub(super) fn number(&mut self, name: &str, max: u64) -> Option<u64> {
        let value = self.find(&[name])?;
        // Some models write 60 as 60.0; JSON does not tell the two apart.
        let whole = value.as_u64().or_else(|| whole(value.as_f64()?));
        let number = whole.filter(|number| *number <= max);
        if number.is_none() {
            let rule = format!("must be a whole number from 0 to {max}");
            self.fault(name, FieldCode::NotAllowed, i64::try_from(max).ok(), &rule);
        }
        number
    }
}

fn whole(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && number >= 0.0).then(|| format!("{number:.0}").parse().ok())?
}

fn first<'n>(names: &[&'n str]) -> &'n str {
    names.first().copied().unwrap_or_default()
}

/// What an `ask_user_question` call says.
#[derive(Debug)]
pub(super) struct AskArguments {
    pub(super) input: AskInput,
    pub(super) wait: Option<Duration>,
}

/// Reads `ask_user_question`.
///
/// # Errors
/// Every field of a wrong type, by path; limits are checked where bundles are made canonical.
pub(super) fn ask(arguments: &Object) -> Result<AskArguments, Error> {
    let mut faults = Vec::new();
    let mut reader = Reader::new(arguments, &mut faults);
    let questions = reader.objects(&["questions"], question);
    let input =
        AskInput { questions, context: context(&mut reader), client_key: reader.key(), expected_turn_id: None };
    let wait = reader.wait();
    end(faults, AskArguments { input, wait })
}

/// Ends a reading.
///
/// # Errors
/// The faults, if there are any.
pub(super) fn end<T>(faults: Vec<FieldError>, value: T) -> Result<T, Error> {
    if faults.is_empty() { Ok(value) } else { Err(Refusal::Invalid(faults).into()) }
}

/// One text, or Kandev's list of paragraphs.
fn context(reader: &mut Reader<'_>) -> String {
    let paragraphs = reader.list(&["context_paragraphs"]).iter().filter_map(Value::as_str);
    let joined = paragraphs.collect::<Vec<_>>().join("\n\n");
    reader.text(&["context"]).unwrap_or(joined)
}

fn question(reader: &mut Reader<'_>) -> QuestionInput {
    QuestionInput {
        id: reader.text(&["id"]),
        title: reader.text(&["header", "title"]).unwrap_or_default(),
        prompt: reader.text(&["question", "prompt"]).unwrap_or_default(),
        options: options(reader),
        multi_select: reader.flag(&["multiSelect", "multiple", "multi_select"], false),
        allow_custom_text: reader.flag(&["allowOther", "isOther", "custom", "allow_custom_text"], true),
        secret: reader.flag(&["secret", "isSecret"], false),
    }
}

/// Options are objects; a bare string is its own label.
fn options(reader: &mut Reader<'_>) -> Vec<OptionInput> {
    let mut options = Vec::new();
    for (n, item) in reader.list(&["options"]).iter().enumerate() {
        let path = reader.path_of(&format!("options[{n}]"));
        match item {
            Value::String(label) => options.push(OptionInput { label: label.clone(), ..OptionInput::default() }),
            Value::Object(object) => {
                let mut reader = reader.at(object, path);
                options.push(OptionInput {
                    id: reader.text(&["id", "option_id"]),
                    label: reader.text(&["label"]).unwrap_or_default(),
                    description: reader.text(&["description"]).unwrap_or_default(),
                });
            }
            _ => reader.fault(&format!("options[{n}]"), FieldCode::NotAllowed, None, "must be an object"),
        }
    }
    options
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
