//! The client of the sockets, a process of its own: all connect, then the changes are made one after the other, each
//! when the one before was heard by all. May import: follower, frame, http, process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::frame::{self, CHANGE, Said};
use super::http::Http;
use super::{follower, process};

/// Sockets that begin at a time.
const AT_ONCE: usize = 256;
const CONNECT: Duration = Duration::from_secs(60);
/// Before memory is looked at.
const SETTLE: Duration = Duration::from_secs(2);
const HEAR: Duration = Duration::from_secs(15);
/// After a change, in which a frame that comes twice is seen.
const PAUSE: Duration = Duration::from_millis(100);

/// What to do.
#[derive(Clone, Serialize, Deserialize)]
pub struct Plan {
    /// Frames alone, without GraphQL.
    pub is_raw: bool,
    pub address: SocketAddr,
    /// Where changes are made.
    pub control: SocketAddr,
    /// The server's process.
    pub pid: u32,
    pub sockets: usize,
    pub changes: u64,
    /// In which session, for GraphQL.
    pub session: String,
    /// What to send, for the raw server: the frame of any change.
    pub frame: String,
}

/// What came of it.
#[derive(Serialize, Deserialize)]
pub struct Told {
    /// Until all sockets followed.
    pub connect_s: f64,
    /// Resident memory of the server before.
    pub base_kib: f64,
    /// The same with all sockets, idle.
    pub held_kib: f64,
    /// Of each change, from the call to the last frame.
    pub last_s: Vec<f64>,
    /// A frame.
    pub frame: String,
    /// Pings that were answered.
    pub pings: usize,
}

/// What the sockets share.
pub struct Shared {
    pub plan: Plan,
    pub turns: Semaphore,
    /// The change that is under way.
    pub number: AtomicU64,
    /// Who heard it.
    pub heard: AtomicUsize,
    pub pings: AtomicUsize,
    news: mpsc::Sender<News>,
}

pub enum News {
    Follows,
    AllHeard(Instant, Utf8Bytes),
    Fault(String),
}

impl Shared {
    /// There is room for all that can be told before the first fault is heard.
    pub fn tell(&self, news: News) {
        let _heard = self.news.try_send(news);
    }
}

/// Plays a plan and prints what came of it.
pub async fn play(plan: &str) -> Result<(), String> {
    let plan: Plan = serde_json::from_str(plan).map_err(|error| error.to_string())?;
    let told = follow_all(plan).await?;
    println!("{}", json!(told));
    // Ten thousand sockets are gone at once.
    std::process::exit(0)
}

async fn follow_all(plan: Plan) -> Result<Told, String> {
    let resident = || process::resident_kib(plan.pid).ok_or("the server is gone");
    let base_kib = resident()?;
    let (news, mut heard) = mpsc::channel(2 * plan.sockets + 1);
    let (number, count, pings) = (AtomicU64::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let turns = Semaphore::new(AT_ONCE);
    let shared = Arc::new(Shared { plan: plan.clone(), turns, number, heard: count, pings, news });
    let start = Instant::now();
    for index in 0..plan.sockets {
        tokio::spawn(follower::run(shared.clone(), index));
    }
    let all = async {
        for _ in 0..plan.sockets {
            expect(heard.recv().await)?;
        }
        Ok::<_, String>(())
    };
    tokio::time::timeout(CONNECT, all).await.map_err(|_elapsed| format!("not all connected in {CONNECT:?}"))??;
    let connect_s = start.elapsed().as_secs_f64();
    tokio::time::sleep(SETTLE).await;
    let held_kib = resident()?;
    // Not before: a server closes a connection that asks for nothing.
    let mut change = Change::connect(&plan).await?;
    let (mut last_s, mut frame) = (Vec::new(), String::new());
    for number in 1..=plan.changes {
        shared.heard.store(0, Ordering::Release);
        shared.number.store(number, Ordering::Release);
        let start = Instant::now();
        let all = tokio::time::timeout(HEAR, heard.recv());
        let (made, all) = tokio::join!(change.make(number), all);
        made?;
        let lost = plan.sockets - shared.heard.load(Ordering::Acquire);
        let all = all.map_err(|_elapsed| format!("change {number}: {lost} frames are lost"))?;
        let Some((end, text)) = expect(all)? else { return Err(format!("change {number} was not heard by all")) };
        last_s.push(end.duration_since(start).as_secs_f64());
        frame = text.as_str().to_owned();
        tokio::time::sleep(PAUSE).await;
        if let Ok(News::Fault(fault)) = heard.try_recv() {
            return Err(fault);
        }
    }
    Ok(Told { connect_s, base_kib, held_kib, last_s, frame, pings: shared.pings.load(Ordering::Relaxed) })
}

fn expect(news: Option<News>) -> Result<Option<(Instant, Utf8Bytes)>, String> {
    match news {
        Some(News::Follows) => Ok(None),
        Some(News::AllHeard(end, text)) => Ok(Some((end, text))),
        Some(News::Fault(fault)) => Err(fault),
        None => Err("nobody follows any more".to_owned()),
    }
}

/// How a change is made.
enum Change {
    Call(Box<Http>, String),
    Line(TcpStream, String),
}

impl Change {
    async fn connect(plan: &Plan) -> Result<Self, String> {
        if plan.is_raw {
            let stream = TcpStream::connect(plan.control).await.map_err(|error| error.to_string())?;
            stream.set_nodelay(true).map_err(|error| error.to_string())?;
            return Ok(Self::Line(stream, plan.frame.clone()));
        }
        Ok(Self::Call(Box::new(Http::connect(plan.control).await?), plan.session.clone()))
    }

    async fn make(&mut self, number: u64) -> Result<(), String> {
        match self {
            Self::Call(http, session) => {
                let input = json!({ "sessionId": session, "activity": "GENERATING", "subagentCount": number });
                let done = http.call(CHANGE, json!({ "input": input })).await?;
                let is_done = done.get("__typename").is_some_and(|name| name == "TaskPayload");
                if is_done { Ok(()) } else { Err(format!("change {number}: {done}")) }
            }
            Self::Line(stream, frame) => {
                let line = frame::write(frame, Said { number, revision: number }) + "\n";
                stream.write_all(line.as_bytes()).await.map_err(|error| error.to_string())
            }
        }
    }
}
