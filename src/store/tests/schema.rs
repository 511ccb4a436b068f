//! The schema: up, down and up again with data in it, and generated columns that read metadata as Rust does.
//! May import: the store, lifecycle.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use diesel_migrations::MigrationHarness;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use crate::ids::{Generation, MessageId, Micros, Ordinal, TurnId};
use crate::lifecycle::{
    Admission, Command, Focus, QUESTION_KIND, QuestionColumns, Turn, TurnKind, read_question, read_turn,
};
use crate::store::Store;
use crate::store::sqlite::MIGRATIONS;

use super::support::{Home, accept, respond};

#[tokio::test]
async fn up_down_and_up_again_leaves_a_working_store() {
    let home = Home::with(|options| options.path.set_file_name("plain.db")).await;
    let session = home.session().await;
    home.turn(&session).await;
    let bundle = home.ask(&session, "a", 2, None).await;
    home.run(&session, respond(&bundle, 2, "r")).await;
    let other = home.session().await;
    home.turn(&other).await;
    home.ask(&other, "a", 1, Some("w")).await;
    let third = home.session().await;
    home.run(&third, accept(Admission::Dispatch)).await;
    home.store.close().await.unwrap();

    let mut conn = SqliteConnection::establish(home.file().to_str().unwrap()).unwrap();
    conn.revert_all_migrations(MIGRATIONS).unwrap();
    let left = diesel::sql_query(
        "SELECT count(*) AS value FROM sqlite_master \
         WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_\\_diesel%' ESCAPE '\\'",
    );
    assert_eq!(left.get_result::<Number>(&mut conn).unwrap().value, 0);
    drop(conn);
    let again = Store::open(&home.options).await.unwrap();
    assert_eq!(again.workspaces().await.unwrap(), []);
    assert_eq!(again.view(&session, Focus::default()).await.unwrap(), Default::default());
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    value: i64,
}

#[derive(QueryableByName, Debug, PartialEq)]
struct MessageColumns {
    #[diesel(sql_type = Bool)]
    is_question: bool,
    #[diesel(sql_type = Nullable<Text>)]
    pending_id: Option<String>,
    #[diesel(sql_type = Text)]
    status: String,
    #[diesel(sql_type = Bool)]
    is_open: bool,
    #[diesel(sql_type = Bool)]
    has_intent: bool,
    #[diesel(sql_type = Bool)]
    is_detached: bool,
}

#[derive(QueryableByName, Debug, PartialEq)]
struct TurnColumns {
    #[diesel(sql_type = Bool)]
    is_reserved: bool,
    #[diesel(sql_type = Bool)]
    is_attempted: bool,
    #[diesel(sql_type = Bool)]
    is_visible: bool,
    #[diesel(sql_type = Bool)]
    is_authoritative: bool,
    #[diesel(sql_type = Bool)]
    has_watchdog: bool,
    #[diesel(sql_type = BigInt)]
    watchdog_us: i64,
}

fn value() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(true),
        json!("true"),
        json!("1"),
        json!(1),
        json!(false),
        json!("false"),
        json!(0),
        json!(2),
        json!(1.0),
        json!(1.5),
        json!(null),
        json!(""),
        json!("p"),
        json!("pending"),
        json!("answered"),
        json!("odd ' \" text"),
        json!([]),
        json!([true]),
        json!({}),
        json!({"id": "q"}),
        json!(-7),
        json!({"id": "q", "prompt": "?"}),
        json!({"prompt": "?"}),
        json!({"id": null, "prompt": "?"}),
        json!({"id": "q", "prompt": 4}),
        json!({"id": 4, "prompt": "?"}),
        json!({"id": "", "prompt": ""}),
    ])
}

/// A question that can be read, with some keys set to anything.
fn question() -> impl Strategy<Value = Map<String, Value>> {
    let key = prop::sample::select(vec![
        "pending_id",
        "question",
        "question_id",
        "status",
        "agent_disconnected",
        "response_delivery_pending",
    ]);
    proptest::collection::vec((key, value()), 0..4).prop_map(|changes| {
        let mut map = Map::new();
        map.insert("pending_id".into(), json!("p"));
        map.insert("question".into(), json!({"id": "q", "prompt": "?"}));
        map.extend(changes.into_iter().map(|(key, value)| (key.to_owned(), value)));
        map
    })
}

fn turn() -> impl Strategy<Value = Map<String, Value>> {
    let key = prop::sample::select(vec![
        "prompt_dispatch_pending",
        "prompt_dispatch_attempted",
        "watchdog_pending_id",
        "watchdog_deadline_us",
    ]);
    proptest::collection::vec((key, value()), 0..5)
        .prop_map(|changes| changes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn connection() -> SqliteConnection {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.run_pending_migrations(MIGRATIONS).unwrap();
    diesel::sql_query("PRAGMA foreign_keys = OFF").execute(&mut conn).unwrap();
    conn
}

fn text(map: &Map<String, Value>) -> String {
    Value::Object(map.clone()).to_string()
}

#[test]
fn generated_columns_of_messages_read_metadata_as_rust_does() {
    let conn = std::cell::RefCell::new(connection());
    let mut runner = TestRunner::new(Config { cases: 2_000, failure_persistence: None, ..Config::default() });
    let result = runner.run(&question(), |metadata| {
        let conn = &mut *conn.borrow_mut();
        diesel::sql_query("DELETE FROM task_session_messages").execute(conn).unwrap();
        diesel::sql_query("INSERT INTO task_session_messages VALUES ('m', 's', 't', 'agent', ?, '', ?, 1, 1)")
            .bind::<Text, _>(QUESTION_KIND)
            .bind::<Text, _>(text(&metadata))
            .execute(conn)
            .unwrap();
        let stored: MessageColumns =
            diesel::sql_query("SELECT * FROM task_session_messages").get_result(conn).unwrap();
        let columns = QuestionColumns {
            id: MessageId::new("m"),
            turn_id: TurnId::new("t"),
            created_at: Micros(1),
            updated_at: Micros(1),
        };
        let read = read_question(columns, metadata).ok();
        prop_assert_eq!(
            stored,
            MessageColumns {
                is_question: read.is_some(),
                pending_id: read.as_ref().map(|q| q.pending_id.as_str().to_owned()),
                status: read.as_ref().map(|q| q.status.as_str().to_owned()).unwrap_or_default(),
                is_open: read.as_ref().is_some_and(|q| q.is_pending()),
                has_intent: read.as_ref().is_some_and(|q| q.has_intent()),
                is_detached: read.as_ref().is_some_and(|q| q.is_detached),
            }
        );
        Ok(())
    });
    result.unwrap();
}

#[test]
fn generated_columns_of_turns_read_metadata_as_rust_does() {
    let conn = std::cell::RefCell::new(connection());
    let mut runner = TestRunner::new(Config { cases: 2_000, failure_persistence: None, ..Config::default() });
    let result = runner.run(&(turn(), any::<bool>()), |(metadata, has_evidence)| {
        let conn = &mut *conn.borrow_mut();
        diesel::sql_query("DELETE FROM task_session_turns").execute(conn).unwrap();
        diesel::sql_query(
            "INSERT INTO task_session_turns VALUES ('t', 's', 1, 'work', 1, 1, 1, NULL, NULL, ?, ?)",
        )
        .bind::<Bool, _>(has_evidence)
        .bind::<Text, _>(text(&metadata))
        .execute(conn)
        .unwrap();
        let stored: TurnColumns = diesel::sql_query("SELECT * FROM task_session_turns").get_result(conn).unwrap();
        let bare = Turn {
            id: TurnId::new("t"),
            ordinal: Ordinal(1),
            kind: TurnKind::Work,
            generation: Generation(1),
            started_at: Micros(1),
            wall_at: Micros(1),
            end: None,
            has_evidence,
            reservation: None,
            dispatch_outcome: None,
            lease: None,
            watchdog: None,
            malformed: None,
            rest: Map::new(),
        };
        let deadline = metadata.get("watchdog_deadline_us").and_then(Value::as_i64).unwrap_or(0);
        let turn = read_turn(bare, metadata);
        prop_assert_eq!(
            stored,
            TurnColumns {
                is_reserved: turn.reservation.is_some(),
                is_attempted: turn.reservation.as_ref().is_some_and(|r| r.is_attempted),
                is_visible: turn.is_visible(),
                is_authoritative: turn.is_authoritative(),
                has_watchdog: turn.watchdog.is_some(),
                watchdog_us: deadline,
            }
        );
        Ok(())
    });
    result.unwrap();
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_inert_and_counted_and_its_neighbours_are_served() {
    let home = Home::with(|options| options.path.set_file_name("plain.db")).await;
    let session = home.session().await;
    home.turn(&session).await;
    let bundle = home.ask(&session, "a", 2, None).await;
    let mut conn = SqliteConnection::establish(home.file().to_str().unwrap()).unwrap();
    diesel::sql_query(
        "UPDATE task_session_messages SET metadata = json_set(metadata, '$.question', 'not an object') \
         WHERE id = (SELECT max(id) FROM task_session_messages WHERE is_open)",
    )
    .execute(&mut conn)
    .unwrap();
    let focus = Focus { pending_id: Some(bundle.clone()), ..Focus::default() };
    let view = home.store.view(&session, focus).await.unwrap();
    assert_eq!(view.bundle(&bundle).unwrap().questions.len(), 1);
    let page = crate::store::Page { after: None, before: None, limit: 10, is_backward: false };
    let rows = home.store.messages_page(&session, page).await.unwrap();
    let unread: Vec<_> = rows.iter().filter(|row| row.kind == QUESTION_KIND && row.question.is_none()).collect();
    assert_eq!(unread.len(), 1);
    let focus = Focus { message_id: Some(unread[0].id.clone()), ..Focus::default() };
    home.store.view(&session, focus).await.unwrap();
    assert_eq!(home.store.inert_rows().await.unwrap(), 1);
    home.run(&session, Command::DeleteMessage(unread[0].id.clone())).await;
    home.run(&session, respond(&bundle, 1, "r")).await;
}
