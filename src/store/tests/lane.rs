//! The writer lane: jobs of one group fail alone, callers may leave, nothing stays unanswered.
//! May import: the store.

use std::sync::mpsc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::ids::{Epoch, MessageId, Micros, SessionId, TurnId};
use crate::lifecycle::{Change, Decision, Effect, Focus, MessageRow, Refusal, SessionView, TurnGuard};
use crate::store::{Error, Store};

use super::support::Home;

fn message(turn: &TurnId, id: &str) -> Change {
    Change::InsertMessage(MessageRow {
        id: MessageId::new(id),
        turn_id: turn.clone(),
        author: "agent".into(),
        kind: "message".into(),
        content: id.into(),
        metadata: serde_json::Map::new(),
        created_at: Micros(5),
    })
}

fn decision(changes: Vec<Change>) -> Decision {
    Decision { changes, events: Vec::new(), effect: Effect::Done }
}

/// Occupies the lane until the sender is used or dropped, so that what is sent next waits together.
fn hold(home: &Home, session: &SessionId) -> (mpsc::Sender<()>, tokio::task::JoinHandle<()>) {
    let (release, wait) = mpsc::channel();
    let (begun, is_begun) = mpsc::channel();
    let (store, session, epoch) = (home.store.clone(), session.clone(), home.epoch);
    let decide = move |_: &SessionView| {
        let _ = begun.send(());
        let _ = wait.recv();
        Err(Refusal::NotFound)
    };
    let held = tokio::spawn(async move { drop(store.transact(&session, Focus::default(), epoch, decide).await) });
    // Until the lane has taken it, it would stand in one group with what comes next.
    tokio::task::block_in_place(|| is_begun.recv().unwrap());
    (release, held)
}

/// A call that was sent and has no answer yet.
fn sent<T>(call: impl Future<Output = T> + Send + 'static) -> BoxFuture<'static, T> {
    let mut call = call.boxed();
    assert!((&mut call).now_or_never().is_none());
    call
}

async fn has(store: &Store, id: &str) -> bool {
    !store.messages(&[MessageId::new(id)]).await.unwrap().is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_panics_or_breaks_a_guard_leaves_the_others_of_its_group() {
    let home = Home::new().await;
    let session = home.session().await;
    let turn = home.turn(&session).await;
    let (release, held) = hold(&home, &session);
    type Decide = Box<dyn Fn(&SessionView) -> Result<Decision, Refusal> + Send>;
    let send = |decide: Decide| {
        let (store, session, epoch) = (home.store.clone(), session.clone(), home.epoch);
        sent(async move { store.transact(&session, Focus::default(), epoch, decide).await })
    };
    let (one, two, three) = (turn.clone(), turn.clone(), turn.clone());
    let first = send(Box::new(move |_| Ok(decision(vec![message(&one, "first")]))));
    let panics = send(Box::new(|_| panic!("on purpose")));
    let breaks = send(Box::new(move |view| {
        let guard = TurnGuard { is_reserved: true, is_attempted: false, has_ended: false };
        let turn = view.current_turn().cloned().unwrap();
        Ok(decision(vec![message(&two, "broken"), Change::SetTurn(guard, turn)]))
    }));
    let last = send(Box::new(move |_| Ok(decision(vec![message(&three, "last")]))));
    drop(release);
    held.await.unwrap();
    assert!(first.await.unwrap().is_ok());
    assert!(matches!(panics.await, Err(Error::Panicked)));
    assert!(matches!(breaks.await, Err(Error::Guard(_))));
    assert!(last.await.unwrap().is_ok());
    assert!(has(&home.store, "first").await && has(&home.store, "last").await);
    assert!(!has(&home.store, "broken").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_changes_nothing() {
    let home = Home::new().await;
    let session = home.session().await;
    let turn = home.turn(&session).await;
    let (release, held) = hold(&home, &session);
    let (store, epoch) = (home.store.clone(), home.epoch);
    let own = session.clone();
    let gone = sent(async move {
        store.transact(&own, Focus::default(), epoch, move |_| Ok(decision(vec![message(&turn, "kept")]))).await
    });
    drop(gone);
    drop(release);
    held.await.unwrap();
    home.turn_marker(&session).await;
    assert!(has(&home.store, "kept").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_deadline_passed_before_it_began_is_known_not_to_have_run() {
    let home = Home::new().await;
    let session = home.session().await;
    let turn = home.turn(&session).await;
    let (release, held) = hold(&home, &session);
    let hurried = home.store.with_deadline(Duration::from_millis(10));
    let late = hurried
        .transact(&session, Focus::default(), home.epoch, move |_| Ok(decision(vec![message(&turn, "late")])))
        .await;
    assert!(matches!(late, Err(Error::Timeout)));
    drop(release);
    held.await.unwrap();
    home.turn_marker(&session).await;
    assert!(!has(&home.store, "late").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_job_that_has_begun_a_passed_deadline_says_that_nothing_is_known_and_it_ends() {
    let home = Home::new().await;
    let session = home.session().await;
    let turn = home.turn(&session).await;
    let (release, wait) = mpsc::channel::<()>();
    let hurried = home.store.with_deadline(Duration::from_millis(10));
    let slow = hurried
        .transact(&session, Focus::default(), home.epoch, move |_| {
            let _ = wait.recv();
            Ok(decision(vec![message(&turn, "slow")]))
        })
        .await;
    assert!(matches!(slow, Err(Error::UnknownCommit)));
    drop(release);
    home.turn_marker(&session).await;
    assert!(has(&home.store, "slow").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_refuses_at_once_and_a_closed_store_answers() {
    let home = Home::with(|options| options.queue_max = 2).await;
    let session = home.session().await;
    let (release, held) = hold(&home, &session);
    let send = || {
        let (store, session, epoch) = (home.store.clone(), session.clone(), home.epoch);
        let decide = |_: &SessionView| Ok(decision(Vec::new()));
        async move { store.transact(&session, Focus::default(), epoch, decide).await }
    };
    let waiting = [sent(send()), sent(send())];
    assert!(matches!(send().now_or_never(), Some(Err(Error::QueueFull))));
    drop(release);
    held.await.unwrap();
    for job in waiting {
        assert!(job.await.unwrap().is_ok());
    }
    home.store.close().await.unwrap();
    assert!(matches!(home.store.outbox_tip().await, Err(Error::Closed)));
    assert!(matches!(home.store.epoch_allocate("", Duration::ZERO, Micros(9)).await, Err(Error::Closed)));
}

#[tokio::test]
async fn a_generation_that_is_over_writes_nothing() {
    let home = Home::new().await;
    let session = home.session().await;
    let old = home.epoch;
    let new = home.store.epoch_allocate("", Duration::ZERO, home.now()).await.unwrap();
    assert!(new > old);
    let decide = |_: &SessionView| Ok(decision(Vec::new()));
    let fenced = home.store.transact(&session, Focus::default(), old, decide).await;
    assert!(matches!(fenced, Err(Error::Fenced(epoch)) if epoch == old));
    let unborn = home.store.transact(&session, Focus::default(), Epoch(99), decide).await;
    assert!(matches!(unborn, Err(Error::Fenced(_))));
    let absent = home.store.transact(&SessionId::new("absent"), Focus::default(), old, decide).await;
    assert!(matches!(absent, Err(Error::Fenced(_))));
    assert!(home.store.transact(&session, Focus::default(), new, decide).await.is_ok());
}
