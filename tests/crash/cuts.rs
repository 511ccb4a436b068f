//! CP-59 and CP-60: a commit whose outcome nobody tells. A proxy before PostgreSQL cuts at each COMMIT of an answer, or
//! the database server falls there. What the callers were told is so, and nothing is done twice.
//! May import: its siblings, the private server, the crate.

use std::sync::Arc;
use std::time::Duration;

use answerable::lifecycle::BundleState;
use serde_json::Value;

use super::after::{acts, facts, kind};
use super::base::Base;
use super::postgres;
use super::proxy::{Deed, Plan, Proxy, Side};
use super::scene::{Acts, Scene, Template};
use super::server::Server;

/// A claim of a server that lives has its end within this (INV-34).
const BOUND: Duration = Duration::from_secs(35);

/// An answer makes fewer transactions than this.
const MOST: usize = 20;

/// What a person and the agent were told.
struct Told {
    is_waited_for: bool,
    answered: Option<Value>,
    heard: Option<Value>,
}

async fn detached(acts: Acts<'_>) -> Told {
    Told { is_waited_for: false, answered: acts.respond("answer").await, heard: None }
}

/// While somebody waits, or tried to.
async fn live(acts: Acts<'_>) -> Told {
    let respond = async {
        for _ in 0..100 {
            if acts.state().await == "ACTIVE_LIVE" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        acts.respond("answer").await
    };
    let (heard, answered) = tokio::join!(acts.wait(4), respond);
    Told { is_waited_for: true, answered, heard }
}

/// Until nothing of the response is under way: in a server that lives, each claim has an owner (INV-34).
async fn at_rest(scene: &Scene, server: &Server, what: &str) {
    let acts = acts(scene, server);
    let rests = async {
        while ["DELIVERY_CLAIMED", "ACTIVE_LIVE", ""].contains(&acts.state().await.as_str()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(BOUND, rests).await.is_ok(), "{what}: {} has no end", acts.state().await);
}

/// What was told is so: accepted or heard is final, retryable is pending as before, and nobody is called twice.
async fn is_so(scene: &Scene, told: &Told, what: &str) -> BundleState {
    let state = facts(scene).await.bundle.state();
    let is_open = state == BundleState::ActiveDetached;
    let is_heard = told.heard.as_ref().is_some_and(|heard| heard["status"] == "ANSWERED");
    let is_accepted = kind(&told.answered) == "ResponseAccepted";
    let is_given_back = told.answered.as_ref().is_some_and(|answered| answered["retryable"] == true);
    let words = format!("{what}: {state:?}, {:?} {:?} {:?}", told.answered, told.heard, scene.agent_lines());
    assert!(!(is_open && (is_heard || is_accepted)), "{words}");
    assert!(is_open || !is_given_back, "{words}");
    // Nobody waited: what was accepted was dispatched.
    assert!(told.is_waited_for || !is_accepted || scene.dispatches() == 1, "{words}");
    assert!(scene.dispatches() <= usize::from(!is_heard && !is_open), "{words}");
    state
}

/// The same before and after a start; what is open can be answered, and what is not conflicts.
async fn stands(scene: &Scene, server: Server, told: &Told, what: &str) {
    at_rest(scene, &server, what).await;
    is_so(scene, told, what).await;
    server.kill().await;
    let server = scene.restart().await;
    let (state, before) = (is_so(scene, told, what).await, scene.dispatches());
    let late = acts(scene, &server).respond("late").await;
    let (wanted, more) = match state {
        BundleState::ActiveDetached => ("ResponseAccepted", 1),
        _ => ("ResponseConflict", 0),
    };
    assert_eq!((kind(&late), scene.dispatches()), (wanted, before + more), "{what}: {late:?}");
    facts(scene).await;
    // An agent whose wait broke off in doubt asks again, and is told without a dispatch.
    let heard = acts(scene, &server).wait(0).await;
    assert_eq!(heard.map(|heard| heard["status"].clone()), Some("ANSWERED".into()), "{what}");
    server.kill().await;
}

/// A server behind a proxy that meets the scene's session at that COMMIT.
async fn behind(scene: &Scene, passed: usize, side: Side, deed: Deed) -> (Proxy, Server) {
    let proxy = Proxy::before(scene.database.socket()).await;
    let server = Server::start_by(&scene.database, &scene.database.url_by(proxy.address())).await;
    proxy.plan(Plan { text: scene.names.session.clone(), passed, side, deed });
    (proxy, server)
}

/// Cuts at each COMMIT of the path.
async fn cut(scene: &Scene, side: Side, path: impl AsyncFn(Acts<'_>) -> Told) {
    for passed in 0..MOST {
        let cell = Scene::copied(scene);
        let (proxy, server) = behind(&cell, passed, side, Deed::Cut).await;
        let told = path(acts(&cell, &server)).await;
        let is_met = proxy.is_met();
        stands(&cell, server, &told, &format!("{side:?} COMMIT {passed}")).await;
        if !is_met {
            assert!(passed >= 3, "an answer was through after {passed} transactions");
            return;
        }
    }
    panic!("the transactions of an answer have no end");
}

pub async fn cp_60(scene: &Scene) {
    cut(scene, Side::After, detached).await;
}

pub async fn cp_60_unheard(scene: &Scene) {
    cut(scene, Side::Before, detached).await;
}

pub async fn cp_60_live(scene: &Scene) {
    cut(scene, Side::After, live).await;
}

pub async fn cp_60_live_unheard(scene: &Scene) {
    cut(scene, Side::Before, live).await;
}

/// The server is killed while it is in doubt.
pub async fn cp_60_killed(scene: &Scene) {
    for (passed, side) in [0, 1, 2].into_iter().flat_map(|n| [(n, Side::Before), (n, Side::After)]) {
        let cell = Scene::copied(scene);
        let (proxy, server) = behind(&cell, passed, side, Deed::Silence).await;
        let acts = acts(&cell, &server);
        tokio::select! {
            answered = acts.respond("answer") => panic!("{passed} {side:?}: told in doubt: {answered:?}"),
            () = proxy.met() => {}
        }
        server.kill().await;
        proxy.cut_all();
        let told = Told { is_waited_for: false, answered: None, heard: None };
        stands(&cell, cell.restart().await, &told, &format!("killed, {side:?} COMMIT {passed}")).await;
    }
}

/// The database falls at once at the COMMIT of the claim or of the attempt marker, and comes back.
pub async fn cp_59(scene: &Scene) {
    let database = Arc::new(postgres::Server::start());
    let template = Template::new(Base::on(Arc::clone(&database)), scene.names.size).await;
    for (passed, side) in [0, 1].into_iter().flat_map(|n| [(n, Side::Before), (n, Side::After)]) {
        let cell = template.copy();
        let (proxy, server) = behind(&cell, passed, side, Deed::Silence).await;
        let fall = async {
            proxy.met().await;
            let database = Arc::clone(&database);
            tokio::task::spawn_blocking(move || database.restart("QUIT")).await.unwrap();
            // A silent connection of a fallen server is told so by the network.
            proxy.cut_all();
        };
        let (told, ()) = tokio::join!(detached(acts(&cell, &server)), fall);
        stands(&cell, server, &told, &format!("fallen, {side:?} COMMIT {passed}")).await;
    }
}
