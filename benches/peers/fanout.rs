//! One change to all sockets (P-06), what a socket costs while it is idle (P-08) and how fast they come (P-13): the
//! server, the raw server and Yoga by turns, each in a new process with new sockets.
//! May import: bars, data, others, process, rounds, sockets.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::bars::{Bars, Void};
use super::data;
use super::limits::has_moved;
use super::others::Others;
use super::process::{self, Server};
use super::rounds::{Rounds, count, percentile};
use super::sockets::{Plan, Told};

/// Changes of one round; its figure is their median.
const CHANGES: u64 = 9;
/// Yoga takes long to connect.
const YOGA_ROUNDS: usize = 3;
const ROUND: Duration = Duration::from_secs(90);

/// All rounds.
pub struct Fanout {
    sockets: usize,
    own: Vec<Told>,
    raw: Vec<Told>,
    yoga: Vec<Told>,
    others: f64,
}

pub async fn measure(folder: &Path, sockets: usize, rounds: usize, others: &Others) -> Result<Fanout, String> {
    let start = Instant::now();
    let mut fanout = Fanout { sockets, own: Vec::new(), raw: Vec::new(), yoga: Vec::new(), others: 0.0 };
    println!("round  server      connect s  KiB each  last of {sockets} ms  frames/s  frame B  pings");
    for round in 1..=rounds {
        let own = answerable(&folder.join(format!("{round}.db")), sockets).await?;
        let raw = raw(&own.frame, sockets).await?;
        fanout.tell(round, "answerable", &own);
        fanout.tell(round, "raw", &raw);
        fanout.own.push(own);
        fanout.raw.push(raw);
        if round <= YOGA_ROUNDS {
            let yoga = yoga(sockets).await?;
            fanout.tell(round, "yoga", &yoga);
            fanout.yoga.push(yoga);
        }
    }
    fanout.others = others.since(start);
    Ok(fanout)
}

async fn answerable(database: &Path, sockets: usize) -> Result<Told, String> {
    let server = Server::answerable(database).await?;
    let session = data::one(server.address()?).await?;
    let told = play(&server, sockets, |plan| plan.session = session).await?;
    server.kill().await?;
    process::check(database).await?;
    Ok(told)
}

async fn raw(frame: &str, sockets: usize) -> Result<Told, String> {
    let server = Server::raw().await?;
    let control = server.addresses.get(1).copied().ok_or("the raw server has one address")?;
    let raw = |plan: &mut Plan| (plan.is_raw, plan.control, plan.frame) = (true, control, frame.to_owned());
    let told = play(&server, sockets, raw).await?;
    server.kill().await?;
    Ok(told)
}

async fn yoga(sockets: usize) -> Result<Told, String> {
    let server = Server::node("yoga", &[]).await?;
    let told = play(&server, sockets, |plan| plan.session = "any".to_owned()).await?;
    server.kill().await?;
    Ok(told)
}

async fn play(server: &Server, sockets: usize, change: impl FnOnce(&mut Plan)) -> Result<Told, String> {
    let address = server.address()?;
    let mut plan = Plan {
        is_raw: false,
        address,
        control: address,
        pid: server.pid(),
        sockets,
        changes: CHANGES,
        session: String::new(),
        frame: String::new(),
    };
    change(&mut plan);
    let told = process::told("sockets", &json!(plan).to_string(), ROUND).await?;
    serde_json::from_str(&told).map_err(|error| format!("{told}: {error}"))
}

impl Fanout {
    fn tell(&self, round: usize, name: &str, told: &Told) {
        let (last, each) = (percentile(&told.last_s, 50), self.each_kib(told));
        println!(
            "{round:5}  {name:10}  {:9.2}  {each:8.1}  {:18.1}  {:8.0}  {:7}  {:5}",
            told.connect_s,
            last * 1e3,
            count(self.sockets) / last,
            told.frame.len(),
            told.pings
        );
    }

    fn each_kib(&self, told: &Told) -> f64 {
        (told.held_kib - told.base_kib) / count(self.sockets)
    }

    fn rates(&self, of: &[Told]) -> Rounds {
        of.iter().map(|told| count(self.sockets) / percentile(&told.last_s, 50)).collect()
    }

    fn each(&self, of: &[Told]) -> Rounds {
        of.iter().map(|told| self.each_kib(told)).collect()
    }

    pub fn judge(&self, bars: &mut Bars) {
        let (own, raw, yoga) = (self.rates(&self.own), self.rates(&self.raw), self.rates(&self.yoga));
        let (first, last) = raw.first_and_last();
        let void = Void { others: self.others, is_limit_moved: has_moved(first, last) };
        let n = self.sockets;
        let ms: Rounds = self.own.iter().map(|told| percentile(&told.last_s, 50) * 1e3).collect();
        let figures = format!("{own} frames/s beside {raw}, the last of {n} at {ms} ms");
        bars.at_least("P-06", "fan-out beside raw WebSockets", 0.8, &own.over(&raw), &figures, void);
        let figures = format!("{own} frames/s beside {yoga}");
        bars.at_least("P-06", "fan-out beside Yoga", 4.0, &own.over(&yoga), &figures, void);
        let (each, raw_each, yoga_each) = (self.each(&self.own), self.each(&self.raw), self.each(&self.yoga));
        let figures = format!("KiB, raw {raw_each}, Yoga {yoga_each}");
        bars.at_most("P-08", "memory of an idle subscription", 20.0, &each, &figures, void);
        let connect = |of: &[Told]| of.iter().map(|told| told.connect_s).collect::<Rounds>();
        let (own, raw, yoga) = (connect(&self.own), connect(&self.raw), connect(&self.yoga));
        let figures = format!("{n} in {own} s beside {raw} s, Yoga {yoga} s");
        bars.at_least("P-13", "burst of sockets beside raw WebSockets", 0.7, &raw.over(&own), &figures, void);
    }
}
