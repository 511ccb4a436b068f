//! Fault loops: the n-th store call, bus publish or agent call of a path fails, or its n-th await is dropped, for every
//! n until the path ends untouched. Whatever its caller was told has to be so. May import: peers, world, the crate.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use answerable::lifecycle::BundleState;

use super::peers::Agent;
use super::world::{FALL_BACK, PATHS, Stand, Told, World};

/// Which call breaks, and how.
const FAULTS: &[(&str, &str)] = &[
    ("store.write", "busy"),
    ("store.write", "io"),
    ("store.write", "full"),
    ("store.write", "lost"),
    ("store.written", "unknown"),
    ("store.read", "busy"),
    ("store.read", "io"),
    ("store.read", "lost"),
    ("bus", ""),
];
/// What an agent does instead of taking a prompt; what comes of taking a hung call back.
const DEEDS: &[(&str, &str)] =
    &[("reject", ""), ("unknown", ""), ("hang", "revoked"), ("hang", "accepted"), ("hang", "unknown")];
/// The same of workers: an offer that nobody claims is taken back for certain.
const WORKERS_DO: &[(&str, &str)] = &[("reject", ""), ("unknown", ""), ("hang", "revoked")];
/// The same of a coding agent, which does as its prompt says.
const CODERS_DO: &[(&str, &str)] = &[("reject", "do:refuse"), ("unknown", "do:vanish"), ("hang", "do:hang")];
/// A path makes fewer calls and awaits than this.
const MOST: usize = 200;

/// What broke, and how many combinations there were.
#[derive(Default)]
pub struct Found {
    pub combinations: usize,
    pub broken: BTreeSet<String>,
}

impl Found {
    fn say(&mut self, what: String) {
        self.broken.insert(what);
    }
}

/// Which paths are walked with which agent. What comes before the agent is called is the same for all: the paths of
/// those outside are the ones that call it.
fn walks(is_full: bool) -> impl Iterator<Item = (&'static str, Agent)> {
    let outside = [Agent::Webhook, Agent::Workers, Agent::Coder];
    let is_walked = move |path: &&str| is_full || *path != FALL_BACK;
    let paths = ["answer", "prompt", FALL_BACK].into_iter().filter(is_walked);
    let calls = outside.into_iter().flat_map(move |agent| paths.clone().map(move |path| (path, agent)));
    PATHS.iter().map(|path| (*path, Agent::Recording)).chain(calls)
}

/// Runs every loop, one after another: the points of a process are shared. `is_full`: also those in which each step
/// starts a process.
pub fn run(is_full: bool) -> Found {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut found = Found::default();
    runtime.block_on(async {
        let scenario = fail::FailScenario::setup();
        for (path, agent) in walks(is_full) {
            let world = World::new(agent).await;
            let mut walk = Walk { world, path, agent, walked: Vec::new(), found: &mut found };
            if is_full || agent != Agent::Coder {
                for (call, how) in FAULTS {
                    walk.nth_call(call, how).await;
                }
                walk.nth_await().await;
            }
            if ["answer", "prompt"].contains(&path) {
                walk.agents().await;
            }
            Box::pin(walk.after_restart()).await;
        }
        scenario.teardown();
    });
    found
}

/// One path, again and again in one server, each time in a session of its own.
struct Walk<'f> {
    world: World,
    path: &'static str,
    agent: Agent,
    walked: Vec<(Stand, Told, String)>,
    found: &'f mut Found,
}

impl Walk<'_> {
    async fn begin(&self) -> Stand {
        let stand = self.world.stand(self.path).await;
        if Stand::needs_waiter(self.path) {
            stand.wait_beside().await;
        }
        stand
    }

    fn title(&self) -> String {
        format!("{} by {}", self.path, self.agent.name())
    }

    async fn nth_call(&mut self, call: &str, how: &str) {
        for n in 0..=self.calls(call).await.min(MOST) {
            let stand = self.begin().await;
            let before = if n == 0 { String::new() } else { format!("{n}*off->") };
            fail::cfg(call, &format!("{before}1*return({how})->off")).unwrap();
            let told = stand.clone().walk(self.path).await;
            fail::remove(call);
            self.judge(stand, told, format!("{}: {call} {how}, call {n}", self.title())).await;
        }
    }

    /// How often the path makes this call, undisturbed; the loop goes one further.
    async fn calls(&self, call: &str) -> usize {
        let stand = self.begin().await;
        let count = Arc::new(AtomicUsize::new(0));
        let own = Arc::clone(&count);
        let add = move || {
            own.fetch_add(1, Ordering::SeqCst);
        };
        fail::cfg_callback(call, add).unwrap();
        stand.clone().walk(self.path).await;
        fail::remove(call);
        stand.rest().await;
        count.load(Ordering::SeqCst)
    }

    /// What an agent does instead of taking a prompt, and what its caller is told.
    async fn agents(&mut self) {
        let deeds = match self.agent {
            Agent::Recording | Agent::Webhook => DEEDS,
            Agent::Workers => WORKERS_DO,
            Agent::Coder => CODERS_DO,
        };
        for (deed, revoked) in deeds {
            let mut stand = self.begin().await;
            fail::cfg("agent", &format!("1*return({deed})")).unwrap();
            fail::cfg("revoke", &format!("1*return({revoked})")).unwrap();
            self.world.peers().do_next(deed, revoked);
            stand.says = revoked;
            let told = stand.clone().walk(self.path).await;
            self.world.peers().do_next("", "");
            fail::remove("agent");
            fail::remove("revoke");
            let name = format!("{}: the agent says {deed} {revoked}", self.title());
            let wanted = match (*deed, *revoked) {
                ("reject", _) | (_, "revoked") => Told::Retryable,
                ("hang", "accepted") => Told::Done,
                _ => Told::Final,
            };
            if told != wanted {
                self.found.say(format!("{name}: told {told:?}"));
            }
            self.judge(stand, told, name).await;
        }
    }

    /// The future is polled n times and dropped.
    async fn nth_await(&mut self) {
        for n in 1..MOST {
            let stand = self.begin().await;
            let told = cut(stand.clone().walk(self.path), n).await;
            let is_whole = told.is_some();
            self.judge(stand, told.unwrap_or(Told::No), format!("{}: dropped at await {n}", self.title())).await;
            if is_whole {
                return;
            }
        }
        self.found.say(format!("{}: its awaits have no end", self.path));
    }

    /// What was told is so, and nothing is left half done while the server lives (INV-12, 13, 34, 37).
    async fn judge(&mut self, stand: Stand, told: Told, name: String) {
        self.found.combinations += 1;
        let (state, is_unresolved) = stand.rest().await;
        match (&told, state) {
            (Told::Done, BundleState::ActiveDetached) if is_response(self.path) => {
                self.found.say(format!("{name}: acknowledged, and answerable again"));
            }
            (Told::Retryable, state) if is_response(self.path) && state != BundleState::ActiveDetached => {
                self.found.say(format!("{name}: told retryable, and {state:?}"));
            }
            (_, BundleState::DeliveryClaimed | BundleState::ActiveLive) => {
                self.found.say(format!("{name}: told {told:?}, and {state:?} for ever"));
            }
            _ if is_unresolved => {
                self.found.say(format!("{name}: told {told:?}, and a dispatch stays unresolved"));
            }
            _ => {}
        }
        if self.world.dispatches(&stand.bundle) > 1 {
            self.found.say(format!("{name}: dispatched twice"));
        }
        self.walked.push((stand, told, name));
    }

    /// The same after a start, which resolves all that was left; nothing acknowledged is gone, nothing is violated.
    async fn after_restart(self) {
        let (world, violations) = self.world.restart().await;
        for violation in violations {
            self.found.say(format!("{}: after a start: {violation}", self.path));
        }
        for (stand, told, name) in self.walked {
            let stand = Stand { authority: world.authority(), ..stand };
            let (state, is_unresolved) = stand.rest().await;
            if is_unresolved || matches!(state, BundleState::DeliveryClaimed | BundleState::ActiveLive) {
                self.found.say(format!("{name}: {state:?} after a start"));
            }
            if told == Told::Done && is_response(self.path) && state == BundleState::ActiveDetached {
                self.found.say(format!("{name}: acknowledged, and answerable again after a start"));
            }
            if world.dispatches(&stand.bundle) > 1 {
                self.found.say(format!("{name}: dispatched twice, with a start between"));
            }
        }
        world.stop().await;
    }
}

async fn cut<F: Future>(future: F, most: usize) -> Option<F::Output> {
    let (mut future, mut polls) = (pin!(future), 0);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if polls + 1 == most => Poll::Ready(None),
        Poll::Pending => {
            polls += 1;
            Poll::Pending
        }
    })
    .await
}

fn is_response(path: &str) -> bool {
    path.starts_with("answer") || path.starts_with("skip")
}
