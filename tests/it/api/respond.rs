//! Answering and skipping: what the agent hears, and how the domain says no.
//! May import: the crate, the app, its siblings.

use answerable::dispatch::{Revocation, Script};
use serde_json::json;

use super::scene::*;
use crate::app::{App, EXECUTOR};

#[tokio::test]
async fn a_waiting_agent_hears_exactly_what_was_answered_in_the_same_turn() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let id = ask(&local, &scene.session, questions()).await;
    let waiting = wait(&local, &id).await;
    let responded = respond(&local, &id, "k", answers()).await;
    assert_eq!(responded["__typename"], "ResponseAccepted", "{responded}");
    assert_eq!(responded["replayed"], false);
    assert!(responded["dispatchedTurn"].is_null());
    assert_eq!(responded["clarification"], json!({ "state": "TERMINAL", "outcome": "ANSWERED" }));
    let heard = waiting.await.unwrap();
    assert_eq!(heard["status"], "ANSWERED");
    let expected = json!([
        { "questionId": "q1", "selected": ["right"], "text": null },
        { "questionId": "q2", "selected": ["a", "c"], "text": "and more" },
        { "questionId": "q3", "selected": [], "text": "because" },
    ]);
    assert_eq!(heard["answers"], expected);
    let session = local
        .ask_for(
            "query($id: ID!) { session(id: $id) { currentTurn { id } projection { action } } }",
            json!({ "id": scene.session }),
        )
        .await;
    assert_eq!(session["currentTurn"]["id"], scene.turn.as_str());
    assert!(session["projection"]["action"].is_null());
    app.finish().await;
}

#[tokio::test]
async fn a_waiting_agent_hears_a_skip_with_its_reason() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let id = ask(&local, &scene.session, questions()).await;
    let waiting = wait(&local, &id).await;
    let skipped = skip(&local, &id, "k", "not now").await;
    assert_eq!(skipped["clarification"]["response"], json!({ "status": "REJECTED", "rejectReason": "not now" }));
    let heard = waiting.await.unwrap();
    assert_eq!((heard["status"].as_str(), heard["rejectReason"].as_str()), (Some("REJECTED"), Some("not now")));
    app.finish().await;
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_is_dispatched_once_and_starts_a_turn() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, Some(EXECUTOR)).await;
    let id = ask(&local, &scene.session, questions()).await;
    let responded = respond(&local, &id, "k", answers()).await;
    assert_eq!(responded["__typename"], "ResponseAccepted", "{responded}");
    let again = respond(&local, &id, "k", answers()).await;
    assert_eq!((&again["replayed"], &again["dispatchedTurn"]), (&json!(true), &responded["dispatchedTurn"]));
    let seen = app.executor.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(responded["dispatchedTurn"]["id"], seen[0].turn_id.as_str());
    for part in ["right", "a; c", "and more", "because"] {
        assert!(seen[0].prompt.contains(part), "{part}: {}", seen[0].prompt);
    }
    let turns = local
        .ask_for(
            "query($id: ID!) { session(id: $id) { currentTurn { id dispatchOutcome }
        turns(first: 10) { edges { node { id end } } } } }",
            json!({ "id": scene.session }),
        )
        .await;
    assert_eq!(turns["currentTurn"], json!({ "id": seen[0].turn_id.as_str(), "dispatchOutcome": "ACCEPTED" }));
    assert_eq!(turns["turns"]["edges"][0]["node"]["id"], scene.turn.as_str());
    app.finish().await;
}

#[tokio::test]
async fn a_refused_dispatch_gives_the_question_back_and_the_same_answer_can_be_sent_again() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, Some(EXECUTOR)).await;
    let id = ask(&local, &scene.session, questions()).await;
    for (script, code) in [(Script::Reject, "REJECTED"), (Script::Hang(Revocation::Revoked), "REJECTED")] {
        app.executor.follow([script]);
        let failed = respond(&local, &id, "k", answers()).await;
        assert_eq!(failed["__typename"], "DeliveryFailed", "{failed}");
        assert_eq!((&failed["retryable"], failed["code"].as_str()), (&json!(true), Some(code)));
        assert_eq!(failed["clarification"]["state"], "ACTIVE_DETACHED");
    }
    assert_eq!(respond(&local, &id, "k", answers()).await["__typename"], "ResponseAccepted");
    app.finish().await;
}

#[tokio::test]
async fn a_dispatch_of_unknown_fate_is_never_sent_again_and_an_operator_can_settle_it() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, Some(EXECUTOR)).await;
    let id = ask(&local, &scene.session, questions()).await;
    app.executor.follow([Script::Unknown]);
    let failed = respond(&local, &id, "k", answers()).await;
    assert_eq!((&failed["retryable"], failed["code"].as_str()), (&json!(false), Some("UNKNOWN")), "{failed}");
    for key in ["k", "another"] {
        assert_ne!(respond(&local, &id, key, answers()).await["__typename"], "ResponseAccepted");
    }
    assert_eq!(app.executor.seen().len(), 1);
    let list = "query { ambiguousDispatches(first: 10) { id dispatchOutcome } }";
    let found = local.ask_for(list, json!({})).await;
    assert_eq!(found[0]["dispatchOutcome"], "UNKNOWN");
    let settle = "mutation($id: ID!) { resolveAmbiguousDispatch(turnId: $id, wasAccepted: true) { __typename
        ... on ResolveAmbiguousDispatchPayload { turn { dispatchOutcome } } } }";
    let settled = local.ask_for(settle, json!({ "id": found[0]["id"] })).await;
    assert_eq!(settled["turn"]["dispatchOutcome"], "ACCEPTED");
    assert_eq!(local.ask_for(list, json!({})).await, json!([]));
    app.finish().await;
}

#[tokio::test]
async fn invalid_answers_are_refused_by_name_and_nothing_is_written() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, Some(EXECUTOR)).await;
    let id = ask(&local, &scene.session, questions()).await;
    let with = |n: usize, answer: serde_json::Value| {
        let mut all = answers();
        all[n] = answer;
        all
    };
    let cases = [
        (with(0, json!({ "questionId": "q9", "optionIds": [] })), "UNKNOWN"),
        (with(0, json!({ "questionId": "q1", "optionIds": ["q1_opt9"] })), "UNKNOWN"),
        (with(0, json!({ "questionId": "q1", "optionIds": ["q1_opt1", "q1_opt2"] })), "TOO_MANY"),
        (with(0, json!({ "questionId": "q1", "customText": "no text here" })), "NOT_ALLOWED"),
        (with(1, json!({ "questionId": "q2", "optionIds": [] })), "REQUIRED"),
        (with(2, json!({ "questionId": "q2", "customText": "twice" })), "DUPLICATE"),
        (with(2, json!({ "questionId": "q3", "customText": "x".repeat(2_001) })), "TOO_LONG"),
        (json!([{ "questionId": "q1", "optionIds": ["q1_opt1"] }]), "REQUIRED"),
    ];
    for (answers, code) in cases {
        let refused = respond(&local, &id, "k", answers.clone()).await;
        assert_eq!(refused["__typename"], "InvalidResponse", "{answers}");
        let errors = refused["errors"].as_array().unwrap();
        assert!(errors.iter().any(|error| error["code"] == code), "{code}: {refused}");
        assert!(errors.iter().all(|error| error["path"].as_str().unwrap().starts_with("answers")), "{refused}");
    }
    let long = skip(&local, &id, "k", &"x".repeat(2_001)).await;
    assert_eq!(long["errors"][0], json!({ "path": "reason", "code": "TOO_LONG", "limit": 2_000 }), "{long}");
    assert_eq!(clarification(&local, &id).await["state"], "ACTIVE_DETACHED");
    assert!(app.executor.seen().is_empty());
    app.finish().await;
}

#[tokio::test]
async fn a_key_is_replayed_with_its_body_and_refused_with_another() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let id = ask(&local, &scene.session, questions()).await;
    assert_eq!(skip(&local, &id, "k", "a").await["replayed"], false);
    assert_eq!(skip(&local, &id, "k", "a").await["replayed"], true);
    assert_eq!(skip(&local, &id, "k", "b").await["refusal"], "KEY_REUSED");
    assert_eq!(respond(&local, &id, "k", answers()).await["refusal"], "KEY_REUSED");
    assert_eq!(skip(&local, &id, "other", "a").await["reason"], "TERMINAL");
    app.finish().await;
}

#[tokio::test]
async fn each_reason_of_a_conflict_is_told_before_the_input_is_looked_at() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let bad = json!([{ "questionId": "nonsense" }]);
    let decided = ask(&local, &scene.session, questions()).await;
    skip(&local, &decided, "k", "").await;
    let conflict = respond(&local, &decided, "k2", bad.clone()).await;
    assert_eq!(
        (conflict["__typename"].as_str(), conflict["reason"].as_str()),
        (Some("ResponseConflict"), Some("TERMINAL"))
    );
    assert_eq!(conflict["winner"], json!({ "respondedBy": "local", "status": "REJECTED" }));

    let old = ask(&local, &scene.session, json!([{ "prompt": "old?" }])).await;
    let input =
        json!({ "input": { "pendingId": old, "clientKey": "k", "answers": [], "expectedTurnId": "another" } });
    assert_eq!(local.ask_for(RESPOND, input).await["reason"], "EXPECTED_TURN_CHANGED");
    let turn = start_turn(&local, &scene.session).await;
    let superseded = respond(&local, &old, "k", bad.clone()).await;
    assert_eq!((superseded["reason"].as_str(), &superseded["winner"]), (Some("SUPERSEDED"), &json!(null)));
    let shown = clarification(&local, &old).await;
    assert_eq!(
        (shown["state"].as_str(), shown["supersededBy"]["id"].as_str()),
        (Some("SUPERSEDED_HISTORY"), Some(turn.as_str()))
    );
    assert_eq!((&shown["canRespond"], &shown["canSkip"]), (&json!(false), &json!(false)));

    let last = ask(&local, &scene.session, json!([{ "prompt": "last?" }])).await;
    local.ask_for(SET_STATE, json!({ "id": scene.session, "state": "FAILED" })).await;
    assert_eq!(respond(&local, &last, "k", bad).await["reason"], "SESSION_ENDED");
    assert_eq!(clarification(&local, &last).await["outcome"], "EXPIRED");
    app.finish().await;
}

#[tokio::test]
async fn what_is_absent_is_not_found() {
    let app = App::start().await;
    let local = app.local();
    assert_eq!(respond(&local, "nothing", "k", answers()).await["__typename"], "NotFound");
    assert_eq!(skip(&local, "nothing", "k", "").await["__typename"], "NotFound");
    assert!(clarification(&local, "nothing").await.is_null());
    app.finish().await;
}

#[tokio::test]
async fn asking_again_is_the_same_bundle_and_learns_its_recorded_outcome() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let ask = |key: &str, prompt: &str| {
        json!({ "input": { "sessionId": scene.session, "clientKey": key,
        "questions": [{ "prompt": prompt }] } })
    };
    let first = local.ask_for(ASK, ask("k", "one?")).await;
    let again = local.ask_for(ASK, ask("k", "one?")).await;
    assert_eq!((&first["isNew"], &again["isNew"]), (&json!(true), &json!(false)));
    assert_eq!(first["pendingId"], again["pendingId"]);
    assert_eq!(local.ask_for(ASK, ask("k", "two?")).await["refusal"], "KEY_REUSED");
    skip(&local, first["pendingId"].as_str().unwrap(), "s", "no").await;
    let learned = local.ask_for(ASK, ask("k", "one?")).await;
    assert_eq!((learned["status"].as_str(), learned["rejectReason"].as_str()), (Some("REJECTED"), Some("no")));
    app.finish().await;
}
