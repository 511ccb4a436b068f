//! What is absent and what is not yours are one answer, for every argument of type ID in the schema (H-13, INV-38);
//! and which role may call what. Both go through the schema, so that nothing new is left out.
//! May import: the crate, the app, its siblings.

use std::collections::BTreeMap;

use answerable::access::Role;
use answerable::ids::{Micros, WorkspaceId};
use answerable::store::Workspace;
use serde_json::{Value, json};

use super::calls::{Call, Schema};
use super::scene::*;
use super::socket::Socket;
use crate::app::{App, Caller};

/// What an argument of type ID names, by the end of its path.
const NAMES: [(&str, &str); 20] = [
    ("node.id", "anything"),
    ("task.id", "task"),
    ("session.id", "session"),
    ("questions.id", "question"),
    ("options.id", "option"),
    ("pendingId", "pending"),
    ("sessionId", "session"),
    ("taskId", "task"),
    ("turnId", "turn"),
    ("expectedTurnId", "turn"),
    ("dispatchId", "turn"),
    ("messageId", "message"),
    ("permissionId", "permission"),
    ("workspaceId", "workspace"),
    ("workspaceIds", "workspace"),
    ("tokenId", "token"),
    ("questionId", "question"),
    ("optionIds", "option"),
    ("clarification.id", "pending"),
    ("turn.id", "turn"),
];
const ANYTHING: [&str; 5] = ["task", "session", "turn", "message", "pending"];

/// Ids that are not looked up by themselves, and how they are answered.
const WITHIN: [(&str, &str); 12] = [
    ("askClarification.input.expectedTurnId", "EXPECTED_TURN_CHANGED"),
    ("askClarification.input.questions.id", "ClarificationOutcome"),
    ("askClarification.input.questions.options.id", "ClarificationOutcome"),
    ("cancelTurn.input.expectedTurnId", "EXPECTED_TURN_CHANGED"),
    ("detachClarifications.turnId", "DetachClarificationsPayload"),
    ("recordPermissionRequest.permissionId", "MessagePayload"),
    ("respond.input.answers.optionIds", "InvalidResponse"),
    ("respond.input.answers.questionId", "InvalidResponse"),
    ("respond.input.expectedTurnId", "EXPECTED_TURN_CHANGED"),
    ("sendPrompt.input.expectedTurnId", "EXPECTED_TURN_CHANGED"),
    ("skip.input.expectedTurnId", "EXPECTED_TURN_CHANGED"),
    ("startTurn.input.expectedTurnId", "EXPECTED_TURN_CHANGED"),
];

/// A tenant: one of everything that has an id.
struct Tenant {
    operator: Caller,
    ids: BTreeMap<&'static str, String>,
}

async fn tenant(app: &App, name: &str) -> Tenant {
    let workspace = Workspace { id: WorkspaceId::new(name), name: name.into(), created_at: Micros(1) };
    app.authority().store().workspace_insert(workspace).await.unwrap();
    let operator = app.caller(Role::Operator, Some(&[name]), None).await;
    let scene = scene(&operator, None).await;
    let question = json!([{ "id": format!("{name}-question"), "prompt": "Which?", "multiSelect": true, "options": [
        { "id": format!("{name}-option"), "label": "a" }, { "id": "b", "label": "b" }] }]);
    let pending = ask(&operator, &scene.session, question).await;
    let query = "query($id: ID!) { clarification(pendingId: $id) { questions { messageId } } }";
    let message = operator.ask_for(query, json!({ "id": pending })).await["questions"][0]["messageId"].clone();
    let permission = format!("{name}-permission");
    let record =
        "mutation($s: ID!, $p: ID!) { recordPermissionRequest(sessionId: $s, permissionId: $p, content: \"?\")
        { __typename } }";
    operator.call(record, json!({ "s": scene.session, "p": permission })).await;
    let create = "mutation { createToken(input: { role: PERSON, name: \"x\" }) {
        ... on CreateTokenPayload { tokenId } } }";
    let token = operator.ask_for(create, json!({})).await["tokenId"].clone();
    let text = |value: Value| value.as_str().unwrap().to_owned();
    let ids = BTreeMap::from([
        ("workspace", name.to_owned()),
        ("task", scene.task),
        ("session", scene.session),
        ("turn", scene.turn),
        ("pending", pending),
        ("message", text(message)),
        ("question", format!("{name}-question")),
        ("option", format!("{name}-option")),
        ("permission", permission),
        ("token", text(token)),
    ]);
    Tenant { operator, ids }
}

fn names(path: &str) -> &'static str {
    let known = NAMES.iter().find(|(end, _)| path == *end || path.ends_with(&format!(".{end}")));
    known.unwrap_or_else(|| panic!("{path}: say in NAMES what it names")).1
}

/// What that id may name.
fn kinds(path: &str) -> Vec<&'static str> {
    match names(path) {
        "anything" => ANYTHING.to_vec(),
        kind => vec![kind],
    }
}

/// The answer to a call in which one id is that one, and all others are the caller's own. What it echoes of the id is
/// the caller's own word.
async fn answer(app: &App, caller: &Tenant, call: &Call<'_>, path: &str, id: &str) -> String {
    let own = |other: &str| json!(caller.ids.get(names(other)).map_or("", String::as_str));
    let variables = call.variables(|other| if other == path { json!(id) } else { own(other) });
    let request = json!({ "query": call.document(), "variables": variables });
    let told = if call.document().starts_with("subscription") {
        let bearer = format!("Bearer {}", caller.operator.token.clone().unwrap());
        let mut socket = Socket::greeted(app, json!({ "authorization": bearer })).await;
        socket.subscribe("s", request["query"].as_str().unwrap(), request["variables"].clone()).await;
        socket.hear().await.to_string()
    } else {
        let response = caller.operator.post(&request).send().await.unwrap();
        format!("{} {}", response.status(), response.text().await.unwrap())
    };
    told.replace(id, "ID")
}

/// It says that there is nothing.
fn is_nothing(told: &str) -> bool {
    let hidden = ["\"NotFound\"", "NOT_FOUND", ":null}", "\"edges\":[]", ":[]}"];
    hidden.iter().any(|part| told.contains(part))
}

#[tokio::test]
async fn every_id_of_another_workspace_answers_as_one_that_is_absent_byte_for_byte() {
    let app = App::start().await;
    let schema = Schema::read(&app.local()).await;
    let theirs = tenant(&app, "theirs").await;
    let before = state(&theirs).await;
    let mut within = Vec::new();
    let mut count = 0;
    for call in ["Query", "Mutation", "Subscription"].into_iter().flat_map(|root| schema.calls(root)) {
        let ours = tenant(&app, &format!("ours-{}", call.name())).await;
        for path in call.ids() {
            for kind in kinds(&path) {
                let foreign = answer(&app, &ours, &call, &path, &theirs.ids[kind]).await;
                let absent = answer(&app, &ours, &call, &path, "00000000-0000-7000-8000-000000000000").await;
                assert_eq!(foreign, absent, "{path} as a {kind}");
                if let Some((_, answer)) = WITHIN.iter().find(|(known, _)| *known == path) {
                    assert!(foreign.contains(answer), "{path}: {foreign}");
                    within.push(path.clone());
                } else {
                    assert!(is_nothing(&foreign), "{path}: {foreign}");
                }
                count += 1;
            }
        }
    }
    println!("ids compared: {count}");
    within.sort();
    assert_eq!(within, WITHIN.map(|(path, _)| path), "WITHIN names what is not there");
    assert_eq!(schema.ids_below_the_roots(), [""; 0], "give it a case");
    assert_eq!(state(&theirs).await, before, "nothing of theirs has moved");
    app.finish().await;
}

/// All that a tenant would see of a change.
async fn state(of: &Tenant) -> Value {
    let query = "query($task: ID!, $session: ID!, $pending: ID!) { task(id: $task) { title state }
        session(id: $session) { state executor currentTurn { id end } projection { action revision { sequence } }
          messages(last: 50) { edges { node { id content metadata } } } }
        clarification(pendingId: $pending) { state outcome questions { status } } viewer { principal } }";
    let ids = json!({ "task": of.ids["task"], "session": of.ids["session"], "pending": of.ids["pending"] });
    of.operator.call(query, ids).await
}

#[tokio::test]
async fn a_token_that_reaches_further_than_its_maker_is_not_his_to_make_or_to_end() {
    let app = App::start().await;
    let operator = app.caller(Role::Operator, None, None).await;
    let ours = tenant(&app, "ours").await;
    let create = |role: &str, extra: &str| {
        format!(
            "mutation {{ createToken(input: {{ role: {role}, name: \"x\" {extra} }}) {{ __typename
            ... on CreateTokenPayload {{ tokenId token }} ... on InvalidInput {{ errors {{ path code }} }} }} }}"
        )
    };
    let revoke = "mutation($id: ID!) { revokeToken(tokenId: $id) { __typename } }";
    let everywhere = operator.ask_for(&create("PERSON", ""), json!({})).await["tokenId"].clone();
    assert_eq!(ours.operator.ask_for(revoke, json!({ "id": everywhere })).await["__typename"], "NotFound");
    assert_eq!(operator.ask_for(revoke, json!({ "id": everywhere })).await["__typename"], "RevokeTokenPayload");
    let beyond = create("PERSON", ", workspaceIds: [\"ours\", \"theirs\"]");
    assert_eq!(ours.operator.ask_for(&beyond, json!({})).await["__typename"], "NotFound");

    let agent = create("AGENT", &format!(", sessionId: \"{}\"", ours.ids["session"]));
    let agent = operator.ask_for(&agent, json!({})).await["tokenId"].clone();
    assert_eq!(ours.operator.ask_for(revoke, json!({ "id": agent })).await["__typename"], "RevokeTokenPayload");
    let stray = operator.ask_for(&create("AGENT", ""), json!({})).await;
    assert_eq!(stray["errors"], json!([{ "path": "sessionId", "code": "REQUIRED" }]), "an agent has one session");

    let bound = app.caller(Role::Operator, None, Some(&ours.ids["session"])).await;
    let made = bound.ask_for(&create("OPERATOR", ""), json!({})).await;
    let child = app.with_token(Some(made["token"].as_str().unwrap().to_owned()));
    let viewer = child.ask_for("{ viewer { sessionId } }", json!({})).await;
    assert_eq!(viewer["sessionId"], json!(ours.ids["session"]), "who is bound makes nothing that is not");
    app.finish().await;
}

/// May call: of all mutations, by role. An operator may all.
const PERSONS: [&str; 5] = ["cancelTurn", "resolvePermissionRequest", "respond", "sendPrompt", "skip"];
const AGENTS: [&str; 2] = ["askClarification", "awaitClarification"];
const NOT_RUNTIMES: [&str; 5] = ["createToken", "resolveAmbiguousDispatch", "respond", "revokeToken", "skip"];

#[tokio::test]
async fn a_role_that_may_not_is_told_so_whatever_it_names() {
    let app = App::start().await;
    let schema = Schema::read(&app.local()).await;
    let tenant = tenant(&app, "ours").await;
    let agent = app.caller(Role::Agent, None, Some(&tenant.ids["session"])).await;
    let person = app.caller(Role::Person, None, None).await;
    let runtime = app.caller(Role::Runtime, None, None).await;
    for call in schema.calls("Mutation") {
        let name = call.name().to_owned();
        let roles = [
            (&tenant.operator, true),
            (&person, PERSONS.contains(&name.as_str())),
            (&agent, AGENTS.contains(&name.as_str())),
            (&runtime, !NOT_RUNTIMES.contains(&name.as_str())),
        ];
        for (n, (caller, may)) in roles.into_iter().enumerate() {
            // What it may is tried on what is absent; what it may not, on what is there.
            let id = |path: &str| json!(if may { "nothing" } else { tenant.ids[names(path)].as_str() });
            let (_, body) = caller.send(&call.document(), call.variables(id)).await;
            let code = &body["errors"][0]["extensions"]["code"];
            assert_eq!(code == "FORBIDDEN", !may, "{name}, caller {n}: {body}");
        }
    }
    for caller in [&person, &runtime, &agent] {
        assert_eq!(caller.code("{ ambiguousDispatches(first: 1) { id } }", json!({})).await, "FORBIDDEN");
    }
    app.finish().await;
}
