//! What goes wrong between the server and a PostgreSQL server, and in that one. May import: base, faults, postgres, proxy.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_postgres::NoTls;

use super::base::Base;
use super::faults::Fault;
use super::postgres::{self, psql};
use super::proxy::{Deed, Pace, Plan, Proxy, Side};

const LATE: Duration = Duration::from_millis(200);
const DRIP: Duration = Duration::from_millis(1);
/// More than the database has.
const OUTSIDERS_MAX: usize = 250;
/// A text that is in many transactions of the server.
const IN_COMMITS: &str = "task_session_messages";
const END_ALL: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()";

pub struct Network {
    postgres: Arc<postgres::Server>,
    proxy: Proxy,
    /// The way to the database without the proxy.
    url: String,
}

impl Network {
    /// Before that database of that server.
    pub async fn before(base: &Base, postgres: Arc<postgres::Server>) -> Self {
        Self { postgres, proxy: Proxy::before(base.socket()).await, url: base.url() }
    }

    /// The way to the database by the proxy.
    pub fn url(&self, base: &Base) -> String {
        base.url_by(self.proxy.address())
    }

    /// Everything is whole again when this ends.
    pub async fn strike(&self, fault: Fault, time: Duration) {
        match fault {
            Fault::Cut => self.proxy.cut_all(),
            Fault::CutAfterCommit => self.cut_after_commit(time).await,
            Fault::Silence => {
                self.proxy.silence(true);
                sleep(time).await;
                self.proxy.silence(false);
            }
            Fault::Late => self.slow(Pace::Late(LATE), time).await,
            Fault::Drip => self.slow(Pace::Drip(DRIP), time).await,
            Fault::PostgresCrashes => tokio::task::block_in_place(|| self.postgres.restart("QUIT")),
            Fault::BackendsEnd => self.end_backends(),
            Fault::FullHouse => self.fill(time).await,
            other => panic!("{other:?} is no fault of the network"),
        }
    }

    async fn slow(&self, pace: Pace, time: Duration) {
        self.proxy.pace(pace);
        sleep(time).await;
        self.proxy.pace(Pace::AtOnce);
    }

    async fn cut_after_commit(&self, time: Duration) {
        let plan = Plan { text: IN_COMMITS.into(), passed: 0, side: Side::After, deed: Deed::Cut };
        self.proxy.plan(plan);
        let _met = tokio::time::timeout(time, self.proxy.met()).await;
    }

    fn end_backends(&self) {
        // It may be starting, or full.
        let _output = psql(&self.url).args(["-c", END_ALL]).output().unwrap();
    }

    async fn fill(&self, time: Duration) {
        let mut outsiders = Vec::new();
        self.end_backends();
        while outsiders.len() < OUTSIDERS_MAX {
            let Ok((client, connection)) = tokio_postgres::connect(&self.url, NoTls).await else { break };
            outsiders.push((client, tokio::spawn(connection)));
        }
        sleep(time).await;
    }
}
