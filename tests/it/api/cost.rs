//! How many statements a response takes: a fixed number, however long its session's history is.
//! May import: the crate, the app, its siblings.

use std::time::Duration;

use answerable::serve::Options;
use serde_json::{Value, json};

use super::scene::*;
use crate::app::{App, Caller, EXECUTOR};

/// The relay beside a response looks once or several times, as events come; the least of so many rounds counts.
const ROUNDS: usize = 3;

/// Nothing looks by itself: what is counted is what the test causes.
pub fn quiet(options: &mut Options) {
    options.pace.period = Duration::from_secs(600);
    // What the bus took is written down in one go, however far apart its events came.
    options.pace.settle = Duration::from_millis(200);
    options.limits.poll = Duration::from_secs(600);
    options.limits.watchdog_period = Duration::from_secs(600);
}

/// Statements that a request makes, beside the one that identifies its caller.
pub async fn cost(app: &App, query: &str, variables: Value) -> u64 {
    let before = app.authority().store().statement_count();
    app.local().call(query, variables).await;
    app.authority().store().statement_count() - before - 1
}

/// Until nothing runs beside the test, so that its statements can be counted.
pub async fn settle(app: &App) {
    let mut last = 0;
    loop {
        let now = app.authority().store().statement_count();
        if now == last {
            return;
        }
        last = now;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// A history that a response must not read.
async fn talk(local: &Caller, session: &str) {
    let append = "mutation($id: ID!) { appendMessage(input: { sessionId: $id, content: \"x\" }) { __typename } }";
    for n in 0..20 {
        local.call(append, json!({ "id": session })).await;
        let old = ask(local, session, json!([{ "prompt": format!("old {n}?") }])).await;
        skip(local, &old, "k", "").await;
    }
}

/// What a response costs with all that it sets off, in sessions without and with a history.
async fn costs(is_awaited: bool, mutation: &str, input: Value) -> [u64; 2] {
    let app = App::start_with(quiet).await;
    let local = app.local();
    let mut counts = [0; 2];
    for (n, count) in counts.iter_mut().enumerate() {
        let scene = scene(&local, (!is_awaited).then_some(EXECUTOR)).await;
        if n == 1 {
            talk(&local, &scene.session).await;
        }
        *count = u64::MAX;
        for round in 0..ROUNDS {
            let mut asked = questions();
            asked[0]["prompt"] = json!(format!("round {round}?"));
            let id = ask(&local, &scene.session, asked).await;
            let waiting = if is_awaited { Some(wait(&local, &id).await) } else { None };
            settle(&app).await;
            let mut input = input.clone();
            input["pendingId"] = json!(id);
            let before = app.authority().store().statement_count();
            let told = local.ask_for(mutation, json!({ "input": input })).await;
            assert_eq!(told["__typename"], "ResponseAccepted", "{told}");
            if let Some(waiting) = waiting {
                waiting.await.unwrap();
            }
            settle(&app).await;
            *count = (*count).min(app.authority().store().statement_count() - before);
        }
    }
    app.finish().await;
    counts
}

/// Counted with the waiter's confirmation, its receipt and the relay.
fn assert_fixed(what: &str, counts: [u64; 2], most: u64) {
    println!("statements of {what}: {counts:?}");
    assert!(counts.iter().all(|count| *count <= most), "{what}: {counts:?}");
    assert!(counts[0].abs_diff(counts[1]) <= 8, "{what} reads its session's history: {counts:?}");
}

const PLAIN_RESPOND: &str = "mutation($input: RespondInput!) { respond(input: $input) { __typename } }";
const PLAIN_SKIP: &str = "mutation($input: SkipInput!) { skip(input: $input) { __typename } }";

#[tokio::test]
async fn a_skip_takes_a_fixed_number_of_statements() {
    let input = json!({ "clientKey": "k", "reason": "" });
    assert_fixed("a detached skip", costs(false, PLAIN_SKIP, input.clone()).await, 40);
    assert_fixed("a live skip", costs(true, PLAIN_SKIP, input).await, 80);
}

#[tokio::test]
async fn an_answer_that_an_agent_waits_for_takes_a_fixed_number_of_statements() {
    let input = json!({ "clientKey": "k", "answers": answers() });
    assert_fixed("a live answer", costs(true, PLAIN_RESPOND, input).await, 80);
}

#[tokio::test]
async fn an_answer_that_is_dispatched_takes_a_fixed_number_of_statements() {
    let input = json!({ "clientKey": "k", "answers": answers() });
    assert_fixed("a dispatched answer", costs(false, PLAIN_RESPOND, input).await, 100);
}
