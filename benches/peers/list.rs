//! The task list: all rows page by page beside Mercurius (P-09), one page at eight connections beside Yoga (P-10), all
//! of them on one file and at one time. May import: bars, data, http, others, process, rounds.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::bars::{Bars, Void};
use super::data;
use super::http::{Http, request};
use super::others::Others;
use super::process::{self, Server};
use super::rounds::{Rounds, count, percentile};

const CONNECTIONS: usize = 8;
const CELL: Duration = Duration::from_secs(3);
/// Readings of the whole list until its summaries stand still.
const SETTLE_MAX: usize = 20;

const PAGE: &str = "query($after: String) { tasks(first: 100, after: $after) { edges { node { id title state createdAt updatedAt \
    lastActivityAt pendingAction statusSummary { revision updatedAt pendingAction } } } pageInfo { hasNextPage endCursor } } }";

/// The requests of all pages, with what each is answered.
type Pages = Arc<Vec<(String, Vec<u8>)>>;

/// All rounds.
#[derive(Default)]
pub struct List {
    rows: usize,
    own_ms: Rounds,
    mercurius_ms: Rounds,
    own_rate: Rounds,
    own_p99_ms: Rounds,
    yoga_rate: Rounds,
    others: f64,
}

pub async fn measure(folder: &Path, rows: usize, rounds: usize, others: &Others) -> Result<List, String> {
    let database = folder.join("list.db");
    let server = Server::answerable(&database).await?;
    let start = Instant::now();
    data::many(server.address()?, rows).await?;
    println!("{rows} tasks made in {:.1} s", start.elapsed().as_secs_f64());
    let mercurius = Server::node("mercurius", &[&database]).await?;
    let yoga = Server::node("yoga", &[&database]).await?;
    let (own, mercurius_at, yoga_at) = (server.address()?, mercurius.address()?, yoga.address()?);
    let pages = settled(own, rows).await?;
    for peer in [mercurius_at, yoga_at] {
        read(peer, &pages).await.map_err(|error| format!("a peer has other rows: {error}"))?;
    }
    let (start, mut list) = (Instant::now(), List { rows, ..List::default() });
    println!("round  list ms  mercurius ms  page/s  p99 ms  yoga page/s");
    for round in 1..=rounds {
        let (own_ms, mercurius_ms) = (read(own, &pages).await?, read(mercurius_at, &pages).await?);
        let ((rate, p99), (yoga_rate, _)) = (serve(own, &pages).await?, serve(yoga_at, &pages).await?);
        println!("{round:5}  {own_ms:7.0}  {mercurius_ms:12.0}  {rate:6.0}  {p99:6.1}  {yoga_rate:11.0}");
        list.own_ms.0.push(own_ms);
        list.mercurius_ms.0.push(mercurius_ms);
        list.own_rate.0.push(rate);
        list.own_p99_ms.0.push(p99);
        list.yoga_rate.0.push(yoga_rate);
    }
    list.others = others.since(start);
    server.kill().await?;
    process::check(&database).await?;
    Ok(list)
}

/// All pages, once two readings say the same: the first ones bring summaries up to date.
async fn settled(address: SocketAddr, rows: usize) -> Result<Pages, String> {
    let mut last = Vec::new();
    for _ in 0..SETTLE_MAX {
        let pages = crawl(address, rows).await?;
        if pages == last {
            return Ok(Arc::new(pages));
        }
        last = pages;
    }
    Err("the list does not stand still".to_owned())
}

async fn crawl(address: SocketAddr, rows: usize) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut http = Http::connect(address).await?;
    let (mut pages, mut ids, mut after) = (Vec::new(), HashSet::new(), Value::Null);
    loop {
        let request = request(PAGE, &json!({ "after": after }));
        let body = http.post(&request).await?;
        let page: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        let at = |path: &str| page.pointer(path).ok_or_else(|| format!("no {path} in {page}"));
        for edge in at("/data/tasks/edges")?.as_array().ok_or("no edges")? {
            let revision = edge.pointer("/node/statusSummary/revision").and_then(Value::as_str);
            let id = edge.pointer("/node/id").and_then(Value::as_str);
            let (_, id) = revision.zip(id).ok_or_else(|| format!("a row without a summary: {edge}"))?;
            ids.insert(id.to_owned());
        }
        pages.push((request, body));
        if at("/data/tasks/pageInfo/hasNextPage")? != true {
            break;
        }
        after = at("/data/tasks/pageInfo/endCursor")?.clone();
    }
    if ids.len() == rows { Ok(pages) } else { Err(format!("{} of {rows} rows are listed", ids.len())) }
}

/// Milliseconds for all pages, one after the other.
async fn read(address: SocketAddr, pages: &Pages) -> Result<f64, String> {
    let mut http = Http::connect(address).await?;
    let start = Instant::now();
    for (request, expected) in pages.iter() {
        ask(&mut http, request, expected).await?;
    }
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

async fn ask(http: &mut Http, request: &str, expected: &[u8]) -> Result<(), String> {
    let body = http.post(request).await?;
    if body == expected { Ok(()) } else { Err(format!("{request}: {}", String::from_utf8_lossy(&body))) }
}

/// Pages per second, and the 99th percentile of one in milliseconds.
async fn serve(address: SocketAddr, pages: &Pages) -> Result<(f64, f64), String> {
    let start = Instant::now();
    let client = |own: usize, pages: Pages| async move {
        let (mut http, mut times) = (Http::connect(address).await?, Vec::new());
        for (request, expected) in pages.iter().cycle().skip(own * pages.len() / CONNECTIONS) {
            let begun = Instant::now();
            ask(&mut http, request, expected).await?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            if start.elapsed() > CELL {
                break;
            }
        }
        Ok::<_, String>(times)
    };
    let clients: Vec<_> = (0..CONNECTIONS).map(|own| tokio::spawn(client(own, pages.clone()))).collect();
    let mut times = Vec::new();
    for client in clients {
        times.extend(client.await.map_err(|error| error.to_string())??);
    }
    Ok((count(times.len()) / start.elapsed().as_secs_f64(), percentile(&times, 99)))
}

impl List {
    pub fn judge(&self, bars: &mut Bars) {
        let void = Void { others: self.others, is_limit_moved: false };
        let figures = format!("{} rows in {} ms beside {} ms", self.rows, self.own_ms, self.mercurius_ms);
        let ratio = self.mercurius_ms.over(&self.own_ms);
        bars.at_least("P-09", "task list beside Mercurius", 1.5, &ratio, &figures, void);
        bars.at_least("P-10", "pages of 100 tasks", 3_000.0, &self.own_rate, "a second", void);
        bars.at_most("P-10", "99th percentile of one", 15.0, &self.own_p99_ms, "ms", void);
        let figures = format!("{} a second beside {}", self.own_rate, self.yoga_rate);
        let ratio = self.own_rate.over(&self.yoga_rate);
        bars.at_least("P-10", "pages beside Yoga", 5.0, &ratio, &figures, void);
    }
}
