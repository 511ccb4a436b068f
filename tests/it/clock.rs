//! The wall clock goes back, ahead, to and fro and stands still (E-05): which turn is the current one, what is answered
//! and which revision is newer never follow from it. May import: the crate, the app, its siblings.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use answerable::ids::Micros;
use answerable::ports::{Clock, System};
use serde_json::{Value, json};

use crate::api::scene::*;
use crate::app::{App, Caller};

const HOUR: i64 = 3_600_000_000;
const SECOND: i64 = 1_000_000;
const VIEW: &str = "query($id: ID!) { session(id: $id) { currentTurn { id } activeClarification { pendingId }
  projection { revision { epoch sequence } } turns(first: 50) { edges { node { id startedAt } } } } }";

/// Shows what it is set to.
#[derive(Debug)]
struct Set(AtomicI64);

impl Clock for Set {
    fn now(&self) -> Micros {
        Micros(self.0.load(Ordering::SeqCst))
    }
}

async fn view(local: &Caller, session: &str) -> Value {
    local.ask_for(VIEW, json!({ "id": session })).await
}

fn sequence(view: &Value) -> u128 {
    view["projection"]["revision"]["sequence"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn turns_answers_and_revisions_keep_their_order_whatever_the_clock_shows() {
    let now = System.now().0;
    let clock = Arc::new(Set(AtomicI64::new(now)));
    let own = clock.clone();
    let app = App::start_with(|options| options.clock = own).await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let mut turns = vec![scene.turn.clone()];
    let mut last = sequence(&view(&local, &scene.session).await);
    let wobble = (0..10).map(|n| now + if n % 2 == 0 { SECOND } else { -SECOND });
    let times = [now - HOUR, now + 10 * 365 * 24 * HOUR, now, now, now - HOUR].into_iter().chain(wobble);
    for (step, time) in times.enumerate() {
        clock.0.store(time, Ordering::SeqCst);
        let questions = |when| json!([{ "prompt": format!("{when} {step}?") }]);
        let old = ask(&local, &scene.session, questions("old")).await;
        turns.push(start_turn(&local, &scene.session).await);
        let new = ask(&local, &scene.session, questions("new")).await;
        let seen = view(&local, &scene.session).await;
        assert_eq!(seen["currentTurn"]["id"], turns.last().unwrap().as_str(), "step {step}");
        assert_eq!(seen["activeClarification"]["pendingId"], new.as_str(), "step {step}");
        assert!(sequence(&seen) > last, "step {step}");
        last = sequence(&seen);
        let conflict = respond(&local, &old, &format!("old {step}"), answers()).await;
        assert_eq!(conflict["reason"], "SUPERSEDED", "step {step}");
        assert_eq!(skip(&local, &new, &format!("new {step}"), "no").await["__typename"], "ResponseAccepted");
    }
    let seen = view(&local, &scene.session).await;
    let edges = seen["turns"]["edges"].as_array().unwrap();
    let ids: Vec<_> = edges.iter().map(|edge| edge["node"]["id"].as_str().unwrap()).collect();
    assert_eq!(ids, turns, "in the order of their acceptance");
    let times: Vec<_> = edges.iter().map(|edge| edge["node"]["startedAt"].as_str().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    app.finish().await;
}

#[tokio::test]
async fn a_wait_and_its_deadline_do_not_hear_the_wall_clock() {
    let clock = Arc::new(Set(AtomicI64::new(System.now().0)));
    let own = clock.clone();
    let app = App::start_with(|options| options.clock = own).await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let id = ask(&local, &scene.session, questions()).await;
    let waiting = wait(&local, &id).await;
    for time in [i64::MAX / 2, 1, System.now().0] {
        clock.0.store(time, Ordering::SeqCst);
        assert_eq!(clarification(&local, &id).await["state"], "ACTIVE_LIVE");
    }
    assert_eq!(respond(&local, &id, "k", answers()).await["__typename"], "ResponseAccepted");
    assert_eq!(waiting.await.unwrap()["status"], "ANSWERED");
    app.finish().await;
}
