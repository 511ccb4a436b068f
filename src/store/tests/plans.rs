//! How the statements run: none walks messages or turns, and how many there are does not grow with what is asked.
//! May import: the store.

use diesel::prelude::*;
use diesel::sql_types::{Integer, Text};
use diesel::sqlite::SqliteConnection;
use diesel_migrations::MigrationHarness;

use crate::ids::{EventId, Micros, Position, WaiterId, WorkspaceId};
use crate::lifecycle::{Admission, Command, Effect, Focus, Patch, SummaryPatch};
use crate::scope::Scope;
use crate::store::{MessageKey, Page, PendingFilter, TaskFilter, TaskKey, sqlite};

use super::support::{Home, accept, ask, respond};

#[derive(QueryableByName)]
struct Plan {
    #[diesel(sql_type = Integer)]
    #[expect(dead_code, reason = "the columns of EXPLAIN QUERY PLAN are fixed")]
    id: i32,
    #[diesel(sql_type = Text)]
    detail: String,
}

/// Names that messages and turns have in statements and views.
const WALKED: [&str; 8] =
    ["task_session_messages", "task_session_turns", "older", "inner_rows", "m", "o", "t", "c"];

/// Partial indexes that hold only what is open now; walking one whole is what a start and the timers do.
const SMALL: [&str; 5] =
    ["messages_with_intent", "messages_inert", "turns_reserved", "turns_ambiguous", "turns_with_watchdog"];

/// The statement with its values in place of the marks, as one that was bound is planned.
fn bound(recorded: &str) -> String {
    let (sql, binds) = recorded.rsplit_once(" -- binds: [").unwrap();
    let mut values = values(binds.trim_end().trim_end_matches(']')).into_iter();
    let mut text = String::new();
    for part in sql.split_inclusive('?') {
        match part.strip_suffix('?') {
            Some(head) => {
                text.push_str(head);
                text.push_str(&values.next().unwrap());
            }
            None => text.push_str(part),
        }
    }
    text
}

/// Values as Diesel prints them, such as `String("a"), I64(5), Null`, as SQL literals.
fn values(text: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphabetic()) {
        rest = &rest[start..];
        let kind = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap();
        rest = &rest[kind.len()..];
        if let Some(quoted) = rest.strip_prefix("(\"") {
            let (value, length) = unquote(quoted);
            values.push(format!("'{}'", value.replace('\'', "''")));
            rest = &quoted[length..];
        } else if kind == "Null" {
            values.push("NULL".to_owned());
        } else {
            let inner = rest.split([')', ',']).next().unwrap().trim_start_matches('(');
            values.push(if kind.contains("Binary") { "x'00'".to_owned() } else { inner.to_owned() });
            rest = &rest[rest.find(')').unwrap()..];
        }
    }
    values
}

/// The text up to its closing quote, and how many bytes it took.
fn unquote(text: &str) -> (String, usize) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, next)) = chars.next() {
        match next {
            '"' => return (value, at + 1),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    panic!("{text} has no end")
}

/// A search that goes through all of a session's history; only deletions and pages, which stop, may.
fn is_history(sql: &str, detail: &str) -> bool {
    let goes_through = ["messages_by_time (session_id=?)", "turns_by_ordinal (session_id=?)"];
    let is_page =
        sql.contains("LIMIT") && !["UNION", "JOIN", "GROUP", "EXISTS"].iter().any(|word| sql.contains(word));
    goes_through.iter().any(|index| detail.contains(index)) && !sql.starts_with("DELETE") && !is_page
}

fn is_walk(detail: &str) -> bool {
    let Some(rest) = detail.strip_prefix("SCAN ") else { return false };
    let name = rest.split(' ').next().unwrap_or_default();
    WALKED.contains(&name) && !SMALL.iter().any(|index| rest.contains(index))
}

pub(super) fn record(home: &Home) {
    home.store.meter().record();
}

pub(super) fn recorded(home: &Home) -> Vec<String> {
    home.store.meter().recorded()
}

/// Everything a server does with a store.
pub(super) async fn work(home: &Home) {
    let store = &home.store;
    let session = home.session().await;
    let turn = home.turn(&session).await;
    let bundle = home.ask(&session, "a", 2, Some("w")).await;
    let Effect::HandOver(ticket) = home.run(&session, respond(&bundle, 2, "r")).await else { panic!() };
    let waiter = WaiterId::new("w");
    let confirm =
        Command::ConfirmDelivery { pending_id: bundle.clone(), waiter: waiter.clone(), watchdog: Some(Micros(1)) };
    home.run(&session, confirm).await;
    home.run(&session, Command::FireWatchdog(turn.clone())).await;
    home.run(&session, Command::Recover).await;
    let permission = crate::ids::PermissionId::new("perm");
    home.run(&session, Command::RecordPermission { id: permission.clone(), content: String::new() }).await;
    home.run(&session, Command::ResolvePermission { id: permission, status: "denied".into() }).await;
    home.ask(&session, "b", 1, None).await;
    let focus = Focus { message_id: Some(ticket.message_ids[0].clone()), ..Focus::default() };
    store.view(&session, focus).await.unwrap();
    home.run(&session, Command::UpdateMessage { id: first_message(home, &session).await, content: "x".into() })
        .await;
    home.try_run(&session, accept(Admission::Dispatch)).await.unwrap().ok();

    let scope = Scope::Workspaces(vec![WorkspaceId::new("w"), WorkspaceId::new("v")]);
    let all = TaskFilter { workspace: Some(WorkspaceId::new("w")), has_pending_action: Some(true) };
    let key = TaskKey { last_activity_at: Micros(9_999), id: crate::ids::TaskId::new("k") };
    store.tasks_page(&scope, &all, Some(key), 10).await.unwrap();
    let without = TaskFilter { workspace: None, has_pending_action: Some(false) };
    store.tasks_page(&Scope::All, &without, None, 10).await.unwrap();
    let task = [crate::ids::TaskId::new("k")];
    store.tasks_of(&task, 50).await.unwrap();
    for subagents in [Patch::Keep, Patch::Set(1)] {
        let patch = SummaryPatch { subagents, ..SummaryPatch::default() };
        store.summary_settle(&task[0], patch, home.now(), EventId::from(home.stamp().base)).await.unwrap();
    }
    store.sessions(std::slice::from_ref(&session)).await.unwrap();
    store.bundles(std::slice::from_ref(&bundle)).await.unwrap();
    let inbox = PendingFilter { session: Some(session.clone()), ..PendingFilter::default() };
    store.pending_page(&scope, &inbox, Some((Micros(0), bundle.clone())), 10).await.unwrap();
    store.pending_page(&Scope::All, &PendingFilter::default(), None, 10).await.unwrap();
    store.bundles_of_session(&session, 10).await.unwrap();
    store.turns(std::slice::from_ref(&turn)).await.unwrap();
    store.turns_page(&session, Some(crate::ids::Ordinal(0)), 10).await.unwrap();
    store.messages(&ticket.message_ids).await.unwrap();
    let key = Some(MessageKey { created_at: Micros(0), id: ticket.message_ids[0].clone() });
    store
        .messages_page(&session, Page { after: key.clone(), before: None, limit: 9, is_backward: false })
        .await
        .unwrap();
    store.messages_page(&session, Page { after: None, before: key, limit: 9, is_backward: true }).await.unwrap();
    store.session_of_bundle(&bundle).await.unwrap();
    store.session_of_turn(&turn).await.unwrap();
    store.session_of_message(&ticket.message_ids[0]).await.unwrap();
    store.claim_fate(&bundle, &ticket.id).await.unwrap();
    store.ambiguous(10).await.unwrap();
    store.offered(&scope, "executor", Some(&session), 10).await.unwrap();
    store.offered(&Scope::All, "executor", None, 10).await.unwrap();
    store.watchdogs(&["executor".into()], Some((Micros(1), turn.clone())), 10).await.unwrap();
    store.sessions_to_recover().await.unwrap();
    store.inert_rows().await.unwrap();
    store.outbox_unaccepted(Position(0), 10).await.unwrap();
    home.run(&session, Command::DeleteSession).await;
}

async fn first_message(home: &Home, session: &crate::ids::SessionId) -> crate::ids::MessageId {
    let page = Page { after: None, before: None, limit: 100, is_backward: false };
    let rows = home.store.messages_page(session, page).await.unwrap();
    rows.into_iter().find(|row| row.kind == "message").unwrap().id
}

#[tokio::test]
async fn no_statement_walks_messages_or_turns() {
    let home = Home::new().await;
    record(&home);
    work(&home).await;
    let statements = recorded(&home);
    let mut kinds: Vec<&str> = statements.iter().map(|s| s.split(" -- binds").next().unwrap()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert!(kinds.len() > 40, "only {} statements were seen", kinds.len());
    let conn = &mut SqliteConnection::establish(":memory:").unwrap();
    conn.run_pending_migrations(sqlite::MIGRATIONS).unwrap();
    for statement in &statements {
        let sql = bound(statement);
        let plans: Vec<Plan> = diesel::sql_query(format!("EXPLAIN QUERY PLAN {sql}"))
            .load(conn)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        let walks: Vec<_> = plans
            .iter()
            .map(|plan| &plan.detail)
            .filter(|detail| is_walk(detail) || is_history(&sql, detail))
            .collect();
        assert!(walks.is_empty(), "{walks:?} in {sql}");
    }
}

#[test]
fn a_walk_is_told_from_a_search() {
    assert!(is_walk("SCAN task_session_messages"));
    assert!(is_walk("SCAN m USING INDEX messages_by_time"));
    assert!(!is_walk("SCAN task_session_messages USING COVERING INDEX messages_with_intent"));
    assert!(!is_walk("SEARCH m USING INDEX messages_open (session_id=? AND turn_id=?)"));
    let plain = r#"SELECT `a` FROM `b` WHERE `c` = ? AND `d` = ? -- binds: [String("it's, \"so\""), I64(5)]"#;
    assert_eq!(bound(plain), r#"SELECT `a` FROM `b` WHERE `c` = 'it''s, "so"' AND `d` = 5"#);
}

async fn count<T>(home: &Home, call: impl Future<Output = T>) -> u64 {
    let before = home.store.statement_count();
    call.await;
    home.store.statement_count() - before
}

#[tokio::test]
async fn a_page_of_tasks_takes_the_same_few_statements_whatever_its_size() {
    let home = Home::new().await;
    for task in 0..30 {
        let id = format!("task{task}");
        home.add_task(&id).await;
        for _ in 0..2 {
            let session = home.session_of(&id).await;
            home.turn(&session).await;
            home.ask(&session, "a", 1, None).await;
        }
    }
    let page = |limit| home.store.tasks_page(&Scope::All, &NONE, None, limit);
    assert_eq!(count(&home, page(1)).await, count(&home, page(100)).await);
    assert!(count(&home, page(100)).await <= 3);
    let rows = page(100).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.sessions.len()).sum::<usize>(), 60);
    let filter = PendingFilter::default();
    let inbox = home.store.pending_page(&Scope::All, &filter, None, 100);
    assert!(count(&home, inbox).await <= 3);
}

const NONE: TaskFilter = TaskFilter { workspace: None, has_pending_action: None };

#[tokio::test]
async fn an_ask_and_its_answer_take_a_fixed_number_of_statements() {
    let home = Home::new().await;
    let session = home.session().await;
    home.turn(&session).await;
    let mut costs = Vec::new();
    for round in 0..4 {
        let name = format!("{round}");
        let waiter = format!("w{round}");
        let asked = count(&home, home.run(&session, ask(&name, 1, Some(&waiter)))).await;
        let bundle =
            home.store.sessions(std::slice::from_ref(&session)).await.unwrap()[0].active_bundle.clone().unwrap();
        let answered = count(&home, home.run(&session, respond(&bundle, 1, &name))).await;
        let confirm =
            Command::ConfirmDelivery { pending_id: bundle, waiter: WaiterId::new(waiter), watchdog: None };
        costs.push((asked, answered, count(&home, home.run(&session, confirm)).await));
    }
    println!("statements of ask, respond, confirm: {costs:?}");
    // The first finds no view of the session in memory.
    assert!(costs[1..].windows(2).all(|pair| pair[0] == pair[1]), "{costs:?}");
    assert!(costs[0].0 <= 12 && costs[1..].iter().all(|(a, b, c)| *a <= 7 && *b <= 6 && *c <= 5), "{costs:?}");
}
