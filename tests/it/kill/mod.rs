//! `kill -9` at random moments around ask and respond, on the real binary: what was acknowledged is there, and
//! nothing is there by half (INV-12, INV-13, CP-01 to CP-20). May import: the crate, and its siblings.

pub mod server;

use std::time::{Duration, Instant};

use answerable::ids::Position;
use answerable::store::Store;
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};

use crate::home::Home;

use server::{Caller, Server};

/// Kills of one run; a start on PostgreSQL takes longer.
fn kills(home: &Home) -> u32 {
    match home {
        Home::File(_) => 200,
        Home::Postgres(_) => 50,
    }
}
/// Rounds without a kill, which tell how long a round takes on this machine.
const TRIALS: u32 = 5;

pub const ASK: &str = "mutation($session: ID!, $key: String!, $questions: [ClarificationQuestionInput!]!) {
  askClarification(input: { sessionId: $session, clientKey: $key, questions: $questions }) {
    ... on ClarificationOutcome { pendingId status } } }";
pub const AWAIT: &str = "mutation($id: ID!) { awaitClarification(pendingId: $id, waitSeconds: 30) {
    ... on ClarificationOutcome { status answers { text } } } }";
pub const RESPOND: &str = "mutation($input: RespondInput!) { respond(input: $input) { __typename ... on DeliveryFailed { retryable } } }";
const READ: &str = "query($id: ID!) { clarification(pendingId: $id) {
    state questions { status answer { customText } } } }";

/// What one round knows of its bundle.
#[derive(Debug, Default)]
struct Round {
    asked: Option<String>,
    text: String,
    is_accepted: bool,
    heard: Option<String>,
}

pub async fn session(server: &Caller) -> String {
    session_of(server, None).await
}

/// A session of a task of its own, with that executor.
pub async fn session_of(server: &Caller, executor: Option<&str>) -> String {
    let task = "mutation { createTask(input: { title: \"kill\" }) { ... on TaskPayload { taskId } } }";
    let task = server.call(task, json!({})).await.unwrap()["createTask"]["taskId"].clone();
    let session = "mutation($task: ID!, $executor: String) {
        createSession(input: { taskId: $task, executor: $executor }) { ... on SessionPayload { sessionId } } }";
    let session = server.call(session, json!({ "task": task, "executor": executor })).await.unwrap();
    session["createSession"]["sessionId"].as_str().unwrap().to_owned()
}

/// Asks three questions, waits for them and answers them, as far as the server lives.
async fn live(server: Caller, session: String, key: String) -> Round {
    let mut round = Round { text: format!("answer to {key}"), ..Round::default() };
    let questions = json!([{ "prompt": "one?" }, { "prompt": "two?" }, { "prompt": "three?" }]);
    let asked = server.call(ASK, json!({ "session": session, "key": key, "questions": questions })).await;
    let Some(asked) = asked else { return round };
    let id = asked["askClarification"]["pendingId"].as_str().unwrap().to_owned();
    round.asked = Some(id.clone());
    let answers: Vec<_> =
        ["q1", "q2", "q3"].iter().map(|q| json!({ "questionId": q, "customText": round.text })).collect();
    let input = json!({ "pendingId": id, "clientKey": key, "answers": answers });
    let (heard, responded) =
        tokio::join!(server.call(AWAIT, json!({ "id": id })), server.call(RESPOND, json!({ "input": input })),);
    round.heard =
        heard.and_then(|heard| heard["awaitClarification"]["answers"][0]["text"].as_str().map(str::to_owned));
    round.is_accepted = responded.is_some_and(|data| data["respond"]["__typename"] == "ResponseAccepted");
    round
}

/// What the longest of a few whole rounds takes, in microseconds: kills are spread over twice of it.
async fn whole_round_us(server: &Caller, session: &str) -> u64 {
    let mut longest = 0;
    for trial in 0..TRIALS {
        let start = Instant::now();
        let round = live(server.clone(), session.to_owned(), format!("trial {trial}")).await;
        assert!(round.is_accepted && round.heard.as_deref() == Some(&round.text), "{round:?}");
        longest = longest.max(u64::try_from(start.elapsed().as_micros()).unwrap());
    }
    longest
}

/// Everything acknowledged is there; nothing is there by half.
async fn check(server: &Caller, round: &Round) {
    let Some(id) = &round.asked else { return };
    let read = server.call(READ, json!({ "id": id })).await.unwrap()["clarification"].clone();
    let questions =
        read["questions"].as_array().unwrap_or_else(|| panic!("an acknowledged ask is gone: {round:?}"));
    assert_eq!(questions.len(), 3, "{read}");
    let state = read["state"].as_str().unwrap();
    let is_answered = |q: &Value| q["status"] == "ANSWERED" && q["answer"]["customText"] == round.text.as_str();
    let is_pending = |q: &Value| q["status"] == "PENDING" && q["answer"].is_null();
    match state {
        "TERMINAL" => assert!(questions.iter().all(is_answered), "{round:?}: {read}"),
        "ACTIVE_DETACHED" => assert!(questions.iter().all(is_pending), "{round:?}: {read}"),
        other => panic!("{other} after a restart: {round:?}"),
    }
    if round.is_accepted || round.heard.is_some() {
        assert_eq!(state, "TERMINAL", "an acknowledged answer is gone: {round:?}");
    }
    if let Some(heard) = &round.heard {
        assert_eq!(heard, &round.text, "the agent heard another answer");
    }
}

/// What a quiet store holds: no claim, reservation or waiter without an owner, no event that waits.
async fn check_store(home: &Home) {
    let store = Store::open(&home.options()).await.unwrap();
    assert_eq!(store.outbox_unaccepted(Position(0), 10).await.unwrap(), vec![]);
    assert_eq!(store.sessions_to_recover().await.unwrap(), vec![]);
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_and_nothing_is_there_by_half_after_kill_9() {
    let seed = std::env::var("KILL_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("KILL_SEED={seed}");
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed_bytes(seed));
    let home = Home::new();
    let mut server = Server::start(&home.url()).await;
    let session = session(&server.caller()).await;
    let life_us_max = 2 * whole_round_us(&server.caller(), &session).await;
    let (kills, mut asked, mut accepted) = (kills(&home), 0, 0);
    for kill in 0..kills {
        let round = tokio::spawn(live(server.caller(), session.clone(), format!("kill {kill}")));
        tokio::time::sleep(Duration::from_micros(random.next_u64() % life_us_max)).await;
        server.kill().await;
        server = Server::start(&home.url()).await;
        let round = round.await.unwrap();
        asked += u32::from(round.asked.is_some());
        accepted += u32::from(round.is_accepted);
        check(&server.caller(), &round).await;
    }
    println!("kills={kills} asks acknowledged={asked} answers acknowledged={accepted}");
    assert!(asked > 0 && accepted > 0 && accepted < kills, "the kills missed what they were aimed at");
    server.stop().await;
    check_store(&home).await;
}

pub fn seed_bytes(seed: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes
}
