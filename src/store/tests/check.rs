//! The check sees each thing that must not be, and nothing else. May import: the store, lifecycle.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use crate::ids::{ClientKey, PendingId, PrincipalId, SessionId, TurnId, WaiterId};
use crate::lifecycle::{Admission, Certainty, Command, Effect, Keyed, SessionState, Skip};
use crate::store::{Error, NOT_SHOWN, Store, StoreOptions, shown};

use super::support::{Home, accept, respond};

/// A store in which every kind of row stands as it should, closed; and its sessions by name.
struct Healthy {
    home: Home,
    names: Vec<(&'static str, SessionId)>,
}

impl Healthy {
    async fn new() -> Self {
        let home = Home::with(|options| options.path.set_file_name("plain.db")).await;
        let mut names = Vec::new();
        for name in ["live", "detached", "claimed", "reserved", "answered", "dispatched", "skipped", "old", "over"]
        {
            let session = home.session().await;
            home.turn(&session).await;
            let waiter = ["live", "claimed", "answered"].contains(&name).then_some("w");
            let count = if ["detached", "claimed"].contains(&name) { 3 } else { 1 };
            let bundle = home.ask(&session, name, count, waiter).await;
            finish(&home, name, &session, &bundle, count).await;
            names.push((name, session));
        }
        home.store.close().await.unwrap();
        Self { home, names }
    }

    /// A copy of it with something planted. `$name` stands for the id of the session of that name.
    fn planted(&self, number: usize, sql: &str) -> PathBuf {
        let path = self.home.file().with_file_name(format!("{number}.db"));
        std::fs::copy(self.home.file(), &path).unwrap();
        let mut sql = sql.to_owned();
        for (name, session) in &self.names {
            sql = sql.replace(&format!("${name}"), &format!("'{session}'"));
        }
        let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
        conn.batch_execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        path
    }
}

async fn finish(home: &Home, name: &str, session: &SessionId, bundle: &PendingId, count: usize) {
    match name {
        "claimed" => drop(home.run(session, respond(bundle, count, "r")).await),
        "answered" => {
            home.run(session, respond(bundle, count, "r")).await;
            let (pending_id, waiter) = (bundle.clone(), WaiterId::new("w"));
            home.run(session, Command::ConfirmDelivery { pending_id, waiter, watchdog: None }).await;
        }
        "reserved" => drop(dispatch(home, session, bundle).await),
        "dispatched" => {
            let turn = dispatch(home, session, bundle).await;
            home.run(session, Command::Acknowledge(turn.clone(), Certainty::Accepted)).await;
            home.run(session, Command::PublishAccepted(turn)).await;
        }
        "skipped" => {
            let key = Keyed { key: ClientKey::new("s"), body_hash: String::new() };
            let (pending_id, principal) = (bundle.clone(), PrincipalId::new("p"));
            let skip = Skip { pending_id, reason: String::new(), expected_turn: None, principal, key };
            home.run(session, Command::Skip(skip)).await;
        }
        "old" => drop(home.run(session, accept(Admission::Immediate)).await),
        "over" => drop(home.run(session, Command::EndSession(SessionState::Failed)).await),
        _ => {}
    }
}

async fn dispatch(home: &Home, session: &SessionId, bundle: &PendingId) -> TurnId {
    let Effect::Dispatch(_, turn) = home.run(session, respond(bundle, 1, "r")).await else { panic!() };
    home.run(session, Command::MarkAttempted(turn.clone())).await;
    turn
}

/// One thing that must not be, for each that the check looks for.
const PLANTS: &[(&str, &str)] = &[
    (
        "INV-01",
        "DROP VIEW active_rows; CREATE VIEW active_rows AS SELECT id AS session_id, workspace_id, task_id,
         '' AS pending_id, 0 AS created_us FROM task_sessions WHERE 0",
    ),
    (
        "INV-02",
        "UPDATE task_session_turns SET started_us = 1 WHERE session_id = $old
         AND ordinal = (SELECT MAX(ordinal) FROM task_session_turns WHERE session_id = $old)",
    ),
    ("INV-03", "UPDATE task_sessions SET last_ordinal = 0 WHERE id = $old"),
    ("INV-03", "UPDATE task_sessions SET last_started_us = 0 WHERE id = $old"),
    (
        "INV-04",
        "UPDATE task_session_turns SET kind = 'bookkeeping' WHERE session_id = $old
         AND ordinal = (SELECT MAX(ordinal) FROM task_session_turns WHERE session_id = $old)",
    ),
    (
        "INV-05",
        "INSERT INTO task_session_messages (id, session_id, turn_id, author, kind, content, metadata, created_us,
         updated_us) SELECT 'm', session_id, id, 'agent', 'message', '', '{}', 1, 1
         FROM task_session_turns WHERE is_reserved",
    ),
    (
        "INV-06",
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.claim_id', 'c') WHERE session_id = $live",
    ),
    (
        "INV-06",
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.claim_id', 'c')
         WHERE session_id = $claimed AND json_extract(metadata, '$.question_index') = 0",
    ),
    (
        "INV-08",
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.dispatched_turn_id', turn_id)
         WHERE session_id = $live",
    ),
    (
        "INV-08",
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.dispatched_turn_id', CASE
         json_extract(metadata, '$.question_index') WHEN 0 THEN turn_id
         ELSE (SELECT id FROM task_session_turns WHERE session_id = $claimed) || '' END) WHERE session_id = $claimed;
         INSERT INTO task_session_turns (id, session_id, ordinal, kind, generation, started_us, wall_us, has_evidence,
         metadata) SELECT 'u', session_id, ordinal + 1, 'bookkeeping', 9, started_us + 1, 0, 0, '{}'
         FROM task_session_turns WHERE session_id = $claimed;
         UPDATE task_sessions SET last_ordinal = 99, last_started_us = 1000000000 WHERE id = $claimed;
         UPDATE task_session_messages SET metadata = json_set(metadata, '$.dispatched_turn_id', 'u')
         WHERE session_id = $claimed AND json_extract(metadata, '$.question_index') = 1",
    ),
    (
        "INV-09",
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.dispatched_turn_id', turn_id)
         WHERE session_id = $skipped",
    ),
    (
        "INV-10",
        "UPDATE task_session_turns SET metadata = json_set(json_remove(metadata, '$.prompt_dispatch_attempted'),
         '$.prompt_dispatch_acknowledged', '1') WHERE is_reserved",
    ),
    (
        "INV-11",
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.result_received', 'true')
         WHERE session_id = $live",
    ),
    (
        "INV-12",
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.dispatched_turn_id', 'gone')
         WHERE session_id = $dispatched",
    ),
    (
        "INV-14",
        "UPDATE task_session_turns SET metadata = json_set(metadata,
         '$.prompt_dispatch_clarification_message_ids', json_array('other')) WHERE is_reserved",
    ),
    (
        "INV-16",
        "INSERT INTO client_keys (session_id, scope_kind, scope_id, principal, key, body_hash, result_kind, result_id,
         result_claim) SELECT session_id, 'bundle', pending_id, 'p', 'k', '', 'responded', pending_id, 'c'
         FROM task_session_messages WHERE session_id = $live AND is_question",
    ),
    (
        "INV-17",
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.agent_disconnected', json('true'))
         WHERE session_id = $live",
    ),
    (
        "INV-17",
        "UPDATE task_session_messages SET metadata = json_remove(metadata, '$.agent_disconnected')
         WHERE session_id = $detached AND json_extract(metadata, '$.question_index') = 1",
    ),
    (
        "INV-18",
        "INSERT INTO outbox_events (event_id, body, workspace_id, task_id, session_id, created_us)
         SELECT 'again', body, workspace_id, task_id, session_id, created_us FROM outbox_events
         WHERE json_extract(body, '$.kind') = 'MESSAGE_ADDED' LIMIT 1",
    ),
    (
        "INV-19",
        "INSERT INTO outbox_events (event_id, body, workspace_id, task_id, session_id, created_us)
         SELECT 'early', json_object('kind', 'TURN_STARTED', 'turn_id', id), 'w', 'k', session_id, 5000
         FROM task_session_turns WHERE is_reserved",
    ),
    (
        "INV-20",
        "UPDATE outbox_events SET body = json_set(body, '$.prompt_dispatch_epoch', 1)
         WHERE json_extract(body, '$.kind') = 'MESSAGE_ADDED'",
    ),
    (
        "INV-21",
        "DELETE FROM outbox_events WHERE session_id = $live AND json_extract(body, '$.kind') = 'TURN_STARTED'",
    ),
    (
        "INV-21",
        "DELETE FROM outbox_events WHERE session_id = $over AND json_extract(body, '$.kind') = 'TURN_COMPLETED'",
    ),
    ("INV-22", "UPDATE outbox_events SET accepted_us = 1 WHERE position = (SELECT MAX(position) FROM outbox_events)"),
    (
        "INV-25",
        "UPDATE task_session_turns SET metadata = json_set(metadata,
         '$.prompt_dispatch_clarification_message_ids', json_array(1)) WHERE is_reserved",
    ),
    (
        "INV-26",
        "DROP VIEW session_projections; CREATE VIEW session_projections AS
         SELECT id AS session_id, 'permission' AS pending_action FROM task_sessions WHERE id = $live",
    ),
    (
        "INV-27",
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.claim_epoch', 99)
         WHERE session_id = $answered",
    ),
    (
        "INV-29",
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.status', 'answered',
         '$.response_delivery_pending', 1, '$.claim_epoch', 1) WHERE session_id = $over",
    ),
    (
        "INV-31",
        "UPDATE task_session_messages SET turn_id = (SELECT id FROM task_session_turns WHERE session_id = $live)
         WHERE session_id = $claimed AND json_extract(metadata, '$.question_index') = 1",
    ),
    (
        "INV-33",
        "INSERT INTO task_session_turns (id, session_id, ordinal, kind, generation, started_us, wall_us, has_evidence,
         metadata) SELECT 'u', session_id, ordinal + 1, 'work', 9, started_us + 1, 0, 0,
         json_object('prompt_dispatch_pending', '1', 'prompt_dispatch_epoch', 1)
         FROM task_session_turns WHERE is_reserved;
         UPDATE task_sessions SET last_ordinal = 99, last_started_us = 1000000000 WHERE id = $reserved",
    ),
    (
        "INV-34",
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.claim_epoch', 0)
         WHERE session_id = $claimed",
    ),
    (
        "INV-34",
        "UPDATE task_session_turns SET metadata = json_remove(metadata, '$.prompt_dispatch_epoch') WHERE is_reserved",
    ),
    (
        "INV-36",
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.responded_at_us', 7)
         WHERE session_id = $claimed AND json_extract(metadata, '$.question_index') = 1",
    ),
    (
        "INV-37",
        "INSERT INTO clarification_waiters (pending_id, id, session_id, epoch)
         SELECT pending_id, 'late', session_id, 1 FROM task_session_messages
         WHERE session_id = $answered AND is_question",
    ),
    (
        "INV-37",
        "UPDATE task_session_turns SET metadata = json_set(metadata, '$.watchdog_deadline_us', 1,
         '$.watchdog_pending_id', 'gone') WHERE session_id = $answered",
    ),
    (
        "INV-37",
        "UPDATE task_session_turns SET metadata = json_set(metadata, '$.watchdog_deadline_us', 1,
         '$.watchdog_pending_id', (SELECT pending_id FROM task_session_messages WHERE session_id = $answered
         AND is_question), '$.watchdog_earlier_pending_ids', json('[\"gone\"]')) WHERE session_id = $answered",
    ),
    ("INV-38", "UPDATE task_sessions SET workspace_id = 'other' WHERE id = $over"),
    ("INV-38", "UPDATE outbox_events SET workspace_id = 'other' WHERE position = 1"),
    ("PAGES", "PRAGMA foreign_keys = OFF; DELETE FROM workspaces"),
];

async fn invariants(path: &Path) -> BTreeSet<&'static str> {
    let store = Store::open_to_read(&StoreOptions::new(path)).await.unwrap();
    let found = store.check().await.unwrap();
    store.close().await.unwrap();
    println!("{found:#?}");
    found.into_iter().map(|violation| violation.invariant).collect()
}

#[tokio::test]
async fn a_check_sees_what_is_planted_and_nothing_else() {
    let healthy = Healthy::new().await;
    assert_eq!(invariants(healthy.home.file()).await, BTreeSet::new());
    for (number, (invariant, sql)) in PLANTS.iter().enumerate() {
        let found = invariants(&healthy.planted(number, sql)).await;
        assert_eq!(found, BTreeSet::from([*invariant]), "after {sql}");
    }
}

#[test]
fn every_invariant_is_shown_by_a_plant_or_says_why_it_cannot_be() {
    let planted: BTreeSet<_> = PLANTS.iter().map(|(invariant, _)| *invariant).collect();
    let looked_for: BTreeSet<_> = shown().into_iter().map(|(invariant, _)| invariant).collect();
    assert_eq!(planted, looked_for);
    let excused = NOT_SHOWN.iter().map(|(invariant, _)| (*invariant).to_owned());
    let all: Vec<_> = looked_for.iter().map(|name| (*name).to_owned()).chain(excused).collect();
    let wanted = (1..=40).map(|number| format!("INV-{number:02}")).chain(["PAGES".to_owned()]);
    let sorted: BTreeSet<_> = all.iter().cloned().collect();
    assert_eq!(sorted, wanted.collect(), "an invariant is missing");
    assert_eq!(sorted.len(), all.len(), "an invariant is shown and excused");
}

#[tokio::test]
async fn a_store_that_is_open_to_read_sees_what_its_server_writes_and_writes_nothing() {
    let home = Home::new().await;
    let session = home.session().await;
    home.turn(&session).await;
    let beside = Store::open_to_read(&home.options).await.unwrap();
    home.ask(&session, "a", 1, Some("w")).await;
    assert_eq!(beside.check().await.unwrap(), []);
    assert!(beside.view(&session, Default::default()).await.unwrap().active_bundles().next().is_some());
    assert!(matches!(beside.epoch_allocate("", Duration::ZERO, home.now()).await, Err(Error::Closed)));
    beside.close().await.unwrap();
    home.ask(&session, "b", 1, Some("v")).await;
}
