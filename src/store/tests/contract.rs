//! What the store promises to the rooms above it, on either engine. May import: the store.

use std::time::Duration;

use crate::ids::{Micros, Position, SessionId, TokenId, WaiterId, WorkspaceId};
use crate::lifecycle::{Admission, ClaimFate, Command, Effect, EventKind, PendingAction, SessionState};
use crate::scope::Scope;
use crate::store::{MessageKey, OutboxSpan, Page, PendingFilter, TaskFilter, TokenRow};

use super::home;
use super::support::{accept, respond};

#[tokio::test]
async fn an_ask_its_answer_and_its_confirmation_are_read_back_as_decided() {
    let home = home().await;
    let session = home.session().await;
    let turn = home.turn(&session).await;
    let bundle = home.ask(&session, "a", 2, Some("waiter")).await;
    let rows = home.store.sessions(std::slice::from_ref(&session)).await.unwrap();
    assert_eq!(rows[0].pending_action, Some(PendingAction::Clarification));
    assert_eq!((rows[0].current_turn.as_ref(), rows[0].active_bundle.as_ref()), (Some(&turn), Some(&bundle)));
    let inbox = home.store.pending_page(&Scope::All, &PendingFilter::default(), None, 10).await.unwrap();
    assert_eq!(inbox.len(), 1);
    assert!(inbox[0].has_waiter && inbox[0].is_current);
    assert_eq!(inbox[0].bundle.questions.len(), 2);

    let Effect::HandOver(ticket) = home.run(&session, respond(&bundle, 2, "r")).await else { panic!() };
    assert_eq!(home.store.claim_fate(&bundle, &ticket.id).await.unwrap(), ClaimFate::Open);
    let confirm =
        Command::ConfirmDelivery { pending_id: bundle.clone(), waiter: WaiterId::new("waiter"), watchdog: None };
    home.run(&session, confirm).await;
    assert_eq!(home.store.claim_fate(&bundle, &ticket.id).await.unwrap(), ClaimFate::Delivered(None));
    let rows = home.store.sessions(&[session]).await.unwrap();
    assert_eq!((rows[0].pending_action, rows[0].active_bundle.clone()), (None, None));
    assert!(home.store.pending_page(&Scope::All, &PendingFilter::default(), None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn events_stand_in_commit_order_and_are_accepted_once() {
    let home = home().await;
    let session = home.session().await;
    home.turn(&session).await;
    home.ask(&session, "a", 1, None).await;
    let all = home.store.outbox_after(Position(0), 100).await.unwrap();
    assert!(all.is_sorted_by_key(|row| row.position));
    assert_eq!(all.last().unwrap().position, home.store.outbox_tip().await.unwrap());
    assert_eq!(all[0].event.kind, EventKind::TaskChanged);
    assert!(all.iter().all(|row| !row.is_accepted));
    let positions = all.iter().take(2).map(|row| row.position).collect();
    home.store.outbox_accept(positions, Micros(9)).await.unwrap();
    let left = home.store.outbox_unaccepted(Position(0), 100).await.unwrap();
    assert_eq!(left.len(), all.len() - 2);
}

#[tokio::test]
async fn only_old_events_that_the_bus_took_are_forgotten_and_the_newest_never() {
    let home = home().await;
    let session = home.session().await;
    home.turn(&session).await;
    home.ask(&session, "a", 1, None).await;
    let store = &home.store;
    let all = store.outbox_after(Position(0), 100).await.unwrap();
    let (late, tip) = (Micros(i64::MAX), all.last().unwrap().position);
    let span = async || store.outbox_span().await.unwrap();
    let over = async |before, limit| store.outbox_over(before, limit).await.unwrap();
    assert_eq!(over(late, 100).await, None, "what the bus has not taken is kept");
    store.outbox_accept(all.iter().map(|row| row.position).collect(), Micros(9)).await.unwrap();
    assert_eq!(over(Micros(0), 100).await, None, "what is young is kept");
    assert_eq!(span().await, OutboxSpan { floor: Position(0), tip });
    let first = over(late, 2).await.unwrap();
    assert_eq!(store.outbox_forget(first).await.unwrap(), 2, "one write forgets no more than it may");
    assert_eq!(span().await, OutboxSpan { floor: all[1].position, tip });
    let rest = over(late, 100).await.unwrap();
    store.outbox_forget(rest).await.unwrap();
    assert_eq!(over(late, 100).await, None);
    assert_eq!(span().await, OutboxSpan { floor: all[all.len() - 2].position, tip }, "the newest is kept");
}

#[tokio::test]
async fn a_task_takes_all_it_holds_with_it() {
    let home = home().await;
    let session = home.session().await;
    home.turn(&session).await;
    home.ask(&session, "a", 2, Some("w")).await;
    let page = home.store.tasks_page(&Scope::All, &TaskFilter::default(), None, 10).await.unwrap();
    assert_eq!(page[0].sessions.len(), 1);
    let event = crate::ids::EventId::from(home.stamp().base);
    assert!(home.store.task_delete(&page[0].task.id, home.now(), event).await.unwrap());
    assert_eq!(home.store.view(&session, Default::default()).await.unwrap().session, None);
    assert!(home.store.tasks_page(&Scope::All, &TaskFilter::default(), None, 10).await.unwrap().is_empty());
    let event = crate::ids::EventId::from(home.stamp().base);
    assert!(!home.store.task_delete(&page[0].task.id, home.now(), event).await.unwrap());
    assert_ne!(session, SessionId::new(""));
}

#[tokio::test]
async fn pages_go_by_keys_and_together_hold_each_row_once() {
    let home = home().await;
    let session = home.session().await;
    home.turn(&session).await;
    for number in 0..7 {
        home.ask(&session, &format!("a{number}"), 2, None).await;
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = Page { after: after.clone(), before: None, limit: 4, is_backward: false };
        let rows = home.store.messages_page(&session, page).await.unwrap();
        let Some(last) = rows.last() else { break };
        after = Some(MessageKey { created_at: last.created_at, id: last.id.clone() });
        seen.extend(rows.into_iter().map(|row| row.id));
    }
    assert_eq!(seen.len(), 15);
    assert!(seen.iter().collect::<std::collections::BTreeSet<_>>().len() == seen.len());
    let back = Page { after: None, before: None, limit: 100, is_backward: true };
    let mut backward: Vec<_> =
        home.store.messages_page(&session, back).await.unwrap().into_iter().map(|row| row.id).collect();
    backward.reverse();
    assert_eq!(backward, seen);

    let newest = home.store.bundles_of_session(&session, 3).await.unwrap();
    assert_eq!(newest.len(), 3);
    assert!(newest.is_sorted_by(|a, b| a.created_at() > b.created_at()));
    let mut inbox = Vec::new();
    let mut after = None;
    loop {
        let rows = home.store.pending_page(&Scope::All, &PendingFilter::default(), after, 3).await.unwrap();
        let Some(last) = rows.last() else { break };
        after = Some((last.created_at(), last.bundle.pending_id.clone()));
        inbox.extend(rows);
    }
    assert_eq!(inbox.len(), 7);
    assert!(inbox.is_sorted_by_key(|row| row.created_at()));
}

#[tokio::test]
async fn what_is_not_in_scope_is_in_no_list() {
    let home = home().await;
    let session = home.session().await;
    home.turn(&session).await;
    home.ask(&session, "a", 1, None).await;
    for (scope, count) in [
        (Scope::All, 1),
        (Scope::Workspaces(vec![WorkspaceId::new("w")]), 1),
        (Scope::Workspaces(vec![WorkspaceId::new("other")]), 0),
        (Scope::Workspaces(Vec::new()), 0),
    ] {
        let tasks = home.store.tasks_page(&scope, &TaskFilter::default(), None, 10).await.unwrap();
        let inbox = home.store.pending_page(&scope, &PendingFilter::default(), None, 10).await.unwrap();
        assert_eq!((tasks.len(), inbox.len()), (count, count), "{scope:?}");
    }
    let pending = |has| TaskFilter { workspace: None, has_pending_action: Some(has) };
    assert_eq!(home.store.tasks_page(&Scope::All, &pending(true), None, 10).await.unwrap().len(), 1);
    assert_eq!(home.store.tasks_page(&Scope::All, &pending(false), None, 10).await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_token_of_a_session_dies_with_it() {
    let home = home().await;
    let session = home.session().await;
    let token = TokenRow {
        id: TokenId::new("t"),
        hash: [7; 32],
        role: "AGENT".into(),
        workspaces: Some(vec![WorkspaceId::new("w")]),
        session_id: Some(session.clone()),
        name: "n".into(),
        created_at: Micros(1),
        expires_at: None,
        revoked_at: None,
    };
    home.store.token_insert(token.clone()).await.unwrap();
    assert_eq!(home.store.token_by_hash(&[7; 32]).await.unwrap(), Some(token));
    assert_eq!(home.store.token_by_hash(&[8; 32]).await.unwrap(), None);
    home.run(&session, Command::EndSession(SessionState::Cancelled)).await;
    assert_eq!(home.store.token_by_hash(&[7; 32]).await.unwrap(), None);
    assert!(home.store.token_revoke(&TokenId::new("t"), Micros(2)).await.unwrap());
    assert!(!home.store.token_revoke(&TokenId::new("t"), Micros(3)).await.unwrap());
}

#[tokio::test]
async fn a_token_that_is_bound_to_a_session_shuts_nobody_else_out() {
    let home = home().await;
    let session = home.session().await;
    let token = |id: &str, hash: u8, session_id| TokenRow {
        id: TokenId::new(id),
        hash: [hash; 32],
        role: "operator".into(),
        workspaces: None,
        session_id,
        name: "n".into(),
        created_at: Micros(1),
        expires_at: None,
        revoked_at: None,
    };
    home.store.token_insert(token("bound", 1, Some(session))).await.unwrap();
    assert_eq!(home.store.token_count().await.unwrap(), 0);
    home.store.token_insert(token("free", 2, None)).await.unwrap();
    home.store.token_revoke(&TokenId::new("free"), Micros(2)).await.unwrap();
    assert_eq!(home.store.token_count().await.unwrap(), 1, "a revoked token still says that the door is shut");
}

#[tokio::test]
async fn a_wait_taken_up_under_its_name_by_a_new_generation_is_that_generations() {
    let mut home = home().await;
    let session = home.session().await;
    home.turn(&session).await;
    let bundle = home.ask(&session, "a", 1, Some("w")).await;
    home.epoch = home.store.epoch_allocate("", Duration::ZERO, home.now()).await.unwrap();
    home.run(&session, Command::RegisterWaiter(bundle, WaiterId::new("w"))).await;
    let waiters = home.store.view(&session, Default::default()).await.unwrap().waiters;
    assert_eq!(waiters.iter().map(|waiter| waiter.epoch).collect::<Vec<_>>(), [home.epoch]);
}

#[tokio::test]
async fn a_healthy_file_reports_no_damage() {
    let home = home().await;
    assert_eq!(home.store.damage().await.unwrap(), Vec::<String>::new());
}

/// An attempted prompt is the current turn until it is refused; what comes back then was not its turn's, and its own
/// turn may be long over. The view has to hold both.
#[tokio::test]
async fn a_refused_prompt_gives_the_question_back_to_the_session() {
    let home = home().await;
    let session = home.session().await;
    let turn = home.turn(&session).await;
    let bundle = home.ask(&session, "a", 1, Some("waiter")).await;
    home.run(&session, Command::CompleteTurn(turn.clone())).await;
    let Effect::Turn(prompt) = home.run(&session, accept(Admission::Dispatch)).await else { panic!() };
    home.run(&session, Command::MarkAttempted(prompt.clone())).await;
    home.run(&session, Command::RejectDispatch(prompt)).await;
    let rows = home.store.sessions(std::slice::from_ref(&session)).await.unwrap();
    assert_eq!(rows[0].session.state, SessionState::WaitingForInput);
    assert_eq!(rows[0].pending_action, Some(PendingAction::Clarification));
    assert_eq!((rows[0].current_turn.as_ref(), rows[0].active_bundle.as_ref()), (Some(&turn), Some(&bundle)));
}
