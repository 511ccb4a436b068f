//! The table of outcomes, each with an agent that does it. May import: the crate, the scene, the stage.

use std::time::Duration;

use serde_json::json;

use super::stage::Stage;

/// A prompt that leaves has this long to be taken, the agent's start included.
const SHORT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_detached_answer_reaches_the_agent_once_with_what_was_selected_and_written() {
    let stage = Stage::start(&[], |_| {}).await;
    let pending = stage.detached().await;
    let responded = stage.respond(&pending, "k", "because").await;
    assert_eq!(responded["__typename"], "ResponseAccepted", "{responded}");
    let prompt = stage.journal().until("prompt", 1).await[0]["text"].as_str().unwrap().to_owned();
    for part in ["Selected: right\n", "Selected: a; c\n", "<<<\nand more\n>>>", "<<<\nbecause\n>>>"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert_eq!(stage.respond(&pending, "k", "because").await["replayed"], true);
    // It acknowledged by each of its updates; the pieces are one message.
    let seen = stage.ended("COMPLETED").await;
    assert_eq!((&seen["state"], &seen["currentTurn"]["id"]), (&json!("IDLE"), &responded["dispatchedTurn"]["id"]));
    assert_eq!(stage.said("agent").await.last().unwrap(), "one two");
    assert_eq!(stage.prompts(), 1);
    stage.app.finish().await;
}

#[tokio::test]
async fn an_answer_that_the_agent_refuses_is_given_back() {
    let stage = Stage::start(&[], |_| {}).await;
    let pending = stage.detached().await;
    let refused = stage.respond(&pending, "one", "do:refuse").await;
    assert_eq!((&refused["code"], &refused["retryable"]), (&json!("REJECTED"), &json!(true)), "{refused}");
    assert_eq!(stage.state(&pending).await, "ACTIVE_DETACHED");
    assert_eq!(stage.respond(&pending, "two", "now").await["__typename"], "ResponseAccepted");
    assert_eq!((stage.prompts(), stage.journal().of("start").len()), (2, 1));
    stage.ended("COMPLETED").await;
    stage.app.finish().await;
}

#[tokio::test]
async fn an_agent_that_cannot_be_prompted_took_nothing() {
    for start in ["exit", "hang"] {
        let bound = |options: &mut answerable::serve::Options| {
            options.acp.open = Duration::from_secs(if start == "hang" { 1 } else { 30 });
        };
        let stage = Stage::start(&[("PEER_START", start)], bound).await;
        let pending = stage.detached().await;
        let refused = stage.respond(&pending, "one", "go").await;
        assert_eq!((&refused["code"], &refused["retryable"]), (&json!("REJECTED"), &json!(true)), "{refused}");
        assert_eq!((stage.state(&pending).await, stage.prompts()), (json!("ACTIVE_DETACHED"), 0));
        stage.app.finish().await;
    }
}

#[tokio::test]
async fn a_prompt_that_waits_for_its_agent_past_the_deadline_is_taken_back() {
    let stage = Stage::start(&[("PEER_START", "hang")], |options| {
        options.limits.dispatch = Duration::from_secs(1);
    })
    .await;
    let pending = stage.detached().await;
    let revoked = stage.respond(&pending, "one", "go").await;
    assert_eq!((&revoked["code"], &revoked["retryable"]), (&json!("REJECTED"), &json!(true)), "{revoked}");
    assert_eq!((stage.state(&pending).await, stage.prompts()), (json!("ACTIVE_DETACHED"), 0));
    stage.app.finish().await;
}

#[tokio::test]
async fn a_prompt_that_was_sent_and_met_no_sign_of_life_is_unknown_and_not_sent_again() {
    for words in ["do:hang", "do:commands"] {
        let stage = Stage::start(&[], |options| options.limits.dispatch = SHORT).await;
        let pending = stage.detached().await;
        let lost = stage.respond(&pending, "one", words).await;
        assert_eq!((&lost["code"], &lost["retryable"]), (&json!("UNKNOWN"), &json!(false)), "{words}: {lost}");
        assert_eq!(stage.state(&pending).await, "TERMINAL");
        assert_ne!(stage.respond(&pending, "two", "again").await["__typename"], "ResponseAccepted");
        assert_eq!(stage.prompts(), 1);
        stage.app.finish().await;
    }
}

#[tokio::test]
async fn a_late_acknowledgement_changes_no_outcome_and_the_work_is_shown() {
    let late = (2 * SHORT.as_millis()).to_string();
    let stage = Stage::start(&[("PEER_LATE_MS", late.as_str())], |options| options.limits.dispatch = SHORT).await;
    let pending = stage.detached().await;
    let lost = stage.respond(&pending, "one", "do:late").await;
    assert_eq!(lost["code"], "UNKNOWN", "{lost}");
    let seen = stage.ended("COMPLETED").await;
    assert_eq!(seen["currentTurn"]["dispatchOutcome"], "UNKNOWN");
    assert_eq!(stage.said("agent").await.last().unwrap(), "late");
    assert_eq!((stage.state(&pending).await, stage.prompts()), (json!("TERMINAL"), 1));
    stage.app.finish().await;
}

#[tokio::test]
async fn an_agent_that_dies_with_the_prompt_leaves_it_unknown_and_its_session_open_for_another() {
    let stage = Stage::start(&[], |_| {}).await;
    let pending = stage.detached().await;
    let lost = stage.respond(&pending, "one", "do:vanish").await;
    assert_eq!((&lost["code"], &lost["retryable"]), (&json!("UNKNOWN"), &json!(false)), "{lost}");
    let seen = stage.ended("CANCELLED").await;
    assert_eq!(seen["currentTurn"]["dispatchOutcome"], "UNKNOWN");
    assert_eq!(stage.prompts(), 1);
    assert_eq!(stage.prompt("next", "go on").await["__typename"], "PromptAccepted");
    assert_eq!((stage.prompts(), stage.journal().of("start").len()), (2, 2));
    stage.ended("COMPLETED").await;
    stage.app.finish().await;
}

#[tokio::test]
async fn an_agent_of_the_second_version_takes_a_prompt_by_its_answer_and_is_done_when_it_rests() {
    let stage = Stage::start_draft(|_| {}).await;
    let pending = stage.detached().await;
    let refused = stage.respond(&pending, "one", "do:refuse").await;
    assert_eq!((&refused["code"], &refused["retryable"]), (&json!("REJECTED"), &json!(true)), "{refused}");
    let responded = stage.respond(&pending, "two", "because").await;
    assert_eq!(responded["__typename"], "ResponseAccepted", "{responded}");
    stage.ended("COMPLETED").await;
    assert_eq!(stage.said("agent").await.last().unwrap(), "half and half");
    assert_eq!((stage.prompts(), stage.journal().of("start").len()), (2, 1));
    stage.app.finish().await;
}

#[tokio::test]
async fn work_of_the_second_version_proves_no_acceptance_without_the_answer() {
    let stage = Stage::start_draft(|options| options.limits.dispatch = SHORT).await;
    let pending = stage.detached().await;
    let lost = stage.respond(&pending, "one", "do:silent").await;
    assert_eq!((&lost["code"], &lost["retryable"]), (&json!("UNKNOWN"), &json!(false)), "{lost}");
    assert_eq!((stage.state(&pending).await, stage.prompts()), (json!("TERMINAL"), 1));
    stage.app.finish().await;
}
