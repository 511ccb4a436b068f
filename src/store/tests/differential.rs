//! Memory against both engines: random commands run through `decide` over a whole session in memory and through the door;
//! after each step all hold the same, and the one rule in SQL says what the pure one says.
//! May import: the store, lifecycle.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Map;

use crate::ids::{
    AgentSessionId, ClaimId, Generation, MessageId, Micros, PendingId, PermissionId, PrincipalId, SessionId,
    TurnId, WaiterId,
};
use crate::lifecycle::{
    Admission, Certainty, Command, ExpectedTurn, Focus, Lease, NewMessage, SessionState, Skip, TurnKind, decide,
};

use crate::store::{Store, Violation};

use super::model::{Whole, sorted};
use super::support::{Home, accept, ask, key, respond};

/// A step: which command, and two numbers that choose what it is about.
type Step = (u8, u8, u8);

const KINDS: u8 = 40;

fn pick<T: Clone>(items: &[T], choice: u8) -> Option<T> {
    let index = usize::from(choice).checked_rem(items.len())?;
    items.get(index).cloned()
}

struct Names {
    turns: Vec<TurnId>,
    bundles: Vec<PendingId>,
    claims: Vec<(PendingId, ClaimId)>,
    waiters: Vec<(PendingId, WaiterId)>,
    messages: Vec<MessageId>,
}

fn names(whole: &Whole) -> Names {
    let view = &whole.view;
    let questions = || view.bundles.iter().flat_map(|bundle| &bundle.questions);
    let claim = |q: &crate::lifecycle::Question| Some((q.pending_id.clone(), q.claim.as_ref()?.id.clone()));
    // Newest first, so that small numbers speak of what is going on.
    let mut turns: Vec<_> = view.turns.iter().map(|turn| turn.id.clone()).collect();
    turns.reverse();
    let mut bundles: Vec<_> = view.bundles.iter().map(|bundle| bundle.pending_id.clone()).collect();
    bundles.reverse();
    let rows = questions().map(|q| q.id.clone()).chain(whole.messages.keys().cloned());
    Names {
        turns,
        bundles,
        claims: questions().filter_map(claim).collect(),
        waiters: view.waiters.iter().map(|w| (w.pending_id.clone(), w.id.clone())).collect(),
        messages: rows.collect(),
    }
}

fn command(whole: &Whole, step: Step, now: Micros) -> Option<Command> {
    let (kind, a, b) = step;
    let names = names(whole);
    let turn = || pick(&names.turns, a / 64);
    let bundle = || pick(&names.bundles, a / 64);
    let name = format!("{}", a % 4);
    let size = usize::from(b % 3) + 1;
    let pending = |id: &PendingId| whole.view.bundle(id).map_or(1, |bundle| bundle.pending().count());
    Some(match kind {
        0 | 1 => ask(&name, size, Some(&format!("w{b}"))),
        2 => ask(&name, size, None),
        3 | 4 => bundle().map(|id| respond(&id, pending(&id), &name))?,
        5 => Command::Skip(Skip {
            pending_id: bundle()?,
            reason: "no".into(),
            expected_turn: None,
            principal: PrincipalId::new("p"),
            key: key(&name),
        }),
        6 => accept(Admission::Immediate),
        7 => accept(Admission::Dispatch),
        8 | 9 => {
            let (pending_id, waiter) = pick(&names.waiters, a)?;
            Command::ConfirmDelivery { pending_id, waiter, watchdog: (b > 64).then_some(now) }
        }
        10 => pick(&names.claims, a).map(|(p, c)| Command::FinalizeClaim(p, c))?,
        11 => pick(&names.claims, a).map(|(p, c)| Command::RestoreClaim(p, c))?,
        12 => Command::Cancel(bundle()?),
        13 if b > 128 => Command::ClaimDispatch(turn()?, lease(now, b)),
        13 | 14 => Command::MarkAttempted(turn()?),
        15 => Command::Acknowledge(turn()?, Certainty::Accepted),
        16 if b > 170 => Command::ExtendLease(turn()?, now),
        16 if b > 85 => Command::LapseLease(turn()?),
        16 => Command::Acknowledge(turn()?, Certainty::Unknown),
        17 => Command::PublishAccepted(turn()?),
        18 if b > 128 => Command::RevokeDispatch(turn()?),
        18 => Command::RejectDispatch(turn()?),
        19 => Command::RegisterWaiter(bundle()?, WaiterId::new(format!("w{b}"))),
        20 => {
            let (pending_id, waiter) = pick(&names.waiters, a)?;
            Command::DropWaiter { pending_id, waiter, is_received: b > 128 }
        }
        21 => Command::Detach(turn()?),
        22 => Command::CompleteTurn(turn()?),
        23 => Command::CancelTurn(ExpectedTurn::Turn(turn()?)),
        24 => Command::Ready { generation: Some(Generation(i64::from(b % 4))), has_overlapped: false },
        25 => Command::Ready { generation: None, has_overlapped: b > 128 },
        26 => Command::AppendMessage(message(turn())),
        27 => Command::AppendMessage(message(None)),
        28 => Command::UpdateMessage { id: pick(&names.messages, a)?, content: "new".into() },
        29 => Command::DeleteMessage(pick(&names.messages, a)?),
        30 => {
            Command::RecordPermission { id: PermissionId::new(format!("perm{}", a % 3)), content: "May I?".into() }
        }
        31 => resolve_permission(a),
        32 => Command::FireWatchdog(turn()?),
        33 => Command::ArmWatchdog { pending_id: bundle()?, deadline: now },
        34 => Command::SetSessionState(*SessionState::ALL.get(usize::from(a % 5))?),
        35 if b > 200 => Command::EndSession(*SessionState::ALL.get(5 + usize::from(a % 3))?),
        35 => Command::Expire,
        36 => Command::Recover,
        37 => bookkeeping(),
        38 => Command::ResolveAmbiguous { turn_id: turn()?, pending_id: bundle(), was_accepted: b > 128 },
        39 if b > 240 => Command::DeleteSession,
        39 => Command::BindAgent(AgentSessionId::new(format!("conversation{}", a % 3))),
        _ => return None,
    })
}

fn lease(now: Micros, length: u8) -> Lease {
    Lease { token_hash: "hash".into(), claimed_at: now, until: Micros(now.0 + i64::from(length) * 50) }
}

fn resolve_permission(choice: u8) -> Command {
    Command::ResolvePermission { id: PermissionId::new(format!("perm{}", choice % 3)), status: "approved".into() }
}

fn bookkeeping() -> Command {
    let Command::AcceptTurn(mut accept) = accept(Admission::Immediate) else { unreachable!() };
    accept.kind = TurnKind::Bookkeeping;
    accept.key = Some(key("prompt"));
    Command::AcceptTurn(accept)
}

fn message(turn_id: Option<TurnId>) -> NewMessage {
    let (author, kind, content) = ("agent".into(), "message".into(), "Hello".into());
    NewMessage { turn_id, author, kind, content, metadata: Map::new() }
}

struct Case<'h> {
    /// One of each engine, with the same clock.
    homes: &'h mut [Home; 2],
    whole: Whole,
    session: SessionId,
    taken: usize,
}

impl Case<'_> {
    async fn step(&mut self, step: Step) {
        if step.0 == 39 && step.2 < 100 {
            return self.renew().await;
        }
        let [first, ..] = &*self.homes;
        let Some(command) = command(&self.whole, step, first.now()) else { return };
        let (focus, stamp) = (command.focus(), first.stamp());
        let projected = self.whole.project(&focus);
        for home in &*self.homes {
            let loaded = home.store.view(&self.session, focus.clone()).await.unwrap();
            assert_eq!(sorted(loaded), projected, "the view loaded for {command:?}");
        }

        let unbounded = decide(&self.whole.unbounded(&focus), &command, &stamp);
        let bounded = decide(&projected, &command, &stamp);
        assert_eq!(bounded, unbounded, "the bounded view leaves out what decides {command:?}");
        for home in &*self.homes {
            let (own, focus) = (command.clone(), focus.clone());
            let run =
                home.store.transact(&self.session, focus, home.epoch, move |view| decide(view, &own, &stamp));
            let stored = run.await.unwrap_or_else(|error| panic!("{command:?}: {error}"));
            assert_eq!(stored.map(|decided| decided.decision), bounded, "{command:?}");
        }
        if let Ok(decision) = bounded {
            self.whole.apply(&decision.changes);
            self.taken += 1;
        }
        for home in &*self.homes {
            self.compare_reads(&home.store).await;
        }
    }

    /// A new generation: what the old one owned has no owner any more.
    async fn renew(&mut self) {
        for home in &mut *self.homes {
            home.epoch = home.store.epoch_allocate("", Duration::ZERO, home.now()).await.unwrap();
            self.whole.alive = Some(home.epoch);
        }
    }

    /// What lists say, by SQL, is what the pure rule says.
    async fn compare_reads(&self, store: &Store) {
        let whole = &self.whole.view;
        let rows = store.sessions(std::slice::from_ref(&self.session)).await.unwrap();
        assert_eq!(rows.first().map(|row| &row.session), whole.session.as_ref());
        let Some(row) = rows.first() else { return };
        let current = whole.current_turn();
        assert_eq!(row.current_turn.as_ref(), current.map(|turn| &turn.id));
        assert_eq!(row.is_current_visible, current.is_some_and(crate::lifecycle::Turn::is_visible));
        assert_eq!(row.pending_action, whole.pending_action());
        let ordered = sorted(whole.clone());
        let oldest = ordered.active_bundles().next().map(|bundle| bundle.pending_id.clone());
        assert_eq!(row.active_bundle, oldest);
        let ids: Vec<PendingId> = whole.bundles.iter().map(|bundle| bundle.pending_id.clone()).collect();
        let bundles = store.bundles(&ids).await.unwrap();
        assert_eq!(bundles.len(), ids.len());
        let mut whole = whole.clone();
        whole.dead_epochs = self.whole.unbounded(&Focus::default()).dead_epochs;
        for row in bundles {
            let own = whole.bundle(&row.bundle.pending_id).unwrap();
            assert_eq!(&row.bundle, own);
            assert_eq!(row.state(), whole.bundle_state(own));
            assert_eq!(row.has_waiter, whole.has_waiter(&own.pending_id));
        }
    }

    /// A start finds every session that recovery would change, and leaves nothing that a check could find.
    async fn compare_recovery(&mut self) {
        // What nobody owns since a generation ended is recovery's; all else holds at every moment.
        let is_owned = |found: &Violation| !["INV-17", "INV-34", "INV-37"].contains(&found.invariant);
        for home in &*self.homes {
            let found = home.store.check().await.unwrap();
            assert_eq!(found.into_iter().filter(is_owned).collect::<Vec<_>>(), []);
        }
        self.renew().await;
        let [first, ..] = &*self.homes;
        let would = decide(&self.whole.unbounded(&Focus::default()), &Command::Recover, &first.stamp());
        let changes = would.is_ok_and(|decision| !decision.changes.is_empty());
        for home in &*self.homes {
            let listed = home.store.sessions_to_recover().await.unwrap().contains(&self.session);
            assert!(listed || !changes, "recovery would change a session that is not listed");
        }
        self.step((36, 0, 0)).await;
        for home in &*self.homes {
            assert_eq!(home.store.check().await.unwrap(), []);
        }
    }
}

/// Runs cases until the time is up or all are run; what failed is shrunk and printed with its seed.
#[test]
fn both_engines_and_memory_agree_on_every_step_of_random_commands() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut homes = runtime.block_on(async { [Home::new().await, Home::on_postgres().await] });
    let cases = std::env::var("ANSWERABLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let mut runner =
        TestRunner::new(Config { cases, max_shrink_iters: 2_000, failure_persistence: None, ..Config::default() });
    let steps = proptest::collection::vec((0..KINDS, any::<u8>(), any::<u8>()), 10..60);
    let taken = std::cell::Cell::new(0);
    let homes = std::cell::RefCell::new(&mut homes);
    let result = runner.run(&steps, |steps| {
        let homes = &mut **homes.borrow_mut();
        runtime.block_on(async {
            let [sqlite, postgres] = &*homes;
            postgres.set_clock(sqlite);
            let session = sqlite.session().await;
            assert_eq!(postgres.session().await, session);
            let view = sqlite.store.view(&session, Focus::default()).await.unwrap();
            let whole = Whole { view, alive: Some(sqlite.epoch), ..Whole::default() };
            let mut case = Case { homes, whole, session, taken: 0 };
            for step in steps {
                case.step(step).await;
            }
            case.compare_recovery().await;
            taken.set(taken.get() + case.taken);
        });
        Ok(())
    });
    assert!(taken.get() > 100, "the commands hardly ever apply: {}", taken.get());
    if let Err(error) = result {
        panic!("{error}");
    }
}
