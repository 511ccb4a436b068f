//! Who calls: agents that ask and wait, people who answer and skip, onlookers who read, wait and withdraw. Each has a
//! connection of its own and makes one call after the other. May import: board, calls, follow, history.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::board::{Board, Shown};
use super::calls::{self, Caller, Lost, text, told};
use super::follow::Followers;
use super::history::{Call, History, Told};

const ASKERS: usize = 2;
const RESPONDERS: usize = 4;
const ONLOOKERS: usize = 2;
/// Sessions that an asker has at a time: of the last one nobody but a waiting agent can have the answer.
const SESSIONS: usize = 4;
/// Looks at a bundle before its asker goes on.
const LOOKS_MAX: usize = 4;
/// Questions of which nobody knows whether they were asked, before their asker gives up, and what it waits after each.
const ASKS_MAX: usize = 10;
const ASK_AGAIN: Duration = Duration::from_millis(300);
/// How often one made-up mind is tried.
const TRIES_MAX: u64 = 3;

/// What clients share.
pub struct World {
    pub history: History,
    pub board: Board,
    pub followers: Followers,
    pub address: watch::Receiver<String>,
    pub is_over: AtomicBool,
}

impl World {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }
}

pub fn random(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

/// All of them, until the world is over.
pub fn begin(world: &Arc<World>, random: &mut TestRng) -> Vec<JoinHandle<()>> {
    let mut client = |name: String| Client {
        caller: Caller::new(world.address.clone()),
        world: Arc::clone(world),
        random: self::random(random.next_u64()),
        name,
        count: 0,
    };
    let mut tasks = Vec::new();
    tasks.extend((0..ASKERS).map(|number| tokio::spawn(client(format!("asker{number}")).ask_on())));
    tasks.extend((0..RESPONDERS).map(|number| tokio::spawn(client(format!("person{number}")).respond_on())));
    tasks.extend((0..ONLOOKERS).map(|number| tokio::spawn(client(format!("onlooker{number}")).look_on())));
    tasks
}

/// The last look at every bundle, and how it stands.
pub async fn look_at_all(world: &Arc<World>) -> Vec<(String, Told)> {
    let (caller, world) = (Caller::new(world.address.clone()), Arc::clone(world));
    let mut client = Client { caller, world, random: random(0), name: "last".into(), count: 0 };
    let mut seen = Vec::new();
    for (key, known) in client.world.board.known() {
        let told = client.about(&key, Call::Read, calls::READ, json!({ "id": known.pending_id })).await;
        seen.push((key, told));
    }
    seen
}

struct Client {
    caller: Caller,
    world: Arc<World>,
    random: TestRng,
    name: String,
    count: usize,
}

impl Client {
    fn chance(&mut self, of_hundred: u64) -> bool {
        self.random.next_u64() % 100 < of_hundred
    }

    async fn rest(&mut self, at_most_ms: u64) {
        sleep(Duration::from_micros(self.random.next_u64() % (at_most_ms * 1_000))).await;
    }

    fn new_key(&mut self) -> String {
        self.count += 1;
        format!("{} {}", self.name, self.count)
    }

    /// One call about a bundle, written down.
    async fn about(&mut self, bundle: &str, call: Call, query: &str, variables: Value) -> Told {
        let invoked_ns = self.world.history.now_ns();
        let result = self.caller.call(query, variables).await;
        self.write_down(bundle, call, invoked_ns, told(result)).await
    }

    async fn write_down(&mut self, bundle: &str, call: Call, invoked_ns: u64, told: Told) -> Told {
        self.world.history.record(&self.name, bundle, call, invoked_ns, told.clone());
        if matches!(told, Told::Info(_) | Told::Fail(_)) {
            sleep(Duration::from_millis(20)).await;
        }
        if is_decided(&told) {
            self.world.board.decided(bundle);
        }
        told
    }

    // An agent.

    async fn ask_on(mut self) {
        let mut sessions: Vec<Option<String>> = vec![None; SESSIONS];
        while self.world.goes_on() {
            let place = usize::try_from(self.random.next_u64()).unwrap_or(0) % SESSIONS;
            let session = match sessions[place].take() {
                Some(session) => session,
                None => match self.begin_session(place + 1 < SESSIONS).await {
                    Ok(session) => session,
                    Err(_) => continue,
                },
            };
            sessions[place] = self.round(&session, place).await.then_some(session);
        }
    }

    async fn begin_session(&mut self, has_executor: bool) -> Result<String, Lost> {
        let lost = |lost| async {
            sleep(Duration::from_millis(20)).await;
            lost
        };
        let task = match self.caller.call(calls::TASK, json!({})).await {
            Ok(task) => text(&task["taskId"]).unwrap_or_default(),
            Err(error) => return Err(lost(error).await),
        };
        let variables = json!({ "task": task, "executor": has_executor.then_some("agent") });
        let session = match self.caller.call(calls::SESSION, variables).await {
            Ok(session) => text(&session["sessionId"]).unwrap_or_default(),
            Err(error) => return Err(lost(error).await),
        };
        self.caller.call(calls::TURN, json!({ "session": session })).await?;
        self.world.followers.follow(&self.world, &session);
        Ok(session)
    }

    /// One bundle from its question on; whether its session can have another.
    async fn round(&mut self, session: &str, place: usize) -> bool {
        let key = self.new_key();
        let Some(id) = self.ask(session, &key).await else { return false };
        self.world.board.show(&key, &id, session);
        if self.chance(10) {
            return self.of_session(&key, Call::NewTurn, calls::TURN, session).await;
        }
        if self.chance(3) {
            self.of_session(&key, Call::End, calls::END, session).await;
            return false;
        }
        // Where nobody can be called, an answer that nobody waits for is given back after a while.
        let is_alone = place + 1 == SESSIONS && self.chance(50);
        let waits = place % 2 == 1 && !is_alone;
        for _ in 0..LOOKS_MAX {
            let told = match waits {
                true => self.about(&key, Call::Wait, calls::WAIT, json!({ "id": id })).await,
                false => self.about(&key, Call::Read, calls::READ, json!({ "id": id })).await,
            };
            if is_decided(&told) {
                return !matches!(&told, Told::Seen(seen) if seen.outcome == "EXPIRED");
            }
            self.rest(if is_alone { 400 } else { 40 }).await;
        }
        self.of_session(&key, Call::NewTurn, calls::TURN, session).await
    }

    /// Asks until it is told the id, or was left without a word too often.
    async fn ask(&mut self, session: &str, key: &str) -> Option<String> {
        let mut unknown = 0;
        while self.world.goes_on() && unknown < ASKS_MAX {
            let invoked_ns = self.world.history.now_ns();
            let result = self.caller.call(calls::ASK, json!({ "session": session, "key": key })).await;
            let id = result.as_ref().ok().and_then(|data| text(&data["pendingId"]));
            let told = self.write_down(key, Call::Ask, invoked_ns, told(result)).await;
            match told {
                Told::Info(_) => {
                    unknown += 1;
                    sleep(ASK_AGAIN).await;
                }
                Told::Fail(_) => {}
                _ => return id,
            }
        }
        None
    }

    /// A call about the whole session. One of which nobody knows may come late, and would then meet the next bundle:
    /// the session has none.
    async fn of_session(&mut self, bundle: &str, call: Call, query: &str, session: &str) -> bool {
        let told = self.about(bundle, call, query, json!({ "session": session })).await;
        match told {
            Told::Done => true,
            Told::Refused(reason) => reason == "TURN_IN_PROGRESS",
            _ => false,
        }
    }

    // A person.

    async fn respond_on(mut self) {
        while self.world.goes_on() {
            self.rest(6).await;
            let Some(bundle) = self.next().await else { continue };
            let key = self.new_key();
            let is_skip = self.chance(20);
            for _ in 0..TRIES_MAX {
                let told = self.respond(&bundle, &key, is_skip).await;
                let may_go_on = matches!(&told, Told::Info(_) | Told::Failed { is_retryable: true, .. });
                if !may_go_on || self.chance(40) || !self.world.goes_on() {
                    break;
                }
            }
        }
    }

    async fn next(&mut self) -> Option<Shown> {
        let shown = self.world.board.give(self.random.next_u64());
        if shown.is_none() {
            sleep(Duration::from_millis(2)).await;
        }
        shown
    }

    async fn respond(&mut self, bundle: &Shown, key: &str, is_skip: bool) -> Told {
        let (call, query) = match is_skip {
            true => (Call::Skip(key.to_owned()), calls::SKIP),
            false => (Call::Answer(key.to_owned()), calls::ANSWER),
        };
        self.about(&bundle.key, call, query, json!({ "id": bundle.pending_id, "key": key })).await
    }

    // An onlooker.

    async fn look_on(mut self) {
        while self.world.goes_on() {
            let Some(bundle) = self.next().await else { continue };
            let id = json!({ "id": bundle.pending_id });
            match self.random.next_u64() % 100 {
                0..5 => drop(self.about(&bundle.key, Call::Cancel, calls::CANCEL, id).await),
                // What is paused stays answerable: nothing of the model moves.
                5..7 => drop(self.caller.call(calls::PAUSE, json!({ "session": bundle.session })).await),
                7..12 => drop(self.about(&bundle.key, Call::Wait, calls::WAIT, id).await),
                _ => drop(self.about(&bundle.key, Call::Read, calls::READ, id).await),
            }
        }
    }
}

/// No response will be taken any more.
fn is_decided(told: &Told) -> bool {
    match told {
        Told::Accepted { .. } => true,
        Told::Conflict { reason, .. } => reason != "DELIVERY_CLAIMED",
        Told::Seen(seen) => seen.outcome != "PENDING",
        _ => false,
    }
}
