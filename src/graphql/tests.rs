//! The contract as a whole: the committed schema, and that every part of it is described.
//! May import: graphql.

use async_graphql::Request;
use serde_json::Value;

use super::*;

/// Writes the schema instead of comparing it when `UPDATE_SCHEMA` is set.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own switch")]
fn the_committed_schema_is_the_schema_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.graphql");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, sdl()).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(committed == sdl(), "schema.graphql differs; see CONTRIBUTING.md on how to print it");
}

async fn introspect() -> Vec<Value> {
    let query = "{ __schema { types { name kind description
        fields { name description args { name description } }
        inputFields { name description } enumValues { name description } } } }";
    let schema = Schema::build(Query, Mutation::default(), Subscription).finish();
    let response = schema.execute(Request::new(query)).await;
    assert!(response.is_ok(), "{:?}", response.errors);
    let data = response.data.into_json().unwrap();
    data["__schema"]["types"].as_array().unwrap().clone()
}

fn missing(of: &str, parts: &Value, found: &mut Vec<String>) {
    for part in parts.as_array().into_iter().flatten() {
        let name = format!("{of}.{}", part["name"].as_str().unwrap());
        if part["description"].as_str().is_none_or(str::is_empty) {
            found.push(name.clone());
        }
        missing(&name, &part["args"], found);
    }
}

#[tokio::test]
async fn every_type_field_argument_and_value_is_described() {
    let mut found = Vec::new();
    for kind in introspect().await {
        let name = kind["name"].as_str().unwrap();
        if name.starts_with("__") {
            continue;
        }
        if name != "ID" && kind["description"].as_str().is_none_or(str::is_empty) {
            found.push(name.to_owned());
        }
        for parts in ["fields", "inputFields", "enumValues"] {
            missing(name, &kind[parts], &mut found);
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test]
async fn no_name_of_the_schema_belongs_to_a_dispatch_that_is_private() {
    for kind in introspect().await {
        for field in kind["fields"].as_array().into_iter().flatten() {
            let name = field["name"].as_str().unwrap().to_lowercase();
            for word in ["reservation", "attempt", "claimid", "claimepoch", "acknowledg", "prompt_dispatch"] {
                assert!(!name.contains(word), "{} {name}", kind["name"]);
            }
        }
    }
}

#[test]
fn every_code_stands_in_the_table_once() {
    let table = error_table();
    for code in Code::ALL {
        assert_eq!(table.matches(&format!("| `{}` |", code.as_str())).count(), 1);
    }
    assert_eq!(table.lines().count(), Code::ALL.len() + 2);
}

fn refused(query: &str) -> String {
    let incoming = Incoming { query: query.into(), ..Incoming::default() };
    match prepare(&Limits::default(), incoming) {
        Ok(_) => String::new(),
        Err(error) => error.message,
    }
}

#[test]
fn a_document_within_the_limits_is_prepared_and_one_beyond_each_is_refused_by_name() {
    let nested = |depth: usize| format!("{{{}id{}}}", "a{".repeat(depth), "}".repeat(depth));
    let aliases =
        |count: usize| format!("{{viewer{{{}}}}}", (0..count).map(|n| format!("a{n}:role ")).collect::<String>());
    let roots =
        |count: usize| format!("{{{}}}", (0..count).map(|n| format!("a{n}:viewer{{role}} ")).collect::<String>());
    let directives = |count: usize| format!("{{viewer{{role {}}}}}", "@skip(if:false) ".repeat(count));
    let skip = "skip(input:{pendingId:\"p\",clientKey:\"k\"}){__typename}";
    let cases = [
        (nested(11), nested(12), "depth"),
        (aliases(100), aliases(101), "aliases"),
        (roots(20), roots(21), "root fields"),
        (directives(20), directives(21), "directives"),
        (format!("mutation{{a:{skip}}}"), format!("mutation{{a:{skip} b:{skip}}}"), "respond and skip"),
        (format!("{{viewer{{role}}}}{}", "#".repeat(32_000)), format!("{{a}}#{}", "x".repeat(33_000)), "length"),
        (
            format!("{{a(x:{}1{})}}", "[".repeat(60), "]".repeat(60)),
            format!("{{a(x:{}", "[".repeat(4_000)),
            "nesting",
        ),
        (format!("{{{}}}", "a ".repeat(20)), format!("{{{}}}", "a ".repeat(6_000)), "tokens"),
    ];
    for (allowed, beyond, word) in cases {
        assert_eq!(refused(&allowed), "", "{word}");
        let message = refused(&beyond);
        assert!(message.contains(word), "{word}: {message}");
    }
}

#[test]
fn fragments_that_multiply_or_meet_themselves_are_refused_and_not_followed() {
    let doubling: String =
        (0..30).map(|n| format!("fragment F{n} on Query{{...F{m} ...F{m}}} ", m = n + 1)).collect();
    assert!(!refused(&format!("{{...F0}} {doubling} fragment F30 on Query{{viewer{{role}}}}")).is_empty());
    assert!(!refused("{...A} fragment A on Query{...B} fragment B on Query{...A}").is_empty());
    assert!(!refused("{viewer{...A}} fragment A on Viewer{role ...A}").is_empty());
}

#[test]
fn one_response_stands_in_a_document_even_behind_fragments() {
    let skip = "skip(input:{pendingId:\"p\",clientKey:\"k\"}){__typename}";
    let hidden = format!("mutation{{...A b:{skip}}} fragment A on Mutation{{a:{skip}}}");
    assert!(refused(&hidden).contains("respond and skip"));
}

#[test]
fn an_operation_is_found_by_its_name_or_refused() {
    let prepared = |query: &str, name: Option<&str>| {
        let incoming =
            Incoming { query: query.into(), operation_name: name.map(str::to_owned), ..Incoming::default() };
        prepare(&Limits::default(), incoming).map(|prepared| prepared.kind).map_err(|error| error.message)
    };
    let two = "query A { viewer { role } } mutation B { deleteTask(taskId: \"t\") { __typename } }";
    assert_eq!(prepared(two, Some("A")), Ok(Kind::Query));
    assert_eq!(prepared(two, Some("B")), Ok(Kind::Mutation));
    assert!(prepared(two, None).is_err());
    assert!(prepared(two, Some("C")).is_err());
    assert_eq!(prepared("mutation B { a }", None), Ok(Kind::Mutation));
    assert_eq!(prepared("{ a }", Some("")), Ok(Kind::Query));
    assert!(prepared("query ($id: ID!) { a(id: $id) }", None).unwrap_err().contains("$id"));
}

/// Where two members of a union have a field of one name, it has one type: else a document cannot select both without
/// an alias.
#[tokio::test]
async fn one_document_can_select_every_member_of_a_union_without_an_alias() {
    let query = "{ __schema { types { name kind possibleTypes { name } fields { name type { ...T } } } } }
        fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";
    let schema = Schema::build(Query, Mutation::default(), Subscription).finish();
    let data = schema.execute(Request::new(query)).await.data.into_json().unwrap();
    let types = data["__schema"]["types"].as_array().unwrap();
    let mut found = Vec::new();
    for union in types.iter().filter(|kind| kind["kind"] == "UNION") {
        let mut seen = std::collections::BTreeMap::new();
        for member in union["possibleTypes"].as_array().unwrap() {
            let own = types.iter().find(|kind| kind["name"] == member["name"]).unwrap();
            for field in own["fields"].as_array().unwrap() {
                let first = seen.entry(field["name"].to_string()).or_insert_with(|| field["type"].clone());
                if *first != field["type"] {
                    found.push(format!("{}: {}.{}", union["name"], own["name"], field["name"]));
                }
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn whatever_comes_as_a_document_is_prepared_or_refused_with_a_code() {
    let known = Code::ALL.map(Code::as_str);
    crate::fuzz::fuzz("documents", 5_000, |bytes| {
        let query = String::from_utf8_lossy(bytes).into_owned();
        let object = serde_json::json!({ "query": query, "variables": { "id": "x" } });
        let Value::Object(object) = object else { unreachable!() };
        let prepared = Incoming::of_object(object).and_then(|incoming| prepare(&Limits::default(), incoming));
        if let Err(error) = prepared {
            let code = error.extensions.and_then(|extensions| extensions.get("code").cloned());
            let Some(async_graphql::Value::String(code)) = code else { panic!("{code:?}") };
            assert!(known.contains(&code.as_str()), "{code}");
        }
    });
}
