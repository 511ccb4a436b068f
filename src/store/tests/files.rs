//! The file: one process, ours, known schema, whole after a kill. May import: the store.

use std::io::{BufRead, BufReader};
use std::process::{Command as Process, Stdio};

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

use crate::ids::{PendingId, Position};
use crate::store::{Error, Store, StoreOptions};

use super::support::Home;

#[tokio::test]
async fn a_second_opener_is_refused_and_told_who_has_it() {
    let mut home = Home::new().await;
    let Err(Error::Held { holder }) = Store::open(&home.options).await else { panic!("it opened twice") };
    assert_eq!(holder, format!("process {}", std::process::id()));
    home.restart().await;
    assert_eq!(home.store.workspaces().await.unwrap().len(), 1);
}

#[tokio::test]
async fn identity_outlives_a_restart_and_generations_grow() {
    let mut home = Home::new().await;
    let (id, epoch) = (home.store.store_id().await.unwrap(), home.epoch);
    home.restart().await;
    assert_eq!(home.store.store_id().await.unwrap(), id);
    assert!(home.epoch > epoch);
    assert_eq!(home.store.newest_epoch().await.unwrap(), home.epoch);
}

#[tokio::test]
async fn a_file_that_is_not_ours_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "These are my notes, and no database.").unwrap();
    assert!(matches!(Store::open(&StoreOptions::new(&text)).await, Err(Error::Foreign(_))));
    assert_eq!(std::fs::read_to_string(&text).unwrap(), "These are my notes, and no database.");

    let other = directory.path().join("other.db");
    let mut conn = SqliteConnection::establish(other.to_str().unwrap()).unwrap();
    conn.batch_execute("CREATE TABLE theirs (id INTEGER)").unwrap();
    assert!(matches!(Store::open(&StoreOptions::new(&other)).await, Err(Error::Foreign(_))));
}

#[tokio::test]
async fn a_newer_schema_is_refused_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plain.db");
    let options = StoreOptions::new(&path);
    Store::open(&options).await.unwrap().close().await.unwrap();
    let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    conn.batch_execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('20991231000000')").unwrap();
    drop(conn);
    let Err(Error::NewerSchema { found, known }) = Store::open(&options).await else { panic!("it opened") };
    assert_eq!(found, "20991231000000");
    assert!(known < found);
}

const KILLED: &str = "ANSWERABLE_TEST_KILLED_STORE";

/// The process that gets killed; as a test of its own it does nothing.
#[tokio::test]
async fn asks_until_it_is_killed() {
    let Ok(path) = std::env::var(KILLED) else { return };
    let home = Home::at(StoreOptions::new(path)).await;
    let session = home.session().await;
    home.turn(&session).await;
    for number in 0.. {
        let bundle = home.ask(&session, &format!("a{number}"), 3, None).await;
        println!("acknowledged {bundle}");
    }
}

#[tokio::test]
async fn a_kill_loses_nothing_acknowledged_and_leaves_nothing_half() {
    let directory = tempfile::tempdir().unwrap();
    for round in 1..=5 {
        let path = directory.path().join(format!("{round}.db"));
        let mut child = Process::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::tests::files::asks_until_it_is_killed", "--nocapture"])
            .env(KILLED, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let named = |line: String| line.strip_prefix("acknowledged ").map(PendingId::new);
        let mut lines = lines.filter_map(named);
        let mut acknowledged: Vec<PendingId> = lines.by_ref().take(round * 7).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged.extend(lines);
        assert!(acknowledged.len() >= round * 7);

        let store = Store::open(&StoreOptions::new(&path)).await.unwrap();
        let rows = store.bundles(&acknowledged).await.unwrap();
        assert_eq!(rows.len(), acknowledged.len());
        assert!(rows.iter().all(|row| row.bundle.questions.len() == 3 && row.is_current));
        let all = store.bundles_of_session(&rows[0].session_id, 10_000).await.unwrap();
        assert!(all.iter().all(|row| row.bundle.questions.len() == 3));
        // One event of each question, and one of the projection of each ask: no ask without its events.
        let events = store.outbox_after(Position(0), 100_000).await.unwrap();
        let added =
            events.iter().filter(|row| matches!(row.event.kind, crate::lifecycle::EventKind::MessageAdded { .. }));
        // The prompt of the first turn is a message too.
        assert_eq!(added.count(), all.len() * 3 + 1);
    }
}
