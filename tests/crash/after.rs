//! What must stand after a crash and the start that follows it. May import: scene, server, the crate.

use std::time::Duration;

use answerable::ids::{PendingId, Position, SessionId};
use answerable::lifecycle::{BundleState, DispatchOutcome, Focus, PendingAction, Question, SessionView, Status};
use answerable::store::{BundleRow, SessionRow, Store};
use serde_json::Value;

use super::scene::{Acts, Scene};
use super::server::Server;

/// What a reader of the database sees.
pub struct Facts {
    pub bundle: BundleRow,
    pub session: SessionRow,
    pub view: SessionView,
}

impl Facts {
    pub fn open(&self) -> Vec<&Question> {
        self.bundle.bundle.pending().collect()
    }

    /// The questions that this cell's response is about.
    pub fn own<'f>(&'f self, scene: &Scene) -> Vec<&'f Question> {
        let is_own = |q: &&Question| scene.names.open.contains(&q.spec.id.as_str());
        self.bundle.bundle.questions.iter().filter(is_own).collect()
    }
}

/// Reads, having found no violation and no event that waits.
pub async fn facts(scene: &Scene) -> Facts {
    let store = Store::open_to_read(&scene.database.options()).await.unwrap();
    assert_eq!(store.check().await.unwrap(), [], "violations");
    // What a call has just announced may be on its way, and a summary follows it; what a start has to replay is there
    // before it listens.
    let mut waiting = Vec::new();
    for _ in 0..500 {
        waiting = store.outbox_unaccepted(Position(0), 5).await.unwrap();
        if waiting.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(waiting, [], "events wait in the outbox");
    let (bundle, session) = (PendingId::new(&scene.names.bundle), SessionId::new(&scene.names.session));
    let facts = Facts {
        bundle: store.bundles(&[bundle]).await.unwrap().pop().expect("the bundle is gone"),
        session: store.sessions(std::slice::from_ref(&session)).await.unwrap().pop().expect("the session is gone"),
        view: store.view(&session, Focus::default()).await.unwrap(),
    };
    store.close().await.unwrap();
    facts
}

/// What was decided before this cell began; it stays byte for byte (INV-14).
pub fn sibling(scene: &Scene) -> Vec<String> {
    scene.read(
        "SELECT metadata AS line FROM task_session_messages
        WHERE is_question AND json_extract(metadata, '$.response.custom_text') = 'earlier'",
    )
}

pub fn kind(response: &Option<Value>) -> &str {
    response.as_ref().and_then(|r| r["__typename"].as_str()).unwrap_or("no answer")
}

pub fn acts<'s>(scene: &'s Scene, server: &Server) -> Acts<'s> {
    Acts { caller: server.caller(), names: &scene.names }
}

/// Answerable as before: exactly its open rows pending, nobody waits, nothing claimed or reserved.
pub async fn is_pending(scene: &Scene) {
    let facts = facts(scene).await;
    assert_eq!(facts.bundle.state(), BundleState::ActiveDetached);
    let open: Vec<_> = facts.open().iter().map(|q| q.spec.id.as_str().to_owned()).collect();
    assert_eq!(open, scene.names.open, "other rows are pending");
    assert!(facts.open().iter().all(|q| q.is_detached && q.claim.is_none() && q.answer.is_none()));
    assert_eq!(facts.session.pending_action, Some(PendingAction::Clarification));
    assert_eq!(facts.session.current_turn.as_ref().map(|id| id.as_str()), Some(scene.names.turn.as_str()));
    assert!(facts.view.reservation().is_none(), "a reservation is left");
    assert_eq!(sibling(scene).len(), usize::from(scene.names.size > 1), "the sibling changed");
}

/// The same, and the same answer then succeeds with one dispatch, and a third one conflicts.
pub async fn is_answerable(scene: &Scene, server: Server) {
    is_pending(scene).await;
    let (acts, before) = (acts(scene, &server), scene.dispatches());
    let answered = acts.respond("answer").await;
    assert_eq!(kind(&answered), "ResponseAccepted", "{answered:?}");
    assert_eq!(scene.dispatches(), before + 1, "{:?}", scene.agent_lines());
    conflicts(scene, &server).await;
    server.kill().await;
}

/// Another response writes nothing and calls nobody (INV-07).
pub async fn conflicts(scene: &Scene, server: &Server) {
    let (before, lines) = (scene.dump(), scene.agent_lines());
    let late = acts(scene, server).respond("late").await;
    assert_eq!(kind(&late), "ResponseConflict", "{late:?}");
    assert_eq!((scene.dump(), scene.agent_lines()), (before, lines), "a conflict changed something");
}

/// Decided by a response that nobody had to be called for.
pub async fn is_settled(scene: &Scene, server: Server, status: Status) {
    let facts = facts(scene).await;
    for question in facts.own(scene) {
        assert_eq!(question.status, status);
        assert!(!question.has_intent() && question.dispatched_turn_id.is_none(), "{question:?}");
    }
    assert_eq!(facts.bundle.state(), BundleState::Terminal);
    assert_eq!(facts.session.pending_action, None);
    assert_eq!(scene.dispatches(), 0);
    assert_eq!(sibling(scene).len(), usize::from(scene.names.size > 1), "the sibling changed");
    conflicts(scene, &server).await;
    let heard = acts(scene, &server).wait(0).await;
    let wanted = if status == Status::Answered || scene.names.size > 1 { "ANSWERED" } else { "REJECTED" };
    assert_eq!(heard.as_ref().map(|outcome| outcome["status"].clone()), Some(wanted.into()), "{heard:?}");
    assert_eq!(scene.dispatches(), 0);
    server.kill().await;
}

/// The successor is the current turn, the answer stays with it, and nothing is sent again (INV-08).
pub async fn is_kept(scene: &Scene, server: Server, outcome: DispatchOutcome, dispatches: usize) {
    let facts = facts(scene).await;
    let turn = facts.session.current_turn.clone().expect("no turn");
    assert_ne!(turn.as_str(), scene.names.turn, "the successor is gone");
    let kept = facts.view.turn(&turn).expect("the current turn is loaded");
    assert!(kept.reservation.is_none() && kept.is_visible() && kept.dispatch_outcome == Some(outcome), "{kept:?}");
    for question in facts.own(scene) {
        assert_eq!(question.status, Status::Answered);
        assert!(!question.has_intent(), "{question:?}");
        assert_eq!(
            (&question.dispatched_turn_id, question.dispatch_outcome),
            (&Some(turn.clone()), Some(outcome))
        );
    }
    assert_eq!(facts.session.pending_action, None);
    assert_eq!(scene.dispatches(), dispatches, "{:?}", scene.agent_lines());
    assert_eq!(events(scene, "TURN_STARTED", turn.as_str()), 1);
    assert_eq!(sibling(scene).len(), usize::from(scene.names.size > 1), "the sibling changed");
    stays(scene, server, dispatches).await;
}

/// A second start finds nothing more to do, and calls nobody.
pub async fn stays(scene: &Scene, server: Server, dispatches: usize) {
    conflicts(scene, &server).await;
    server.kill().await;
    let server = scene.restart().await;
    conflicts(scene, &server).await;
    assert_eq!(scene.dispatches(), dispatches);
    server.kill().await;
}

/// The claim was closed without effect: its rows keep what was said, and nothing is answerable.
pub async fn is_retired(scene: &Scene, server: Server) {
    let facts = facts(scene).await;
    for question in facts.own(scene) {
        assert_eq!(question.status, Status::Answered);
        assert!(question.claim.as_ref().is_some_and(|claim| claim.is_retired && !claim.is_open), "{question:?}");
    }
    assert_eq!(facts.session.active_bundle, None);
    assert_eq!(scene.dispatches(), 0);
    conflicts(scene, &server).await;
    server.kill().await;
}

/// A newer turn is current: the bundle is history, whatever its rows say.
pub async fn is_superseded(scene: &Scene, server: Server) {
    let facts = facts(scene).await;
    assert_eq!(facts.bundle.state(), BundleState::SupersededHistory);
    assert_ne!(facts.session.current_turn.as_ref().map(|id| id.as_str()), Some(scene.names.turn.as_str()));
    assert_eq!(facts.session.pending_action, None);
    conflicts(scene, &server).await;
    assert_eq!(scene.dispatches(), 0);
    server.kill().await;
}

/// How many events of that kind about that turn there are; all of them are accepted.
pub fn events(scene: &Scene, kind: &str, turn: &str) -> usize {
    let sql = format!(
        "SELECT event_id AS line FROM outbox_events WHERE accepted_us IS NOT NULL
        AND json_extract(body, '$.kind') = '{kind}' AND json_extract(body, '$.turn_id') = '{turn}'"
    );
    scene.read(&sql).len()
}
