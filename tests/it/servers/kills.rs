//! Two servers under load of which one dies every few seconds and comes back, at once or late. Agents ask at either and
//! wait at either, two people answer each question at once, each at another server, and go on where a server went away.
//! What was promised is looked at after each round and at the end. `SERVER_KILLS_SECONDS` says for how long.
//! May import: the crate, its siblings.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use answerable::ids::{Position, SessionId};
use answerable::ports::{Clock as _, System};
use answerable::store::{PostgresOptions, Store};
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::kill::server::Caller;
use crate::kill::{ASK, AWAIT, RESPOND, seed_bytes, session_of};
use crate::postgres::Database;
use crate::webhook::{KEY, NAME};

use super::stream::Stream;
use super::{LAPSE_MS, answer, asking, is_asked, start};

const SECONDS: u64 = 40;
/// Sessions with an agent that waits, and as many whose answers are dispatched.
const AGENTS: usize = 3;
/// Everything that somebody goes on trying is through by then, deaths included.
const BOUND: Duration = Duration::from_secs(90);

const RECORDED: &str =
    "query($id: ID!) { clarification(pendingId: $id) { state questions { answer { customText } } } }";

/// Where the servers are, as clients know it.
#[derive(Clone)]
struct Servers(Arc<Mutex<[Caller; 2]>>);

impl Servers {
    fn at(&self, number: usize) -> Caller {
        self.0.lock().unwrap()[number % 2].clone()
    }

    /// Calls one server and the other in turn until there is an answer that satisfies.
    async fn until(&self, first: usize, query: &str, variables: &Value, is_it: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        for number in first.. {
            let told = self.at(number).try_call(query, variables).await;
            match told {
                Ok(data) if is_it(&data) => return data,
                _ => assert!(begun.elapsed() < BOUND, "{query} {variables}: {told:?}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        unreachable!()
    }
}

/// Takes every dispatch and counts them by bundle.
#[derive(Clone, Default)]
struct Receiver(Arc<Mutex<HashMap<String, u32>>>);

impl Receiver {
    async fn listen(&self) -> NamedTempFile {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let own = self.clone();
        let take = move |headers: HeaderMap, body: Bytes| async move {
            standardwebhooks::Webhook::new(KEY).unwrap().verify(&body, &headers).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            let id = body["data"]["pendingId"].as_str().unwrap().to_owned();
            *own.0.lock().unwrap().entry(id).or_default() += 1;
            StatusCode::ACCEPTED
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(take)).await.unwrap() });
        let file = NamedTempFile::with_suffix(".toml").unwrap();
        let settings = format!(
            "[executors.{NAME}]\nkind = \"webhook\"\nurl = \"http://{address}/\"\nsecret = \"{KEY}\"\nallow_private = true\n"
        );
        std::fs::write(file.path(), settings).unwrap();
        file
    }
}

struct World {
    servers: Servers,
    receiver: Receiver,
    is_over: AtomicBool,
    /// Nobody does anything any more.
    is_quiet: AtomicBool,
    rounds: AtomicU32,
    unknown: AtomicU32,
}

impl World {
    /// One agent's life.
    async fn live(self: Arc<Self>, number: usize, is_dispatched: bool, mut random: TestRng) {
        let session = session_of(&self.servers.at(number), is_dispatched.then_some(NAME)).await;
        let mut round = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            let place = usize::try_from(random.next_u64() % 2).unwrap();
            let key = format!("{number} {round}");
            self.round(&session, &key, place, is_dispatched).await;
            self.rounds.fetch_add(1, Ordering::Relaxed);
            round += 1;
        }
    }

    async fn round(&self, session: &str, key: &str, place: usize, is_dispatched: bool) {
        let asked = self.servers.until(place, ASK, &asking(session, key), is_asked).await;
        let id = asked["askClarification"]["pendingId"].as_str().unwrap();
        let (one, two) = (format!("{key} one"), format!("{key} two"));
        let (heard, first, second) = tokio::join!(
            self.wait(id, place, is_dispatched),
            self.respond(id, &one, 0),
            self.respond(id, &two, 1),
        );
        let told = [(first, &one), (second, &two)];
        let accepted: Vec<_> = told.iter().filter(|(told, _)| told == "ResponseAccepted").collect();
        let is_unknown = told.iter().any(|(told, _)| told == "DeliveryFailed");
        let is_seen = |data: &Value| data["clarification"]["state"] == "TERMINAL";
        let read = self.servers.until(place, RECORDED, &json!({ "id": id }), is_seen).await;
        let recorded = &read["clarification"]["questions"][0]["answer"]["customText"];
        assert!(accepted.len() == 1 || (accepted.is_empty() && is_unknown), "{id}: {told:?}");
        assert!(accepted.iter().all(|(_, text)| recorded == text.as_str()), "{id}: {told:?} {read}");
        match heard {
            Some(heard) => assert_eq!(&heard, recorded, "{id}: the agent heard another answer"),
            None => {
                let posted = self.receiver.0.lock().unwrap().get(id).copied().unwrap_or_default();
                assert!(posted == 1 || (posted == 0 && is_unknown), "{id}: dispatched {posted} times, {told:?}");
            }
        }
        self.unknown.fetch_add(u32::from(is_unknown), Ordering::Relaxed);
    }

    /// What the agent hears; none where it does not wait.
    async fn wait(&self, id: &str, place: usize, is_dispatched: bool) -> Option<Value> {
        if is_dispatched {
            return None;
        }
        let is_heard = |data: &Value| data["awaitClarification"]["status"] == "ANSWERED";
        let heard = self.servers.until(place, AWAIT, &json!({ "id": id }), is_heard).await;
        Some(heard["awaitClarification"]["answers"][0]["text"].clone())
    }

    /// A person who sends the same again until it is told what became of it.
    async fn respond(&self, id: &str, text: &str, place: usize) -> String {
        let is_final = |data: &Value| data["respond"]["retryable"] != true;
        let told = self.servers.until(place, RESPOND, &answer(id, text), is_final).await;
        told["respond"]["__typename"].as_str().unwrap().to_owned()
    }

    /// Somebody who follows at one server and goes on at the other where it ended; the last cursor.
    async fn follow(self: Arc<Self>, mut place: usize) -> Option<String> {
        let mut seen = Vec::new();
        let mut last: Option<String> = None;
        loop {
            if let Some(mut stream) = Stream::try_open(&self.servers.at(place), last.as_deref()).await {
                while let Ok(Some(item)) = tokio::time::timeout(Duration::from_secs(3), stream.try_next()).await {
                    assert_ne!(item["__typename"], "Gap", "{item}");
                    let cursor = item["cursor"].as_str().unwrap().to_owned();
                    assert!(!seen.contains(&cursor), "{cursor} was told twice");
                    seen.push(cursor.clone());
                    last = Some(cursor);
                }
            }
            if self.is_quiet.load(Ordering::Relaxed) {
                return last;
            }
            place += 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_servers_one_dies_again_and_again_and_every_promise_is_kept() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = setting("KILL_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let seconds = setting("SERVER_KILLS_SECONDS").unwrap_or(SECONDS);
    println!("KILL_SEED={seed}");
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed_bytes(seed));
    let (database, receiver) = (Database::new(), Receiver::default());
    let settings = receiver.listen().await;
    let more = ["--config", settings.path().to_str().unwrap(), "--log-filter", "error", "--wait-poll-ms", "500"];
    let mut running = [start(&database, "one", &more).await, start(&database, "two", &more).await];
    let callers = [running[0].caller(), running[1].caller()];
    let world = Arc::new(World {
        servers: Servers(Arc::new(Mutex::new(callers))),
        receiver,
        is_over: AtomicBool::new(false),
        is_quiet: AtomicBool::new(false),
        rounds: AtomicU32::new(0),
        unknown: AtomicU32::new(0),
    });
    let followers = [0, 1].map(|place| tokio::spawn(Arc::clone(&world).follow(place)));
    let mut agents = Vec::new();
    for number in 0..2 * AGENTS {
        let own = TestRng::from_seed(RngAlgorithm::ChaCha, &seed_bytes(random.next_u64()));
        agents.push(tokio::spawn(Arc::clone(&world).live(number, number % 2 == 0, own)));
    }
    let mut kills = 0;
    let until = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < until && agents.iter().all(|agent| !agent.is_finished()) {
        tokio::time::sleep(Duration::from_millis(500 + random.next_u64() % 2_000)).await;
        let victim = usize::try_from(random.next_u64() % 2).unwrap();
        let [one, two] = running;
        let (dies, stays) = if victim == 0 { (one, two) } else { (two, one) };
        dies.kill().await;
        kills += 1;
        // Every second one comes back so late that the other has taken up what it left.
        let rest = if kills % 2 == 0 { 0 } else { LAPSE_MS + 1_000 };
        tokio::time::sleep(Duration::from_millis(rest)).await;
        let back = start(&database, ["one", "two"][victim], &more).await;
        world.servers.0.lock().unwrap()[victim] = back.caller();
        running = if victim == 0 { [back, stays] } else { [stays, back] };
    }
    world.is_over.store(true, Ordering::Relaxed);
    for agent in agents {
        agent.await.unwrap();
    }
    world.is_quiet.store(true, Ordering::Relaxed);
    let [one, two] = followers;
    let (one, two) = (one.await.unwrap(), two.await.unwrap());
    assert!(one.is_some() && one == two, "one follower heard {one:?} last, the other {two:?}");
    for server in running {
        server.stop().await;
    }
    check(&database).await;
    let (rounds, unknown) = (world.rounds.load(Ordering::Relaxed), world.unknown.load(Ordering::Relaxed));
    println!("kills={kills} bundles={rounds} of unknown outcome={unknown}");
    assert!(u64::from(rounds) > seconds && kills > 3, "too little happened");
}

/// What quiet servers leave.
async fn check(database: &Database) {
    let store = Store::open(&PostgresOptions::new(database.url()).into()).await.unwrap();
    store.epoch_allocate("check", Duration::ZERO, System.now()).await.unwrap();
    assert_eq!(store.outbox_unaccepted(Position(0), 10).await.unwrap(), vec![]);
    assert_eq!(store.sessions_to_recover().await.unwrap(), Vec::<SessionId>::new());
    assert_eq!(store.check().await.unwrap(), vec![]);
    store.close().await.unwrap();
}
