//! Every root field of the schema as a call, made from the schema itself, so that what is added to it is called too.
//! May import: the app.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::app::Caller;

const INTROSPECT: &str = "{ __schema { types { name kind enumValues { name } possibleTypes { name }
    fields { name args { name type { ...T } } type { ...T } } inputFields { name type { ...T } } } } }
  fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";

/// Members of result unions that say no, with all that they say.
const REFUSALS: [(&str, &str); 6] = [
    ("NotFound", "message"),
    ("InvalidInput", "errors { path code limit message }"),
    ("InvalidResponse", "errors { path code limit message }"),
    ("Refused", "refusal retryable message"),
    ("ResponseConflict", "reason winner { respondedBy status }"),
    ("TaskSnapshot", "tasks { id }"),
];

/// The server's schema.
pub struct Schema(BTreeMap<String, Value>);

/// One root field.
pub struct Call<'s> {
    schema: &'s Schema,
    root: &'static str,
    field: &'s Value,
}

impl Schema {
    pub async fn read(caller: &Caller) -> Self {
        let data = caller.call(INTROSPECT, json!({})).await;
        let types = data["__schema"]["types"].as_array().unwrap();
        Self(types.iter().map(|kind| (text(&kind["name"]).to_owned(), kind.clone())).collect())
    }

    /// The root fields of that type, which is `Query`, `Mutation` or `Subscription`.
    pub fn calls(&self, root: &'static str) -> Vec<Call<'_>> {
        let fields = self.0[root]["fields"].as_array().unwrap();
        fields.iter().map(|field| Call { schema: self, root, field }).collect()
    }

    /// Arguments of type ID of fields that are no root fields.
    pub fn ids_below_the_roots(&self) -> Vec<String> {
        let is_root = |name: &str| ["Query", "Mutation", "Subscription"].contains(&name);
        let below = self.0.iter().filter(|(name, _)| !is_root(name) && !name.starts_with("__"));
        let fields = below.flat_map(|(name, kind)| list(&kind["fields"]).iter().map(move |field| (name, field)));
        let with_ids =
            fields.filter(|(_, field)| list(&field["args"]).iter().any(|arg| self.has_id(&arg["type"])));
        with_ids.map(|(name, field)| format!("{name}.{}", text(&field["name"]))).collect()
    }

    fn has_id(&self, kind: &Value) -> bool {
        match text(&kind["kind"]) {
            "NON_NULL" | "LIST" => self.has_id(&kind["ofType"]),
            "INPUT_OBJECT" => self.inputs(kind).iter().any(|field| self.has_id(&field["type"])),
            _ => kind["name"] == "ID",
        }
    }

    fn inputs(&self, kind: &Value) -> &[Value] {
        list(&self.0[text(&kind["name"])]["inputFields"])
    }

    /// The least object of these arguments that has all their ids.
    fn object(&self, of: &[Value], path: &str, id: &mut dyn FnMut(&str) -> Value) -> Value {
        let is_needed = |arg: &&Value| arg["type"]["kind"] == "NON_NULL" || self.has_id(&arg["type"]);
        let values = of.iter().filter(is_needed).map(|arg| {
            let name = text(&arg["name"]);
            (name.to_owned(), self.value(&arg["type"], &format!("{path}.{name}"), id))
        });
        Value::Object(values.collect::<Map<_, _>>())
    }

    fn value(&self, kind: &Value, path: &str, id: &mut dyn FnMut(&str) -> Value) -> Value {
        match (text(&kind["kind"]), kind["name"].as_str().unwrap_or_default()) {
            ("NON_NULL", _) => self.value(&kind["ofType"], path, id),
            // A question has no option, or two at least.
            ("LIST", _) if path.ends_with(".options") => {
                json!([self.value(&kind["ofType"], path, id), { "id": "another", "label": "y" }])
            }
            ("LIST", _) => json!([self.value(&kind["ofType"], path, id)]),
            ("INPUT_OBJECT", _) => self.object(self.inputs(kind), path, id),
            ("ENUM", name) => self.0[name]["enumValues"][0]["name"].clone(),
            (_, "ID") => id(path),
            (_, "String") => json!("x"),
            (_, "Int") => json!(1),
            (_, "Boolean") => json!(false),
            other => panic!("{path}: nobody knows a value of {other:?}"),
        }
    }
}

impl Call<'_> {
    pub fn name(&self) -> &str {
        text(&self.field["name"])
    }

    /// The paths of its arguments of type ID, such as `respond.input.pendingId`.
    pub fn ids(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.variables(|path| {
            paths.push(path.to_owned());
            json!("")
        });
        paths
    }

    /// The variables of the call, with these ids.
    pub fn variables(&self, mut id: impl FnMut(&str) -> Value) -> Value {
        self.schema.object(list(&self.field["args"]), self.name(), &mut id)
    }

    /// A document that calls it and selects how it says no.
    pub fn document(&self) -> String {
        let given = self.variables(|_| json!(""));
        let args = list(&self.field["args"]).iter().filter(|arg| given.get(text(&arg["name"])).is_some());
        let (declared, passed): (Vec<_>, Vec<_>) = args
            .map(|arg| (text(&arg["name"]), &arg["type"]))
            .map(|(name, kind)| (format!("${name}: {}", spelled(kind)), format!("{name}: ${name}")))
            .unzip();
        let in_parentheses =
            |parts: Vec<String>| if parts.is_empty() { String::new() } else { format!("({})", parts.join(", ")) };
        let (declared, passed) = (in_parentheses(declared), in_parentheses(passed));
        let (root, name) = (self.root.to_lowercase(), self.name());
        format!("{root}{declared} {{ {name}{passed} {{ {} }} }}", self.selection())
    }

    fn selection(&self) -> String {
        let output = named(&self.field["type"]);
        if output.ends_with("Connection") {
            return "edges { cursor }".into();
        }
        let members = list(&self.schema.0[output]["possibleTypes"]).iter().map(|member| text(&member["name"]));
        let refusals = members.filter_map(|member| REFUSALS.iter().find(|(name, _)| *name == member));
        let parts = refusals.map(|(name, fields)| format!("... on {name} {{ {fields} }}"));
        std::iter::once("__typename".to_owned()).chain(parts).collect::<Vec<_>>().join(" ")
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A type as a document spells it.
fn spelled(kind: &Value) -> String {
    match text(&kind["kind"]) {
        "NON_NULL" => format!("{}!", spelled(&kind["ofType"])),
        "LIST" => format!("[{}]", spelled(&kind["ofType"])),
        _ => text(&kind["name"]).to_owned(),
    }
}

/// The type at the bottom of that one.
fn named(kind: &Value) -> &str {
    if kind["ofType"].is_null() { text(&kind["name"]) } else { named(&kind["ofType"]) }
}
