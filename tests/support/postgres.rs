//! A private PostgreSQL server in a folder of its own, which goes away with the test process, however that ends.
//! May import: nothing of the tests.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Runs the server until its input ends; each line before is a signal that it is stopped by, to be started again, and
/// for how many seconds it stays away.
const KEEPER: &str = r#"
bin=$1; dir=$2; fsync=$3
trap "" HUP INT TERM
"$bin/initdb" -D "$dir/data" -U answerable -A trust -E UTF8 --locale=C.UTF-8 --no-sync >"$dir/log" 2>&1 || exit 1
start() {
    "$bin/postgres" -D "$dir/data" -k "$dir" -c listen_addresses= -c fsync="$fsync" -c max_connections=200 \
        -c min_wal_size=32MB -c max_wal_size=128MB >>"$dir/log" 2>&1 &
    pid=$!
}
stop() { kill -"$1" "$pid"; wait "$pid"; }
start
while read -r signal pause; do stop "$signal"; sleep "${pause:-0}"; start; done
stop QUIT
rm -rf "$dir"
"#;

/// A server of its own.
pub struct Server {
    keeper: Child,
    folder: PathBuf,
}

impl Server {
    pub fn start() -> Self {
        Self::start_with("off")
    }

    /// One that syncs what it commits, for measurements.
    pub fn start_durable() -> Self {
        Self::start_with("on")
    }

    fn start_with(fsync: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("answerable-pg-{}-{number}", std::process::id()));
        // A server refuses to run as root.
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "sh"]);
            command
        } else {
            Command::new("sh")
        };
        let script = format!("mkdir -m 700 \"$2\" && cd \"$2\" || exit 1\n{KEEPER}");
        command.args(["-c", &script, "keeper"]).arg(programs()).arg(&folder).arg(fsync).stdin(Stdio::piped());
        let mut server = Self { keeper: command.spawn().unwrap(), folder };
        server.await_ready();
        server
    }

    /// Stops it by that signal (INT: in order; QUIT: as a crash) and starts it again, after so many seconds as may
    /// stand behind the signal.
    pub fn restart(&self, signal: &str) {
        let before = self.sql("postgres", "SELECT pg_postmaster_start_time()").unwrap();
        writeln!(self.keeper.stdin.as_ref().unwrap(), "{signal}").unwrap();
        let is_new = |now: &String| *now != before;
        while !self.sql("postgres", "SELECT pg_postmaster_start_time()").as_ref().is_some_and(is_new) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn await_ready(&mut self) {
        while self.sql("postgres", "SELECT 1").is_none() {
            if let Some(status) = self.keeper.try_wait().unwrap() {
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                panic!("PostgreSQL did not start ({status}): {log}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What a statement prints; none: the server does not answer.
    fn sql(&self, database: &str, sql: &str) -> Option<String> {
        let output = psql(&self.url(database)).args(["-c", sql]).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    /// A new, empty database.
    pub fn database(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}")).unwrap();
        name
    }

    /// What its clients on this machine connect to.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(".s.PGSQL.5432")
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres:///{database}?user=answerable&host={}", self.folder.display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// A database of its own on the server that this process shares; it goes away when this does.
pub struct Database {
    name: String,
}

impl Database {
    pub fn new() -> Self {
        Self { name: shared().database() }
    }

    pub fn url(&self) -> String {
        shared().url(&self.name)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        shared().sql("postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

/// Its own client, which stops at the first error.
pub fn psql(url: &str) -> Command {
    let mut command = Command::new(programs().join("psql"));
    command.args(["-qAtX", "-v", "ON_ERROR_STOP=1", "-d", url]);
    command
}

/// Its own load generator.
pub fn pgbench() -> Command {
    Command::new(programs().join("pgbench"))
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout.trim_ascii() == b"0"
}

/// The folder of the server's programs: the newest of Debian's.
fn programs() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
        let newest = versions.map(|entry| entry.path()).filter(|path| number(path).is_some()).max_by_key(number);
        let found = newest.map(|path| path.join("bin")).filter(|path| path.join("postgres").exists());
        found.expect("PostgreSQL is not installed, and this test needs it: apt-get install postgresql")
    })
}
