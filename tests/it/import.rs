//! A Kandev database taken over and served: what could be answered there can be answered here, what nobody may act upon
//! is inert and said to be, and the file stays as it was. May import: the crate, the app, its home.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use answerable::ports::{Clock, System};
use answerable::store::{Error, Imported, Store};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::app::App;
use crate::home::Home;

const SCHEMA: &str = "
CREATE TABLE workspaces (id TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE tasks (id TEXT PRIMARY KEY, workspace_id TEXT DEFAULT '', title TEXT NOT NULL, description TEXT DEFAULT '',
    state TEXT DEFAULT 'TODO', metadata TEXT DEFAULT '{}', created_at TIMESTAMP, updated_at TIMESTAMP);
CREATE TABLE task_sessions (id TEXT PRIMARY KEY, task_id TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'CREATED',
    metadata TEXT DEFAULT '{}', started_at TIMESTAMP NOT NULL, completed_at TIMESTAMP, updated_at TIMESTAMP NOT NULL,
    is_primary INTEGER DEFAULT 0);
CREATE TABLE task_session_turns (id TEXT PRIMARY KEY, task_session_id TEXT NOT NULL, task_id TEXT NOT NULL,
    started_at TIMESTAMP NOT NULL, completed_at TIMESTAMP, metadata TEXT DEFAULT '{}', created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL);
CREATE TABLE task_session_messages (id TEXT PRIMARY KEY, task_session_id TEXT NOT NULL, task_id TEXT DEFAULT '',
    turn_id TEXT NOT NULL, author_type TEXT DEFAULT 'user', content TEXT NOT NULL, type TEXT DEFAULT 'message',
    metadata TEXT DEFAULT '{}', created_at TIMESTAMP NOT NULL, updated_at TIMESTAMP NOT NULL);
CREATE TABLE kandev_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL DEFAULT '');
INSERT INTO kandev_meta VALUES ('pending_action_projection_epoch', '41');
INSERT INTO workspaces VALUES ('w1', 'Garden');
INSERT INTO tasks (id, workspace_id, title, created_at, updated_at) VALUES
    ('t1', 'w1', 'Paint the fence', '2026-08-17 10:00:00.123456789+00:00', '2026-08-17T12:00:00Z'),
    ('t2', '', 'Mow the lawn', '2026-08-17 10:00:00', 'yesterday');
";

/// A database of theirs.
struct Kandev {
    folder: TempDir,
    conn: SqliteConnection,
}

impl Kandev {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let mut conn = SqliteConnection::establish(folder.path().join("kandev.db").to_str().unwrap()).unwrap();
        conn.batch_execute(SCHEMA).unwrap();
        Self { folder, conn }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("kandev.db")
    }

    fn session(&mut self, id: &str, task: &str, state: &str) {
        self.run(&format!(
            "INSERT INTO task_sessions (id, task_id, state, started_at, updated_at)
             VALUES ('{id}', '{task}', '{state}', '2026-08-17 10:00:00+00:00', '2026-08-17 11:00:00+00:00')"
        ));
    }

    /// A turn that began at that minute, and is open.
    fn turn(&mut self, id: &str, session: &str, minute: u32, metadata: &str) {
        self.run(&format!(
            "INSERT INTO task_session_turns (id, task_session_id, task_id, started_at, metadata, created_at, updated_at)
             VALUES ('{id}', '{session}', '', '2026-08-17 12:{minute:02}:00+02:00', '{metadata}',
                 '2026-08-17 10:{minute:02}:00Z', '2026-08-17 10:{minute:02}:00Z')"
        ));
    }

    fn row(&mut self, id: &str, session: &str, turn: &str, kind: &str, metadata: &str) {
        self.run(&format!(
            "INSERT INTO task_session_messages
                 (id, task_session_id, turn_id, author_type, content, type, metadata, created_at, updated_at)
             VALUES ('{id}', '{session}', '{turn}', 'agent', 'as it was said', '{kind}', '{metadata}',
                 '2026-08-17 10:30:00.5+00:00', '2026-08-17 10:30:00.5+00:00')"
        ));
    }

    /// A question of a bundle; further keys of its metadata.
    fn question(&mut self, id: &str, session: &str, turn: &str, bundle: &str, further: &Value) {
        let mut metadata = json!({
            "pending_id": bundle, "question_id": id, "question_index": 0, "question_total": 1, "context": "",
            "question": { "id": id, "title": "Colour", "prompt": "Which colour?", "options": [
                { "option_id": format!("{id}_opt1"), "label": "Red", "description": "As the barn" },
                { "option_id": format!("{id}_opt2"), "label": "White", "description": "As snow" } ] },
        });
        metadata.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        self.row(id, session, turn, "clarification_request", &metadata.to_string());
    }

    fn run(&mut self, statement: &str) {
        self.conn.batch_execute(statement).unwrap();
    }

    /// Nobody has it open any more.
    fn close(self) -> (TempDir, PathBuf, Vec<u8>) {
        let file = self.file();
        drop(self.conn);
        let bytes = std::fs::read(&file).unwrap();
        (self.folder, file, bytes)
    }
}

async fn import(home: &Home, file: &Path) -> Result<Imported, Error> {
    let store = Store::open(&home.options()).await.unwrap();
    let done = store.import(file, Some("scripted".into()), System.now()).await;
    // What was left midway, or cannot be read, is for the start.
    let mut found = store.check().await.unwrap();
    found.retain(|violation| !["INV-25", "INV-34"].contains(&violation.invariant));
    assert!(found.is_empty(), "{found:?}");
    store.close().await.unwrap();
    done
}

/// Imports, starts a server on it, and gives the lines that the import told.
async fn served(kandev: Kandev) -> (App, Imported) {
    let (folder, file, before) = kandev.close();
    let home = Home::new();
    let done = import(&home, &file).await.unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing stands beside it");
    (App::start_on(home, |_| {}).await.unwrap(), done)
}

const INBOX: &str = "{ pendingClarifications(first: 50) { edges { node { pendingId } } } }";

async fn inbox(app: &App) -> Vec<String> {
    let found = app.local().ask_for(INBOX, json!({})).await;
    let edges = found["edges"].as_array().unwrap();
    edges.iter().map(|edge| edge["node"]["pendingId"].as_str().unwrap().to_owned()).collect()
}

fn told(done: &Imported, of: &str) -> String {
    let lines: Vec<_> = done.notes.iter().filter(|line| line.contains(of)).collect();
    assert_eq!(lines.len(), 1, "{of}: {:?}", done.notes);
    lines[0].clone()
}

#[tokio::test]
async fn an_imported_question_of_the_current_turn_is_answered_and_one_of_an_older_turn_is_history() {
    let mut kandev = Kandev::new();
    kandev.session("s", "t1", "RUNNING");
    kandev.turn("newer", "s", 20, "{}");
    kandev.turn("older", "s", 10, "{}");
    kandev.question("old", "s", "older", "history", &json!({ "status": "pending" }));
    // Statuses that nobody wrote, and a sibling that was answered and never knew its turn.
    kandev.question("q1", "s", "newer", "current", &json!({ "agent_disconnected": "1" }));
    let answer = json!({ "question_id": "q2", "custom_text": "long ago" });
    kandev.question("q2", "s", "", "current", &json!({ "status": "answered", "response": answer }));
    let (app, done) = served(kandev).await;
    assert_eq!((done.tasks, done.sessions, done.turns, done.messages, done.active), (2, 1, 2, 3, 1));
    assert_eq!(inbox(&app).await, ["current"]);
    let turns = "SELECT id || ' ' || COALESCE(end_kind, 'open') AS line FROM task_session_turns ORDER BY ordinal";
    assert_eq!(app.home().lines(turns), ["older superseded", "newer open"]);
    let started = "SELECT CAST(started_us AS TEXT) AS line FROM task_session_turns WHERE id = 'newer'";
    assert_eq!(app.home().lines(started), ["1786962000000000"], "12:20 at +02:00");
    let respond = "mutation($input: RespondInput!) { respond(input: $input) { __typename } }";
    let answers = json!([{ "questionId": "q1", "optionIds": ["q1_opt1"] }]);
    let late = json!({ "input": { "pendingId": "history", "clientKey": "k1", "answers": [{ "questionId": "old", "optionIds": ["old_opt1"] }] } });
    assert_eq!(app.local().ask_for(respond, late).await["__typename"], "ResponseConflict");
    let now = json!({ "input": { "pendingId": "current", "clientKey": "k2", "answers": answers } });
    assert_eq!(app.local().ask_for(respond, now).await["__typename"], "ResponseAccepted");
    app.finish().await;
}

#[tokio::test]
async fn revisions_of_an_imported_session_are_newer_than_any_that_its_old_server_told() {
    let mut kandev = Kandev::new();
    kandev.session("s", "t1", "RUNNING");
    kandev.turn("turn", "s", 10, "{}");
    let (app, _) = served(kandev).await;
    let epoch = "{ session(id: \"s\") { projection { revision { epoch } } } }";
    let found = app.local().ask_for(epoch, json!({})).await;
    let epoch: i64 = found["projection"]["revision"]["epoch"].as_str().unwrap().parse().unwrap();
    assert!(epoch > 41, "{epoch}");
    app.finish().await;
}

#[tokio::test]
async fn what_the_old_server_left_midway_is_recovered_by_the_first_start() {
    let mut kandev = Kandev::new();
    // A claim whose dispatch never left: its reservation goes, its rows are given back.
    kandev.session("s1", "t1", "WAITING_FOR_INPUT");
    kandev.turn("asked", "s1", 10, "{}");
    let claim = json!({ "status": "answered", "response_delivery_pending": "true" });
    kandev.question("q", "s1", "asked", "claimed", &claim);
    kandev.turn(
        "reserved",
        "s1",
        20,
        r#"{"prompt_dispatch_pending": 1, "prompt_dispatch_clarification_pending_id": "claimed",
        "prompt_dispatch_clarification_turn_id": "asked", "prompt_dispatch_clarification_message_ids": ["q"]}"#,
    );
    // One that may have left stays taken.
    kandev.session("s2", "t1", "RUNNING");
    kandev.turn("before", "s2", 10, "{}");
    kandev.question("sent", "s2", "before", "attempted", &claim);
    kandev.turn("tried", "s2", 20, r#"{"prompt_dispatch_pending": true, "prompt_dispatch_attempted": "1", "prompt_dispatch_clarification_pending_id": "attempted",
        "prompt_dispatch_clarification_turn_id": "before", "prompt_dispatch_clarification_message_ids": ["sent"]}"#);
    // A session that was over with a question open.
    kandev.session("s3", "t2", "FAILED");
    kandev.turn("last", "s3", 10, "{}");
    kandev.question("late", "s3", "last", "over", &json!({ "status": "pending" }));
    // A turn of which nobody heard.
    kandev.session("s4", "t2", "RUNNING");
    kandev.turn("silent", "s4", 10, r#"{"prompt_dispatch_start_event_pending": true}"#);
    let (app, _) = served(kandev).await;
    assert_eq!(inbox(&app).await, ["claimed"]);
    let recovery = app.recovery();
    assert_eq!((recovery.rolled_back, recovery.kept, recovery.restored, recovery.expired), (1, 1, 1, 1));
    // That nothing waits to be told in the end is looked at by `finish`.
    let heard = "SELECT event_id AS line FROM outbox_events WHERE event_id LIKE 'silent-%'";
    assert_eq!(app.home().lines(heard), ["silent-started"]);
    app.finish().await;
}

#[tokio::test]
async fn rows_that_nobody_may_act_upon_are_inert_and_each_is_told() {
    let mut kandev = Kandev::new();
    kandev.session("s", "t1", "RUNNING");
    kandev.turn("turn", "s", 10, "[not an object");
    kandev.row("torn", "s", "turn", "clarification_request", "{\"pending_id\": ");
    kandev.row("bare", "s", "turn", "clarification_request", "{\"pending_id\": \"bare\"}");
    kandev.question("between", "s", "turn", "agents", &json!({ "parent_question": true }));
    kandev.question("nowhere", "s", "gone", "lost", &json!({}));
    kandev.question("a", "s", "turn", "split", &json!({}));
    kandev.question("b", "s", "gone", "split", &json!({}));
    kandev.session("odd", "t1", "DREAMING");
    kandev.session("astray", "t9", "RUNNING");
    kandev.row("orphan", "nobody", "", "message", "{}");
    kandev.run("UPDATE tasks SET created_at = 'some day' WHERE id = 't2'");
    let (app, done) = served(kandev).await;
    for (of, why) in [
        ("turn turn", "no JSON object"),
        ("message torn", "no JSON object"),
        ("message bare", "its question makes no question"),
        ("message between", "asked another agent"),
        ("bundle lost", "its turn gone is not there"),
        ("bundle split", "name 2 turns"),
        ("session odd", "taken as FAILED"),
        ("session astray", "its task t9 is not there"),
        ("left out, their sessions", "1 turns and messages"),
        ("task t2", "time cannot be read"),
    ] {
        assert!(told(&done, of).contains(why), "{of}: {:?}", done.notes);
    }
    assert_eq!((done.noted, done.active), (10, 0));
    assert_eq!(inbox(&app).await, Vec::<String>::new());
    app.finish().await;
}

#[tokio::test]
async fn recovery_keys_that_cannot_be_read_are_told_and_refuse_the_start() {
    let mut kandev = Kandev::new();
    kandev.session("s", "t1", "RUNNING");
    kandev.turn(
        "turn",
        "s",
        10,
        r#"{"prompt_dispatch_pending": true, "prompt_dispatch_clarification_message_ids": "q"}"#,
    );
    let (_folder, file, _) = kandev.close();
    let home = Home::new();
    let done = import(&home, &file).await.unwrap();
    assert!(told(&done, "turn turn").contains("REFUSES"));
    let refused = App::start_on(home, |_| {}).await.err().unwrap();
    assert!(refused.to_string().contains("turn"), "{refused}");
}

#[tokio::test]
async fn an_import_into_a_database_with_tasks_or_of_another_program_changes_nothing() {
    let mut kandev = Kandev::new();
    kandev.session("s", "t1", "RUNNING");
    let (folder, file, _) = kandev.close();
    let home = Home::new();
    import(&home, &file).await.unwrap();
    assert!(matches!(import(&home, &file).await, Err(Error::NotEmpty)));
    assert_eq!(home.lines("SELECT id AS line FROM task_sessions"), ["s"]);
    let other = folder.path().join("other.db");
    std::fs::write(&other, "no database").unwrap();
    for file in [other, folder.path().join("absent.db")] {
        let fresh: Arc<Home> = Home::new();
        assert!(matches!(import(&fresh, &file).await, Err(Error::Source(_))), "{}", file.display());
        assert_eq!(fresh.lines("SELECT id AS line FROM tasks"), Vec::<String>::new());
    }
}
