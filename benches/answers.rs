//! Answers per second through the store's door: ask, respond, confirm, each durable (synchronous=FULL), at several
//! numbers of clients with group commit on and off, beside the rate of fdatasync measured in the same run.
//!
//! May import: the crate.

#![expect(clippy::expect_used, reason = "a measurement that breaks says so and ends")]
#![expect(clippy::disallowed_methods, reason = "it measures real time, and its clients are its own tasks")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use answerable::ids::{
    ClientKey, Epoch, EventId, Micros, OptionId, PendingId, PrincipalId, QuestionId, SessionId, TaskId, WaiterId,
    WorkspaceId,
};
use answerable::lifecycle::{
    AcceptTurn, Admission, Answer, Ask, Choice, Command, Effect, Keyed, QuestionSpec, Respond, Stamp, TurnKind,
    decide,
};
use answerable::store::{SqliteOptions, Store, TaskRow, Workspace};
use uuid::Uuid;

const CLIENTS: [usize; 3] = [1, 16, 64];
const CELL: Duration = Duration::from_secs(2);

fn stamp(epoch: Epoch) -> Stamp {
    let base = Uuid::now_v7();
    Stamp { now: Micros(i64::try_from(base.as_u128() >> 80).unwrap_or(0) * 1_000), epoch, base }
}

async fn run(store: &Store, session: &SessionId, epoch: Epoch, command: Command) -> Effect {
    let (focus, stamp) = (command.focus(), stamp(epoch));
    let done = store.transact(session, focus, epoch, move |view| decide(view, &command, &stamp)).await;
    done.expect("the store works").expect("the command applies").decision.effect
}

fn keyed() -> Keyed {
    Keyed { key: ClientKey::from(Uuid::now_v7()), body_hash: String::new() }
}

fn ask(waiter: &WaiterId) -> Command {
    let choice = |n: usize| Choice {
        id: OptionId::new(format!("q1_opt{n}")),
        label: format!("Option {n}"),
        description: "What it would mean".to_owned(),
    };
    let question = QuestionSpec {
        id: QuestionId::new("q1"),
        title: "A choice".to_owned(),
        prompt: "Which of the two should it be?".to_owned(),
        options: vec![choice(1), choice(2)],
        multi_select: false,
        allow_custom_text: true,
        secret: false,
    };
    Command::Ask(Ask {
        expected: None,
        questions: vec![question],
        context: String::new(),
        key: keyed(),
        is_key_explicit: true,
        waiter: Some(waiter.clone()),
    })
}

fn respond(pending_id: PendingId) -> Command {
    let answer = Answer { option_ids: vec![OptionId::new("q1_opt1")], custom_text: None };
    let (expected_turn, principal, key) = (None, PrincipalId::new("person"), keyed());
    Command::Respond(Respond {
        pending_id,
        answers: vec![(QuestionId::new("q1"), answer)],
        expected_turn,
        principal,
        key,
    })
}

async fn answer(store: &Store, session: &SessionId, epoch: Epoch) {
    let waiter = WaiterId::from(Uuid::now_v7());
    let Effect::Asked { outcome, .. } = run(store, session, epoch, ask(&waiter)).await else { return };
    let pending_id = outcome.pending_id;
    run(store, session, epoch, respond(pending_id.clone())).await;
    run(store, session, epoch, Command::ConfirmDelivery { pending_id, waiter, watchdog: None }).await;
}

async fn begin(store: &Store, epoch: Epoch) -> SessionId {
    let create = Command::CreateSession { task_id: TaskId::new("k"), executor: None, is_watchdog_on: false };
    let Effect::Session(session) = run(store, &SessionId::new(""), epoch, create).await else { unreachable!() };
    let accept = AcceptTurn {
        prompt: String::new(),
        kind: TurnKind::Work,
        admission: Admission::Immediate,
        expected: None,
        principal: PrincipalId::new("person"),
        key: None,
    };
    run(store, &session, epoch, Command::AcceptTurn(accept)).await;
    session
}

async fn open(directory: &Path, is_group_commit_on: bool) -> (Store, Epoch) {
    let mut options = SqliteOptions::new(directory.join(format!("{is_group_commit_on}.db")));
    options.is_group_commit_on = is_group_commit_on;
    let store = Store::open(&options.into()).await.expect("it opens");
    let epoch = store.epoch_allocate("", Duration::ZERO, Micros(1)).await.expect("a generation");
    let workspace = Workspace { id: WorkspaceId::new("w"), name: "W".to_owned(), created_at: Micros(1) };
    store.workspace_insert(workspace).await.expect("a workspace");
    let task = TaskRow {
        id: TaskId::new("k"),
        workspace_id: WorkspaceId::new("w"),
        title: "T".to_owned(),
        description: String::new(),
        state: "TODO".to_owned(),
        created_at: Micros(1),
        updated_at: Micros(1),
        last_activity_at: Micros(1),
    };
    store.task_insert(task, EventId::from(Uuid::now_v7())).await.expect("a task");
    (store, epoch)
}

/// CPU time of the writer threads so far, in microseconds; ticks of 10 ms.
fn writer_cpu() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    let ticks = |stat: String| {
        let (head, tail) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = tail.split_whitespace().collect();
        let sum = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
        head.contains("store-writer").then_some(sum)
    };
    stats.filter_map(ticks).sum::<f64>() * 10_000.0
}

/// Answers per second, the 99th percentile of one answer in milliseconds, and the writer's CPU time of one
/// transaction in microseconds.
async fn measure(store: &Store, epoch: Epoch, clients: usize) -> (f64, f64, f64) {
    let mut sessions = Vec::new();
    for _ in 0..clients {
        sessions.push(begin(store, epoch).await);
    }
    let cpu = writer_cpu();
    let start = Instant::now();
    let client = |session: SessionId| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut times = Vec::new();
            while start.elapsed() < CELL {
                let begun = Instant::now();
                answer(&store, &session, epoch).await;
                times.push(begun.elapsed());
            }
            times
        })
    };
    let clients: Vec<_> = sessions.into_iter().map(client).collect();
    let mut times = Vec::new();
    for client in clients {
        times.extend(client.await.expect("a client"));
    }
    let seconds = start.elapsed().as_secs_f64();
    times.sort_unstable();
    let late = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    let per_transaction = (writer_cpu() - cpu) / (count(times.len()) * 3.0);
    (count(times.len()) / seconds, late.as_secs_f64() * 1_000.0, per_transaction)
}

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

/// fdatasync calls per second of one thread that appends 4 KiB each time.
fn sync_rate(directory: &Path) -> f64 {
    let mut file = File::create(directory.join("sync")).expect("a file");
    let (start, mut syncs) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(1) {
        file.write_all(&[7; 4096]).expect("a write");
        file.sync_data().expect("a sync");
        syncs += 1;
    }
    count(syncs) / start.elapsed().as_secs_f64()
}

#[tokio::main]
async fn main() {
    let directory = tempfile::tempdir_in(".").expect("a directory on the disk");
    let (on, on_epoch) = open(directory.path(), true).await;
    let (off, off_epoch) = open(directory.path(), false).await;
    println!("clients  group commit  answers/s  transactions/s  p99 ms  writer us/tx  x fdatasync/s");
    let mut last = (0.0, 0.0, 0.0);
    for clients in CLIENTS {
        let syncs = sync_rate(directory.path());
        let (grouped, grouped_p99, grouped_cpu) = measure(&on, on_epoch, clients).await;
        let (single, single_p99, single_cpu) = measure(&off, off_epoch, clients).await;
        let cells = [("on ", grouped, grouped_p99, grouped_cpu), ("off", single, single_p99, single_cpu)];
        for (name, rate, p99, cpu) in cells {
            let transactions = rate * 3.0;
            let ratio = transactions / syncs;
            println!(
                "{clients:7}  {name:12}  {rate:9.0}  {transactions:14.0}  {p99:6.1}  {cpu:13.0}  {ratio:6.2} of {syncs:.0}"
            );
        }
        last = (grouped / single, grouped * 3.0 / syncs, syncs);
    }
    let (gain, per_sync, _) = last;
    println!("at 64 clients: {gain:.1} x group commit off, {per_sync:.2} x one thread's fdatasync rate");
    on.close().await.expect("it closes");
    off.close().await.expect("it closes");
}
