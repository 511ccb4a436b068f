//! What the machine can do at most, measured in the same run: F, syncs per second of one thread; R, a round trip over
//! loopback. W, the raw fan-out, is a round of its own. May import: rounds.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::rounds::{count, percentile};

const SYNCS: Duration = Duration::from_secs(1);
const TRIPS: usize = 5_000;
const MESSAGE_BYTES: usize = 64;
/// A limit that moved by more than this makes a run void.
const MOVED_MAX: f64 = 0.25;

/// One measurement of the limits.
#[derive(Clone, Copy)]
pub struct Limits {
    /// fdatasync calls per second of one thread.
    syncs: f64,
    /// The median round trip in microseconds.
    trip_us: f64,
}

impl Limits {
    /// Whether the round trip is not what it was; no bar of this run hangs on F.
    pub fn has_moved(&self, before: &Self) -> bool {
        has_moved(self.trip_us, before.trip_us)
    }
}

/// Whether one of the two is larger by more than a quarter.
pub fn has_moved(one: f64, other: f64) -> bool {
    one.max(other) > one.min(other) * (1.0 + MOVED_MAX)
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "F {:.0} fdatasync/s, R {:.1} us", self.syncs, self.trip_us)
    }
}

pub async fn measure(folder: &Path) -> Limits {
    let file = folder.join("sync");
    let measured = tokio::task::spawn_blocking(move || Limits { syncs: syncs(&file), trip_us: trip_us() });
    measured.await.expect("the limits are measured")
}

fn syncs(path: &Path) -> f64 {
    let mut file = File::create(path).expect("a file");
    let (start, mut syncs) = (Instant::now(), 0);
    while start.elapsed() < SYNCS {
        file.write_all(&[7; 4096]).expect("a write");
        file.sync_data().expect("a sync");
        syncs += 1;
    }
    count(syncs) / start.elapsed().as_secs_f64()
}

/// Both ends on one thread: how long a core takes to wake another is the machine's mood.
fn trip_us() -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let (stream, peer) = tokio::join!(TcpStream::connect(address), listener.accept());
        tokio::spawn(echo(peer.expect("a peer").0));
        let mut stream = stream.expect("a connection");
        stream.set_nodelay(true).expect("an option");
        let (mut message, mut trips) = ([7; MESSAGE_BYTES], Vec::new());
        // The first half wakes a core that was idle.
        for _ in 0..2 * TRIPS {
            let start = Instant::now();
            stream.write_all(&message).await.expect("a write");
            stream.read_exact(&mut message).await.expect("an echo");
            trips.push(start.elapsed().as_secs_f64() * 1e6);
        }
        percentile(trips.get(TRIPS..).unwrap_or_default(), 50)
    })
}

async fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).expect("an option");
    let mut message = [0; MESSAGE_BYTES];
    while stream.read_exact(&mut message).await.is_ok() {
        stream.write_all(&message).await.expect("an echo");
    }
}

/// Date, commit, kernel and cores.
pub fn machine() -> String {
    let said = |name: &str, args: &[&str]| {
        let output = Command::new(name).args(args).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let date = said("date", &["-u", "+%Y-%m-%d %H:%M UTC"]).unwrap_or_default();
    let commit = said("git", &["describe", "--always", "--dirty"]).unwrap_or_default();
    let kernel = said("uname", &["-r"]).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{date}, commit {commit}, Linux {kernel}, {cores} cores")
}
