//! What measurements of answers share: a store with one task, and the cycle of one answer through its door.
//! May import: the crate.

use std::time::{Duration, Instant};

use answerable::ids::{
    ClientKey, Epoch, EventId, Micros, OptionId, PendingId, PrincipalId, QuestionId, SessionId, TaskId, WaiterId,
    WorkspaceId,
};
use answerable::lifecycle::{
    AcceptTurn, Admission, Answer, Ask, Choice, Command, Effect, Keyed, QuestionSpec, Respond, Stamp, TurnKind,
    decide,
};
use answerable::store::{Store, StoreOptions, TaskRow, Workspace};
use uuid::Uuid;

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

/// Asks, responds and confirms: three transactions.
async fn answer(store: &Store, session: &SessionId, epoch: Epoch) {
    let waiter = WaiterId::from(Uuid::now_v7());
    let Effect::Asked { outcome, .. } = run(store, session, epoch, ask(&waiter)).await else { return };
    let pending_id = outcome.pending_id;
    run(store, session, epoch, respond(pending_id.clone())).await;
    run(store, session, epoch, Command::ConfirmDelivery { pending_id, waiter, watchdog: None }).await;
}

/// A session in its turn.
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

/// A new store with one task, and its generation.
pub async fn open(options: &StoreOptions) -> (Store, Epoch) {
    let store = Store::open(options).await.expect("it opens");
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

/// How long each answer took, of so many clients over that time, in order of length; and how long it was.
pub async fn answers(store: &Store, epoch: Epoch, clients: usize, cell: Duration) -> (Vec<Duration>, Duration) {
    let mut sessions = Vec::new();
    for _ in 0..clients {
        sessions.push(begin(store, epoch).await);
    }
    let start = Instant::now();
    let client = |session: SessionId| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut times = Vec::new();
            while start.elapsed() < cell {
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
    let elapsed = start.elapsed();
    times.sort_unstable();
    (times, elapsed)
}

pub fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}
