//! Who sees what. `foreign` holds what every id of the schema has to obey.
//! May import: the crate, the app, its siblings.

use answerable::access::Role;
use reqwest::StatusCode;
use serde_json::json;

use super::scene::*;
use crate::app::App;

struct World {
    app: App,
    scene: Scene,
    pending: String,
}

async fn world() -> World {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let pending = ask(&local, &scene.session, questions()).await;
    World { app, scene, pending }
}

#[tokio::test]
async fn an_agent_sees_its_own_session_and_nothing_beside_it() {
    let World { app, scene, pending, .. } = world().await;
    let operator = app.caller(Role::Operator, None, None).await;
    let other = super::scene::scene(&operator, None).await;
    let theirs = ask(&operator, &other.session, questions()).await;
    let agent = app.caller(Role::Agent, None, Some(&scene.session)).await;
    let viewer = agent.ask_for("{ viewer { role sessionId mayAnswer } }", json!({})).await;
    assert_eq!(viewer, json!({ "role": "AGENT", "sessionId": scene.session, "mayAnswer": false }));
    assert_eq!(clarification(&agent, &pending).await["canRespond"], false);
    assert!(clarification(&agent, &theirs).await.is_null());
    let inbox =
        agent.ask_for("{ pendingClarifications(first: 9) { edges { node { pendingId } } } }", json!({})).await;
    assert_eq!(inbox["edges"], json!([{ "node": { "pendingId": pending } }]));
    assert_eq!(agent.ask_for("{ tasks(first: 9) { edges { cursor } } }", json!({})).await["edges"], json!([]));
    let session = "query($id: ID!) { session(id: $id) { id task { id } } }";
    assert_eq!(agent.ask_for(session, json!({ "id": scene.session })).await["task"], json!(null));
    assert!(agent.ask_for(session, json!({ "id": other.session })).await.is_null());
    let foreign = json!({ "input": { "sessionId": other.session, "questions": [{ "prompt": "?" }] } });
    assert_eq!(agent.ask_for(ASK, foreign).await["__typename"], "NotFound");
    app.finish().await;
}

#[tokio::test]
async fn a_secret_answer_is_shown_to_its_agent_and_to_who_gave_it_and_masked_for_everybody_else() {
    let World { app, scene, .. } = world().await;
    let giver = app.caller(Role::Person, None, None).await;
    let other = app.caller(Role::Person, None, None).await;
    let operator = app.caller(Role::Operator, None, None).await;
    let runtime = app.caller(Role::Runtime, None, None).await;
    let agent = app.caller(Role::Agent, None, Some(&scene.session)).await;
    let secret = json!([{ "prompt": "Password?", "secret": true }, { "prompt": "Open?" }]);
    let id = ask(&runtime, &scene.session, secret).await;
    let waiting = wait(&agent, &id).await;
    let answers =
        json!([{ "questionId": "q1", "customText": "hunter2" }, { "questionId": "q2", "customText": "plain" }]);
    assert_eq!(respond(&giver, &id, "k", answers).await["__typename"], "ResponseAccepted");
    assert_eq!(waiting.await.unwrap()["answers"][0]["text"], "hunter2", "the agent receives it");
    let everything = "query($id: ID!, $s: ID!) { clarification(pendingId: $id) { questions { answer { selected customText isMasked } } }
        session(id: $s) { messages(last: 10) { edges { node { content metadata } } } } }";
    for (caller, sees) in [(&giver, true), (&agent, true), (&other, false), (&operator, false), (&runtime, false)]
    {
        let data = caller.call(everything, json!({ "id": id, "s": scene.session })).await;
        let answer = &data["clarification"]["questions"][0]["answer"];
        assert_eq!(answer["isMasked"], !sees, "{data}");
        assert_eq!(data.to_string().contains("hunter2"), sees, "{data}");
        assert_eq!(data["clarification"]["questions"][1]["answer"]["customText"], "plain");
    }
    let recorded = operator.ask_for(AWAIT, json!({ "id": id, "s": 0 })).await;
    assert!(!recorded.to_string().contains("hunter2"), "{recorded}");
    app.finish().await;
}

#[tokio::test]
async fn once_a_person_has_a_token_nobody_comes_in_without_one_and_a_revoked_one_is_void() {
    let app = App::start().await;
    let local = app.local();
    let create = "mutation { createToken(input: { role: OPERATOR, name: \"x\" }) { ... on CreateTokenPayload { tokenId token } } }";
    let made = local.ask_for(create, json!({})).await;
    let caller = app.with_token(Some(made["token"].as_str().unwrap().to_owned()));
    let viewer = "{ viewer { role principal workspaces } }";
    assert_eq!(
        caller.ask_for(viewer, json!({})).await,
        json!({ "role": "OPERATOR", "principal": made["tokenId"], "workspaces": null })
    );
    let stranger = app.with_token(Some("ans_nonsense".into()));
    let mut bodies = Vec::new();
    for nobody in [&local, &stranger] {
        let response = nobody.post(&json!({ "query": viewer })).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
        bodies.push(response.text().await.unwrap());
    }
    assert_eq!(bodies[0], bodies[1], "an absent and a wrong token are one answer");
    let revoke = "mutation($id: ID!) { revokeToken(tokenId: $id) { __typename } }";
    assert_eq!(caller.ask_for(revoke, json!({ "id": "nothing" })).await["__typename"], "NotFound");
    assert_eq!(caller.ask_for(revoke, json!({ "id": made["tokenId"] })).await["__typename"], "RevokeTokenPayload");
    assert_eq!(caller.code(viewer, json!({})).await, "UNAUTHENTICATED");
    app.finish().await;
}
