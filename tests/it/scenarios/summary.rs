//! The stored summary of a task: repaired by whoever reads it, brought up to date before an answer is told to be
//! retryable, and never the authority. May import: the crate, the app, its siblings.

use answerable::dispatch::Outcome;
use serde_json::{Value, json};

use super::stage::*;
use crate::api::scene::*;
use crate::app::{App, Caller};

const TASKS: &str = "{ tasks(first: 10) { edges { node { id pendingAction statusSummaryState statusSummary {
  revision pendingAction foregroundActivity activeSubagentCount activeError { preview } } } } } }";
const REPORT: &str = "mutation($input: ReportActivityInput!) { reportActivity(input: $input) { __typename } }";

const TABLE: &str = "task_status_summaries";

/// The summary as the database has it.
fn stored(app: &App) -> Value {
    let rows = app.home().lines("SELECT summary AS line FROM task_status_summaries");
    serde_json::from_str(&rows[0]).unwrap()
}

async fn listed(caller: &Caller) -> Value {
    let data = caller.call(TASKS, json!({})).await;
    data["tasks"]["edges"][0]["node"].clone()
}

fn revision(task: &Value) -> u64 {
    task["statusSummary"]["revision"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_stale_stored_summary_is_repaired_by_the_read_that_finds_it_and_nothing_else_of_it_moves() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let report = json!({ "input": { "sessionId": scene.session, "activity": "BACKGROUND", "subagentCount": 2 } });
    assert_eq!(local.call(REPORT, report).await["reportActivity"]["__typename"], "TaskPayload");
    let before = listed(&local).await;
    assert_eq!(before["statusSummaryState"], "PRESENT", "{before}");
    app.home().set(TABLE, "summary", "TRUE", &json!({ "pending_action": "clarification", "git": "ahead" }));
    let after = listed(&local).await;
    assert_eq!(after["statusSummaryState"], "PRESENT");
    assert_eq!(revision(&after), revision(&before) + 1);
    let [mut known, mut now] = [before["statusSummary"].clone(), after["statusSummary"].clone()];
    known["revision"].take();
    now["revision"].take();
    assert_eq!(known, now, "nothing is pending, and what was reported stands");
    assert_eq!((&stored(&app)["git"], &stored(&app)["active_subagent_count"]), (&json!("ahead"), &json!(2)));
    assert_eq!(revision(&listed(&local).await), revision(&after), "a summary that holds is left alone");
    app.finish().await;
}

#[tokio::test]
async fn a_summary_that_cannot_be_repaired_is_withdrawn_and_what_is_pending_is_told_all_the_same() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    listed(&local).await;
    app.home().freeze(TABLE);
    ask(&local, &scene.session, questions()).await;
    let task = listed(&local).await;
    assert_eq!((&task["statusSummaryState"], &task["statusSummary"]), (&json!("INVALIDATED"), &Value::Null));
    assert_eq!(task["pendingAction"], "CLARIFICATION");
    app.home().thaw(TABLE);
    assert_eq!(listed(&local).await["statusSummary"]["pendingAction"], "CLARIFICATION");
    app.finish().await;
}

#[tokio::test]
async fn an_answer_is_told_to_be_retryable_when_the_summary_shows_its_question_again() {
    let (app, gate) = gated().await;
    let local = app.local();
    let scene = scene(&local, Some(GATE)).await;
    let id = ask(&local, &scene.session, questions()).await;
    let answering = {
        let (local, id) = (local.clone(), id.clone());
        tokio::spawn(async move { respond(&local, &id, "k", answers()).await })
    };
    gate.called(1).await;
    assert_eq!(
        listed(&local).await["statusSummary"]["pendingAction"],
        Value::Null,
        "the claim is being delivered"
    );
    gate.refuses();
    let failed = answering.await.unwrap();
    assert_eq!((&failed["retryable"], &failed["summaryConverged"]), (&json!(true), &json!(true)), "{failed}");
    assert_eq!(stored(&app)["pending_action"], "clarification", "before anybody read it");
    assert_eq!(pending(&local, &scene).await, only(&id));
    gate.answers(Outcome::Accepted);
    assert_eq!(respond(&local, &id, "k", answers()).await["__typename"], "ResponseAccepted");
    assert_eq!(gate.count(), 2, "one refused, one accepted");
    app.finish().await;
}

#[tokio::test]
async fn an_answer_whose_summary_does_not_converge_is_still_told_to_be_safe_to_retry() {
    let (app, gate) = gated().await;
    let local = app.local();
    let scene = scene(&local, Some(GATE)).await;
    let id = ask(&local, &scene.session, questions()).await;
    listed(&local).await;
    app.home().run("UPDATE task_status_summaries SET summary = '{}'");
    app.home().freeze(TABLE);
    gate.refuses();
    let failed = respond(&local, &id, "k", answers()).await;
    assert_eq!((&failed["retryable"], &failed["summaryConverged"]), (&json!(true), &json!(false)), "{failed}");
    assert_eq!(pending(&local, &scene).await, only(&id));
    gate.answers(Outcome::Accepted);
    assert_eq!(respond(&local, &id, "again", answers()).await["__typename"], "ResponseAccepted");
    app.finish().await;
}
