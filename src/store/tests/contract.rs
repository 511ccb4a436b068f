//! What the store promises to the rooms above it. May import: the store.

use crate::ids::{Micros, Position, SessionId, WaiterId};
use crate::lifecycle::{ClaimFate, Command, Effect, EventKind, PendingAction};
use crate::scope::Scope;
use crate::store::{PendingFilter, TaskFilter};

use super::support::{Home, respond};

#[tokio::test]
async fn an_ask_its_answer_and_its_confirmation_are_read_back_as_decided() {
    let home = Home::new().await;
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
    let home = Home::new().await;
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
async fn a_task_takes_all_it_holds_with_it() {
    let home = Home::new().await;
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
