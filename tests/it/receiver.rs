//! A detached answer at the receiver of `examples/`, a Node process that verifies with the npm package
//! `standardwebhooks` and gives each prompt to a command. May import: the crate, the app, the scene.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use answerable::config::{Executor, Redelivery, Webhook};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::api::scene::{answers, ask, clarification, questions, respond, scene};
use crate::app::{App, Caller};
use crate::webhook::{KEY, NAME, endpoint};

const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/webhook-receiver");

struct Stage {
    app: App,
    local: Caller,
    pending: String,
    receiver: Child,
    dir: TempDir,
}

/// A detached bundle whose answer is posted to a receiver that gives it to that shell script, in a folder of its own.
async fn stage(script: &str, deadline: Duration, change: impl FnOnce(&mut Webhook)) -> Stage {
    assert!(
        Path::new(HOME).join("node_modules/standardwebhooks").exists(),
        "the receiver is not installed: npm ci --prefix examples/webhook-receiver, or make it"
    );
    let dir = TempDir::new().unwrap();
    let mut receiver = Command::new("node")
        .args([&format!("{HOME}/receiver.mjs"), "sh", "-c", script])
        .envs([("WEBHOOK_SECRET", KEY), ("PORT", "0")])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("node is needed for this test");
    let mut lines = BufReader::new(receiver.stdout.take().unwrap()).lines();
    let told = lines.next_line().await.unwrap().expect("the receiver ended");
    // What it says later is read and dropped, so that it never waits to say it.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    let mut webhook = endpoint(told.strip_prefix("listening on ").unwrap());
    change(&mut webhook);
    let app = App::start_with(|options| {
        options.endpoints.insert(NAME.into(), Executor::Webhook(webhook));
        options.webhooks.attempt = Duration::from_secs(1).max(deadline / 10);
        options.webhooks.redelivery = Duration::from_millis(10);
        options.limits.dispatch = deadline;
    })
    .await;
    let local = app.local();
    let session = scene(&local, Some(NAME)).await.session;
    let pending = ask(&local, &session, questions()).await;
    Stage { app, local, pending, receiver, dir }
}

const LONG: Duration = Duration::from_secs(100);

impl Stage {
    async fn respond(&self, key: &str) -> Value {
        respond(&self.local, &self.pending, key, answers()).await
    }

    async fn state(&self) -> Value {
        clarification(&self.local, &self.pending).await["state"].clone()
    }

    /// What the commands wrote.
    fn taken(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("taken")).unwrap_or_default()
    }

    /// Every command that began.
    fn begun(&self) -> usize {
        std::fs::read_to_string(self.dir.path().join("begun")).unwrap_or_default().lines().count()
    }
}

fn is_failed(responded: &Value, code: &str, retryable: bool) {
    assert_eq!((&responded["code"], &responded["retryable"]), (&json!(code), &json!(retryable)), "{responded}");
}

#[tokio::test]
async fn the_npm_library_verifies_what_is_posted_and_the_command_gets_the_answer() {
    let stage = stage("cat > taken", LONG, |_| {}).await;
    assert_eq!(stage.respond("one").await["__typename"], "ResponseAccepted");
    assert!(stage.taken().contains("because"), "{}", stage.taken());
    stage.app.finish().await;
}

#[tokio::test]
async fn another_key_or_a_command_that_refuses_gives_the_answer_back() {
    let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let refusing = stage("exit 75", LONG, |_| {}).await;
    let unsigned = stage("cat > taken", LONG, |webhook| webhook.secrets = vec![other.into()]).await;
    for stage in [refusing, unsigned] {
        is_failed(&stage.respond("one").await, "REJECTED", true);
        assert_eq!((stage.state().await, stage.taken()), (json!("ACTIVE_DETACHED"), String::new()));
        stage.app.finish().await;
    }
}

#[tokio::test]
async fn a_receiver_killed_with_the_prompt_in_its_hands_leaves_it_unknown() {
    let mut stage = stage("echo >> begun; kill -9 $PPID", LONG, |_| {}).await;
    is_failed(&stage.respond("one").await, "UNKNOWN", false);
    assert!(!stage.receiver.wait().await.unwrap().success());
    assert_ne!(stage.respond("two").await["__typename"], "ResponseAccepted");
    assert_eq!((stage.state().await, stage.begun()), (json!("TERMINAL"), 1));
    stage.app.finish().await;
}

#[tokio::test]
async fn a_command_that_hangs_past_the_deadline_is_taken_back_by_a_signed_delete() {
    let revocable = |webhook: &mut Webhook| webhook.can_revoke = true;
    let stage = stage("echo >> begun; exec sleep 60", Duration::from_secs(3), revocable).await;
    is_failed(&stage.respond("one").await, "REJECTED", true);
    assert_eq!((stage.state().await, stage.begun()), (json!("ACTIVE_DETACHED"), 1));
    stage.app.finish().await;
}

#[tokio::test]
async fn a_post_that_is_repeated_under_its_id_is_taken_once() {
    let again = |webhook: &mut Webhook| webhook.redelivery = Redelivery::Idempotent;
    let stage = stage("echo >> begun; exec sleep 60", Duration::from_secs(20), again).await;
    assert_eq!(stage.respond("one").await["__typename"], "ResponseAccepted");
    assert_eq!(stage.begun(), 1);
    stage.app.finish().await;
}

#[tokio::test]
async fn an_acknowledgement_after_the_deadline_changes_no_outcome() {
    let stage = stage("echo >> begun; sleep 4; cat > taken", Duration::from_secs(1), |_| {}).await;
    is_failed(&stage.respond("one").await, "UNKNOWN", false);
    let late = async {
        while !stage.taken().contains("because") {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), late).await.expect("the command never ends");
    assert_eq!((stage.state().await, stage.begun()), (json!("TERMINAL"), 1));
    stage.app.finish().await;
}
