//! Several connections and several openers of one PostgreSQL database: who comes second sees what the first did, the
//! log has no holes, and the pool outlives its connections. May import: the store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diesel::prelude::*;
use diesel::sql_types::{Integer, Text};
use diesel::sqlite::SqliteConnection;
use diesel_async::{
    AsyncConnection, AsyncMigrationHarness, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection,
};
use diesel_migrations::MigrationHarness;

use crate::ids::{Epoch, EventId, Position, TaskId};
use crate::lifecycle::{Admission, Refusal, decide};
use crate::store::postgres::{self, statements};
use crate::store::{Error, PostgresOptions, Store, sqlite};

use super::postgres::{Database, Server};
use super::support::{Home, accept, respond};

async fn connection(url: &str) -> AsyncPgConnection {
    AsyncPgConnection::establish(url).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_new_turn_and_an_answer_at_once_the_second_sees_the_first() {
    let home = Home::on_postgres().await;
    let second = Store::open(&home.options).await.unwrap();
    let (mut answered, mut superseded) = (0, 0);
    for round in 0..40 {
        let session = home.session().await;
        home.turn(&session).await;
        let bundle = home.ask(&session, "a", 1, Some("w")).await;
        let (answer, turn) = (respond(&bundle, 1, "r"), accept(Admission::Immediate));
        let (one, two) = (home.stamp(), home.stamp());
        let (answer_focus, turn_focus) = (answer.focus(), turn.focus());
        let claim =
            home.store.transact(&session, answer_focus, home.epoch, move |view| decide(view, &answer, &one));
        let accept = second.transact(&session, turn_focus, home.epoch, move |view| decide(view, &turn, &two));
        let (claimed, accepted) = if round % 2 == 0 {
            tokio::join!(claim, accept)
        } else {
            let (accepted, claimed) = tokio::join!(accept, claim);
            (claimed, accepted)
        };
        match (claimed.unwrap(), accepted.unwrap()) {
            (Ok(_), _) => answered += 1,
            (Err(Refusal::Conflict { .. }), Ok(_)) => superseded += 1,
            other => panic!("{other:?}"),
        }
    }
    println!("answered first {answered}, superseded first {superseded}");
    let broken = |found: &crate::store::Violation| !["INV-34", "INV-37"].contains(&found.invariant);
    assert_eq!(home.store.check().await.unwrap().into_iter().filter(broken).collect::<Vec<_>>(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_the_log_misses_nothing_that_sixteen_writers_append() {
    const WRITERS: usize = 16;
    const EACH: usize = 25;
    let home = Home::on_postgres().await;
    let url = Arc::new(home.url().to_owned());
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (store, is_over) = (home.store.clone(), Arc::clone(&is_over));
            tokio::spawn(async move {
                let (mut seen, mut at) = (Vec::new(), Position(0));
                loop {
                    let was_over = AtomicBool::load(&is_over, Ordering::Acquire);
                    let rows = store.outbox_after(at, 7).await.unwrap();
                    if rows.is_empty() && was_over {
                        return seen;
                    }
                    at = rows.last().map_or(at, |row| row.position);
                    seen.extend(rows.into_iter().map(|row| row.event.id));
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            })
        })
        .collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let url = Arc::clone(&url);
            tokio::spawn(async move {
                let conn = &mut connection(&url).await;
                for number in 0..EACH {
                    let id = format!("{writer:02}-{number:03}");
                    let hold = Duration::from_micros(u64::try_from((writer * 37 + number * 101) % 3_000).unwrap());
                    conn.batch_execute("BEGIN").await.unwrap();
                    let task = crate::store::TaskRow {
                        id: TaskId::new(id.as_str()),
                        workspace_id: crate::ids::WorkspaceId::new("w"),
                        title: String::new(),
                        description: String::new(),
                        state: String::new(),
                        created_at: crate::ids::Micros(1),
                        updated_at: crate::ids::Micros(1),
                        last_activity_at: crate::ids::Micros(1),
                    };
                    statements::tasks::insert(conn, task, EventId::new(id)).await.unwrap();
                    tokio::time::sleep(hold).await;
                    let end = if number % 5 == 4 { "ROLLBACK" } else { "COMMIT" };
                    conn.batch_execute(end).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    is_over.store(true, Ordering::Release);
    let all = home.store.outbox_after(Position(0), 10_000).await.unwrap();
    let all: Vec<_> = all.into_iter().map(|row| row.event.id).collect();
    assert_eq!(all.len(), WRITERS * (EACH - EACH / 5) + 1);
    for reader in readers {
        assert_eq!(reader.await.unwrap(), all);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_goes_while_its_summary_is_written_meets_no_deadlock() {
    let home = Home::on_postgres().await;
    for round in 0..60 {
        let id = format!("task{round}");
        home.add_task(&id).await;
        let session = home.session_of(&id).await;
        home.turn(&session).await;
        let (id, now) = (TaskId::new(id), home.now());
        let [gone, told] = [(); 2].map(|()| EventId::from(home.stamp().base));
        let settle = home.store.summary_settle(&id, crate::lifecycle::SummaryPatch::default(), now, told);
        let (deleted, settled) = tokio::join!(home.store.task_delete(&id, now, gone), settle);
        assert!(deleted.unwrap());
        settled.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pool_outlives_its_connections_and_its_server() {
    let server = Server::start();
    let name = server.database();
    let home = Home::at(PostgresOptions::new(server.url(&name))).await;
    let session = home.session().await;
    home.turn(&session).await;
    let conn = &mut connection(home.url()).await;
    conn.batch_execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = 'answerable' AND pid <> pg_backend_pid()",
    )
    .await
    .unwrap();
    home.ask(&session, "a", 1, None).await;
    for signal in ["INT", "QUIT"] {
        server.restart(signal);
        let bundle = home.ask(&session, signal, 2, None).await;
        let rows = home.store.bundles(&[bundle]).await.unwrap();
        assert_eq!(rows[0].bundle.questions.len(), 2);
    }
    home.store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn four_openers_of_an_empty_database_make_one_schema() {
    let database = Database::new();
    let open = || async { Store::open(&PostgresOptions::new(database.url()).into()).await };
    let (one, two, three, four) = tokio::join!(open(), open(), open(), open());
    let id = one.unwrap().store_id().await.unwrap();
    for store in [two, three, four] {
        assert_eq!(store.unwrap().store_id().await.unwrap(), id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_for_this_program_is_refused_in_words() {
    let database = Database::new();
    let options = PostgresOptions::new(database.url()).into();
    assert!(matches!(Store::open_to_read(&options).await, Err(Error::Foreign(_))));
    let conn = &mut connection(&database.url()).await;
    conn.batch_execute("CREATE TABLE theirs (id INT)").await.unwrap();
    assert!(matches!(Store::open(&options).await, Err(Error::Foreign(_))));
    conn.batch_execute("DROP TABLE theirs").await.unwrap();
    Store::open(&options).await.unwrap().close().await.unwrap();
    let read = Store::open_to_read(&options).await.unwrap();
    assert_eq!(read.workspaces().await.unwrap(), []);
    assert!(matches!(read.epoch_allocate("", Duration::ZERO, crate::ids::Micros(1)).await, Err(Error::Closed)));
    conn.batch_execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('20991231000000')")
        .await
        .unwrap();
    for opened in [Store::open(&options).await, Store::open_to_read(&options).await] {
        let Err(Error::NewerSchema { found, known }) = opened else { panic!("it opened") };
        assert!(found == "20991231000000" && known < found);
    }
    let encrypted = PostgresOptions::new("postgres://me:secret@localhost/x?sslmode=require").into();
    let Err(error) = Store::open(&encrypted).await else { panic!("it opened") };
    assert!(error.to_string().contains("sslmode=require") && !error.to_string().contains("secret"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generation_that_is_over_writes_nothing_more() {
    let home = Home::on_postgres().await;
    let session = home.session().await;
    let newer = home.store.epoch_allocate("", Duration::ZERO, home.now()).await.unwrap();
    assert!(newer > home.epoch);
    let answer = home.try_run(&session, accept(Admission::Immediate)).await;
    let Err(Error::Fenced(epoch)) = answer else { panic!("{answer:?}") };
    assert_eq!(epoch, home.epoch);
    assert_ne!(epoch, Epoch(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_leaves_no_transaction_open() {
    let home = Home::on_postgres().await;
    let session = home.session().await;
    for round in 0..20 {
        let call = home.try_run(&session, accept(Admission::Immediate));
        let _ = tokio::time::timeout(Duration::from_micros(round * 150), call).await;
    }
    home.session().await;
    home.store.close().await.unwrap();
    let conn = &mut connection(home.url()).await;
    let open = "SELECT pid::text AS text FROM pg_stat_activity
        WHERE application_name = 'answerable' AND state LIKE 'idle in transaction%' AND datname = current_database()";
    assert_eq!(diesel::sql_query(open).load::<Line>(conn).await.unwrap(), []);
}

#[derive(QueryableByName, Debug, PartialEq)]
struct Line {
    #[diesel(sql_type = Text)]
    text: String,
}

/// Tables with columns, views with columns, and indexes, each as a line.
const OF_POSTGRES: &str = "SELECT table_name || '.' || column_name || ' '
        || CASE data_type WHEN 'bytea' THEN 'blob' ELSE data_type END
        || CASE WHEN is_generated = 'ALWAYS' THEN ' generated' ELSE '' END
        || CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END AS text
    FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT LIKE '\\_\\_diesel%'
    UNION ALL SELECT table_name || '.' || column_name FROM information_schema.columns
        JOIN information_schema.views USING (table_schema, table_name) WHERE table_schema = 'public'
    UNION ALL SELECT 'index ' || c.relname || ' of ' || t.relname || CASE WHEN i.indisunique THEN ' unique' ELSE '' END
        || CASE WHEN i.indpred IS NULL THEN '' ELSE ' partial' END
        || (SELECT string_agg(' ' || a.attname, '' ORDER BY k.place)
            FROM unnest(i.indkey) WITH ORDINALITY AS k(number, place)
            JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
    WHERE t.relnamespace = 'public'::regnamespace AND t.relname NOT LIKE '\\_\\_diesel%'
        AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = c.oid)";
const OF_SQLITE: &str = "SELECT m.name || '.' || x.name || ' '
        || CASE lower(x.type) WHEN 'integer' THEN 'bigint' ELSE lower(replace(x.type, ' GENERATED ALWAYS', '')) END
        || CASE WHEN x.hidden > 1 THEN ' generated' ELSE '' END || CASE x.\"notnull\" WHEN 1 THEN ' not null' ELSE '' END
        AS text
    FROM sqlite_master m JOIN pragma_table_xinfo(m.name) x
    WHERE m.type = 'table' AND m.name NOT LIKE '\\_\\_diesel%' ESCAPE '\\' AND m.name NOT LIKE 'sqlite%'
    UNION ALL SELECT m.name || '.' || x.name FROM sqlite_master m JOIN pragma_table_xinfo(m.name) x WHERE m.type = 'view'
    UNION ALL SELECT 'index ' || l.name || ' of ' || m.name || CASE l.\"unique\" WHEN 1 THEN ' unique' ELSE '' END
        || CASE l.partial WHEN 1 THEN ' partial' ELSE '' END
        || (SELECT group_concat(' ' || name, '') FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno))
    FROM sqlite_master m JOIN pragma_index_list(m.name) l
    WHERE m.type = 'table' AND l.origin = 'c' AND m.name NOT LIKE '\\_\\_diesel%' ESCAPE '\\'";

#[tokio::test(flavor = "multi_thread")]
async fn both_schemas_have_the_same_tables_columns_views_and_indexes() {
    let home = Home::on_postgres().await;
    let conn = &mut connection(home.url()).await;
    let lines = |rows: Vec<Line>| rows.into_iter().map(|row| row.text).collect::<BTreeSet<_>>();
    let postgres = lines(diesel::sql_query(OF_POSTGRES).load(conn).await.unwrap());
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.run_pending_migrations(sqlite::MIGRATIONS).unwrap();
    let sqlite = diesel::RunQueryDsl::load(diesel::sql_query(OF_SQLITE), &mut conn).unwrap();
    assert!(postgres.len() > 120, "only {} things are compared", postgres.len());
    assert_eq!(postgres, lines(sqlite));
}

#[tokio::test(flavor = "multi_thread")]
async fn up_down_and_up_again_leaves_a_working_store() {
    let home = Home::on_postgres().await;
    let session = home.session().await;
    home.turn(&session).await;
    home.ask(&session, "a", 2, Some("w")).await;
    home.store.close().await.unwrap();
    let mut harness = AsyncMigrationHarness::new(connection(home.url()).await);
    harness.revert_all_migrations(postgres::MIGRATIONS).unwrap();
    let left = "SELECT proname::text AS text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT relname::text FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE '\\_\\_diesel%'";
    let conn = &mut harness.into_inner();
    assert_eq!(diesel::sql_query(left).load::<Line>(conn).await.unwrap(), []);
    let again = Store::open(&home.options).await.unwrap();
    assert_eq!(again.workspaces().await.unwrap(), []);
}

#[derive(QueryableByName)]
struct Plan {
    #[diesel(sql_type = Text)]
    #[diesel(column_name = "QUERY PLAN")]
    plan: String,
}

/// The least plan with scans switched off shows whether there is another way at all.
#[tokio::test(flavor = "multi_thread")]
async fn no_statement_has_to_walk_messages_or_turns() {
    let home = Home::on_postgres().await;
    super::plans::record(&home);
    super::plans::work(&home).await;
    let statements: BTreeSet<String> = super::plans::recorded(&home)
        .iter()
        .filter_map(|text| Some(text.rsplit_once(" -- binds: ")?.0.to_owned()))
        .filter(|sql| !sql.contains("pg_advisory"))
        .collect();
    assert!(statements.len() > 40, "only {} statements were seen", statements.len());
    let conn = &mut connection(home.url()).await;
    // A generic plan is one for any values: what a prepared statement has to live with.
    conn.batch_execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan").await.unwrap();
    for sql in statements {
        conn.batch_execute(&format!("PREPARE p AS {sql}")).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let count: Vec<Count> =
            diesel::sql_query("SELECT cardinality(parameter_types) AS count FROM pg_prepared_statements")
                .load(conn)
                .await
                .unwrap();
        let count = count.iter().map(|row| row.count).max().unwrap();
        let nulls = vec!["NULL"; usize::try_from(count).unwrap()].join(", ");
        let values = if nulls.is_empty() { nulls } else { format!("({nulls})") };
        let plans: Vec<Plan> = diesel::sql_query(format!("EXPLAIN EXECUTE p{values}")).load(conn).await.unwrap();
        for line in &plans {
            let is_walk = line.plan.contains("Seq Scan on task_session_messages")
                || line.plan.contains("Seq Scan on task_session_turns");
            assert!(!is_walk, "{} in {sql}", line.plan);
        }
        conn.batch_execute("DEALLOCATE p").await.unwrap();
    }
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = Integer)]
    count: i32,
}
