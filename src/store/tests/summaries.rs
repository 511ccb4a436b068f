//! Task summaries: what is written, by whom, and what a stale one costs its reader. May import: the store.

use serde_json::json;

use crate::ids::{EventId, Micros, PermissionId, Position, Sequence, SessionId, TaskId};
use crate::lifecycle::{
    Command, EventKind, ForegroundActivity, Patch, PendingAction, SessionState, Summary, SummaryPatch,
};
use crate::store::{Error, Settled, Store, TaskListRow, TaskRow, run};

use super::home;
use super::support::Home;

async fn put(store: &Store, task: &TaskRow, expected: Option<Sequence>, summary: &Summary) -> Result<bool, Error> {
    let (task, summary) = (task.clone(), summary.clone());
    run!(store.mark(summaries::put, &task, expected, &summary))
}

async fn row(home: &Home) -> TaskListRow {
    home.store.tasks_of(&[TaskId::new("k")], 0).await.unwrap().remove(0)
}

async fn settle(home: &Home, patch: SummaryPatch) -> Settled {
    let (now, event) = (home.now(), EventId::from(home.stamp().base));
    home.store.summary_settle(&TaskId::new("k"), patch, now, event).await.unwrap()
}

async fn told(home: &Home) -> (Summary, bool) {
    match settle(home, SummaryPatch::default()).await {
        Settled::Told { summary, is_new } => (summary, is_new),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_task_is_added_with_a_summary_that_holds() {
    let home = home().await;
    let row = row(&home).await;
    assert!(row.summary.as_ref().unwrap().says(&row.facts()));
    let (held, is_new) = told(&home).await;
    assert_eq!((held.revision, is_new), (Sequence(1), false), "nobody has to write it again");
}

#[tokio::test]
async fn a_summary_follows_its_sessions_and_says_so_once() {
    let home = home().await;
    let session = home.session().await;
    home.turn(&session).await;
    let (first, is_new) = told(&home).await;
    assert_eq!((first.revision, first.pending_action(), is_new), (Sequence(2), None, true));
    assert_eq!(first.primary_session(), Some((session.clone(), SessionState::Running)));
    home.ask(&session, "a", 1, None).await;
    assert!(!row(&home).await.summary.unwrap().says(&row(&home).await.facts()), "nothing moved it yet");
    let tip = home.store.outbox_tip().await.unwrap();
    let (second, _) = told(&home).await;
    assert_eq!((second.revision, second.pending_action()), (Sequence(3), Some(PendingAction::Clarification)));
    assert_eq!(second.pending_session(), Some(session));
    assert_eq!(told(&home).await, (second.clone(), false));
    assert_eq!(row(&home).await.summary, Some(second));
    let events = home.store.outbox_after(tip, 9).await.unwrap();
    assert_eq!(events.iter().map(|row| row.event.kind.clone()).collect::<Vec<_>>(), [EventKind::TaskChanged]);
}

#[tokio::test]
async fn a_report_and_a_repair_leave_each_others_fields_alone() {
    let home = home().await;
    let session = home.session().await;
    home.turn(&session).await;
    let activity = Patch::Set(ForegroundActivity::Background);
    settle(&home, SummaryPatch { activity, subagents: Patch::Set(2), ..SummaryPatch::default() }).await;
    home.ask(&session, "a", 1, None).await;
    let (repaired, _) = told(&home).await;
    assert_eq!((repaired.activity(), repaired.subagents()), (Some(ForegroundActivity::Background), Some(2)));
    settle(&home, SummaryPatch { subagents: Patch::Clear, ..SummaryPatch::default() }).await;
    let summary = row(&home).await.summary.unwrap();
    assert_eq!((summary.activity(), summary.subagents()), (Some(ForegroundActivity::Background), None));
    assert_eq!(summary.pending_action(), Some(PendingAction::Clarification));
}

#[tokio::test]
async fn a_writer_that_saw_an_older_revision_writes_nothing() {
    let home = home().await;
    let (held, _) = told(&home).await;
    let task = row(&home).await.task;
    let mut theirs = held.clone();
    theirs.revision = Sequence(2);
    theirs.fields.insert("git".into(), json!({ "ahead": 1 }));
    assert!(put(&home.store, &task, Some(held.revision), &theirs).await.unwrap());
    let mut ours = held.clone();
    ours.revision = Sequence(2);
    assert!(!put(&home.store, &task, Some(held.revision), &ours).await.unwrap(), "the revision moved");
    assert!(!put(&home.store, &task, None, &ours).await.unwrap(), "there is one");
    assert_eq!(row(&home).await.summary, Some(theirs));
}

#[tokio::test]
async fn sessions_behind_the_newest_count_where_they_wait_or_are_primary() {
    let home = home().await;
    let first = home.session().await;
    home.turn(&first).await;
    let second = home.session().await;
    home.turn(&second).await;
    home.ask(&second, "a", 1, None).await;
    for _ in 0..3 {
        home.session().await;
    }
    let row = home.store.tasks_of(&[TaskId::new("k")], 1).await.unwrap().remove(0);
    assert_eq!(row.sessions.len(), 3, "the newest, the one that waits, the primary one");
    let (action, owner) = row.pending().unwrap();
    assert_eq!((action, &owner.session.id), (PendingAction::Clarification, &second));
    assert_eq!(row.primary().unwrap().session.id, first);
}

#[tokio::test]
async fn a_permission_and_a_question_share_the_action() {
    let home = home().await;
    let (asks, wants) = (home.session().await, home.session().await);
    for session in [&asks, &wants] {
        home.turn(session).await;
    }
    let request = |session: SessionId| {
        let id = PermissionId::new(format!("p {session}"));
        (session, Command::RecordPermission { id, content: String::new() })
    };
    home.ask(&asks, "a", 1, None).await;
    let (session, command) = request(asks.clone());
    home.run(&session, command).await;
    let (held, _) = told(&home).await;
    let pending = (held.pending_action(), held.pending_session());
    assert_eq!(pending, (Some(PendingAction::Clarification), Some(asks)), "in a session the question goes first");
    let (session, command) = request(wants.clone());
    home.run(&session, command).await;
    let (held, _) = told(&home).await;
    let pending = (held.pending_action(), held.pending_session());
    assert_eq!(pending, (Some(PendingAction::Permission), Some(wants)), "across a task the permission does");
}

#[tokio::test]
async fn a_summary_goes_with_its_task() {
    let home = home().await;
    told(&home).await;
    home.store.task_delete(&TaskId::new("k"), Micros(9_999), EventId::new("e")).await.unwrap();
    assert_eq!(settle(&home, SummaryPatch::default()).await, Settled::Gone);
    assert!(home.store.outbox_after(Position(0), 99).await.unwrap().len() > 1);
}
