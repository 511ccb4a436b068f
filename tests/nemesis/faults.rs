//! The nemesis: seeded, one fault after the other, and everything whole again at its end. May import: agent, base,
//! network, server.

use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use proptest::prelude::Rng as _;
use proptest::test_runner::TestRng;
use tokio::time::{Instant, sleep};

use super::agent::{Agent, Mood};
use super::base::Base;
use super::network::Network;
use super::server::{self, Server};

/// Between two faults.
const PAUSE_MS: std::ops::Range<u64> = 300..1_000;
/// An outsider holds the file's lock for so long.
const LOCK: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Kill,
    Terminate,
    Stop,
    AgentDies,
    AgentRefuses,
    AgentHangs,
    FileLocked,
    /// Every connection is closed.
    Cut,
    /// One is, at a COMMIT that the database has done.
    CutAfterCommit,
    /// Connections stay, and nothing comes through.
    Silence,
    Late,
    Drip,
    PostgresCrashes,
    BackendsEnd,
    /// Outsiders have every connection that the database gives, and the server loses its own.
    FullHouse,
}

/// How often each comes, in turns of a hundred.
const ANYWHERE: &[(Fault, u64)] = &[
    (Fault::Kill, 40),
    (Fault::Terminate, 15),
    (Fault::Stop, 10),
    (Fault::AgentDies, 9),
    (Fault::AgentRefuses, 9),
    (Fault::AgentHangs, 9),
];
const ON_A_FILE: &[(Fault, u64)] = &[(Fault::FileLocked, 8)];
const ON_POSTGRES: &[(Fault, u64)] = &[
    (Fault::Cut, 10),
    (Fault::CutAfterCommit, 15),
    (Fault::Silence, 6),
    (Fault::Late, 6),
    (Fault::Drip, 4),
    (Fault::PostgresCrashes, 6),
    (Fault::BackendsEnd, 10),
    (Fault::FullHouse, 4),
];

/// What it did, and what it saw that must not be.
#[derive(Default)]
pub struct Done {
    pub faults: usize,
    pub kills: usize,
    pub wrong: Vec<String>,
}

pub struct Nemesis<'w> {
    pub base: &'w Base,
    /// What stands before a database that is no file.
    pub network: Option<Network>,
    pub server: &'w mut Server,
    pub agent: &'w mut Agent,
    pub random: TestRng,
    pub done: Done,
}

impl Nemesis<'_> {
    /// Breaks one thing after the other for that time, then makes all whole.
    pub async fn rage(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            sleep(Duration::from_millis(self.between(PAUSE_MS))).await;
            let fault = self.choose();
            let struck = Instant::now();
            self.strike(fault).await;
            println!(
                "fault {}: {fault:?}, whole again after {} ms",
                self.done.faults,
                struck.elapsed().as_millis()
            );
            self.done.faults += 1;
            if let Some(status) = self.server.end() {
                self.done.wrong.push(format!("the server ended by itself after {fault:?}: {status}"));
                self.server.begin().await;
            }
        }
        self.agent.be(Mood::Takes);
        self.agent.kill();
        self.agent.revive();
    }

    fn between(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.random.next_u64() % (range.end - range.start)
    }

    fn choose(&mut self) -> Fault {
        let own = if self.network.is_none() { ON_A_FILE } else { ON_POSTGRES };
        let all: Vec<_> = ANYWHERE.iter().chain(own).copied().collect();
        let mut left = self.random.next_u64() % all.iter().map(|(_, weight)| weight).sum::<u64>();
        for (fault, weight) in all {
            match left.checked_sub(weight) {
                Some(rest) => left = rest,
                None => return fault,
            }
        }
        Fault::Kill
    }

    async fn strike(&mut self, fault: Fault) {
        match fault {
            Fault::Kill => {
                self.server.kill().await;
                self.done.kills += 1;
                self.check("after a kill").await;
                self.server.begin().await;
            }
            Fault::Terminate => {
                let status = self.server.terminate().await;
                if !status.success() {
                    self.done.wrong.push(format!("SIGTERM: {status}"));
                }
                self.server.begin().await;
            }
            Fault::Stop => {
                // Mostly short, sometimes five seconds.
                let time_ms = (200 << self.between(0..5)) + self.between(0..1_800);
                self.server.signal("STOP").await;
                sleep(Duration::from_millis(time_ms)).await;
                self.server.signal("CONT").await;
            }
            Fault::AgentDies => {
                self.agent.kill();
                sleep(Duration::from_millis(self.between(100..1_000))).await;
                self.agent.revive();
            }
            Fault::AgentRefuses | Fault::AgentHangs => {
                self.agent.be(if fault == Fault::AgentHangs { Mood::Hangs } else { Mood::Refuses });
                sleep(Duration::from_millis(self.between(200..1_500))).await;
                self.agent.be(Mood::Takes);
            }
            Fault::FileLocked => {
                let mut outsider = SqliteConnection::establish(self.base.file().to_str().unwrap()).unwrap();
                outsider.batch_execute("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE").unwrap();
                sleep(LOCK).await;
                outsider.batch_execute("ROLLBACK").unwrap();
            }
            of_network => {
                let time = Duration::from_millis(self.between(300..2_500));
                self.network.as_ref().unwrap().strike(of_network, time).await;
            }
        }
    }

    pub async fn check(&mut self, when: &str) {
        let found = server::check(&self.base.url()).await;
        self.done.wrong.extend(found.into_iter().map(|line| format!("check {when}: {line}")));
    }
}
