//! A TCP proxy of ours before a PostgreSQL server. It reads along, so that it can cut or silence a connection at the
//! COMMIT of a certain transaction, and all of them at any time; it can be slow, too. May import: nothing of the tests.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{Notify, watch};

/// Where in a COMMIT something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The database never hears of it.
    Before,
    /// The database has done it, and nobody hears of that.
    After,
}

/// What happens there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The connection is closed.
    Cut,
    /// The connection stays, and nothing comes through any more.
    Silence,
}

/// One COMMIT to come: of a transaction in which that text went to the database.
#[derive(Clone, Debug)]
pub struct Plan {
    pub text: String,
    /// Such COMMITs that pass before it.
    pub passed: usize,
    pub side: Side,
    pub deed: Deed,
}

/// How what comes is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    AtOnce,
    /// The end of each of the server's answers waits for so long.
    Late(Duration),
    /// Byte by byte, with that pause after each.
    Drip(Duration),
}

struct Shared {
    socket: PathBuf,
    plan: Mutex<Option<Plan>>,
    met: Notify,
    is_met: AtomicBool,
    /// Rises when all are cut.
    cuts: watch::Sender<u64>,
    /// Rises when all are forsaken.
    forsaken: watch::Sender<u64>,
    is_silent: watch::Sender<bool>,
    pace: watch::Sender<Pace>,
}

/// It listens for as long as the runtime runs.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Before the server with that Unix socket.
    pub async fn before(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = Arc::new(Shared {
            socket,
            plan: Mutex::default(),
            met: Notify::new(),
            is_met: AtomicBool::new(false),
            cuts: watch::Sender::new(0),
            forsaken: watch::Sender::new(0),
            is_silent: watch::Sender::new(false),
            pace: watch::Sender::new(Pace::AtOnce),
        });
        let (address, own) = (listener.local_addr().unwrap(), Arc::clone(&shared));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, Arc::clone(&own)));
            }
        });
        Self { address, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn plan(&self, plan: Plan) {
        *self.shared.plan.lock().unwrap() = Some(plan);
    }

    /// Whether the planned COMMIT came.
    pub fn is_met(&self) -> bool {
        self.shared.is_met.load(Ordering::SeqCst)
    }

    /// Until the planned COMMIT came.
    pub async fn met(&self) {
        self.shared.met.notified().await;
    }

    /// Closes what is open now.
    pub fn cut_all(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// What is open now stays so, and nothing comes through it ever again; new connections are as good as any.
    pub fn forsake_all(&self) {
        self.shared.forsaken.send_modify(|forsaken| *forsaken += 1);
    }

    /// From now on nothing comes through, or again everything; connections stay, and new ones are taken.
    pub fn silence(&self, is_silent: bool) {
        self.shared.is_silent.send_replace(is_silent);
    }

    /// From now on, for connections that are there too.
    pub fn pace(&self, pace: Pace) {
        self.shared.pace.send_replace(pace);
    }
}

impl Shared {
    /// What becomes of this COMMIT.
    fn doom(&self) -> Option<Plan> {
        let mut plan = self.plan.lock().unwrap();
        match plan.as_mut()? {
            plan if plan.passed > 0 => {
                plan.passed -= 1;
                None
            }
            _ => plan.take(),
        }
    }

    fn is_named(&self, message: &[u8]) -> bool {
        let plan = self.plan.lock().unwrap();
        plan.as_ref().is_some_and(|plan| message.windows(plan.text.len()).any(|part| part == plan.text.as_bytes()))
    }

    /// Ends a connection, or never returns.
    async fn meet(&self, deed: Deed) -> io::Result<()> {
        self.is_met.store(true, Ordering::SeqCst);
        self.met.notify_one();
        if deed == Deed::Silence {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn until_heard(&self) {
        let mut is_silent = self.is_silent.subscribe();
        let _open = is_silent.wait_for(|is_silent| !is_silent).await;
    }

    async fn pass(&self, said: &[u8], to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let pace = *self.pace.borrow();
        match pace {
            Pace::Late(time) if said.first() == Some(&b'Z') => tokio::time::sleep(time).await,
            Pace::Drip(pause) => {
                for byte in said {
                    to.write_all(&[*byte]).await?;
                    tokio::time::sleep(pause).await;
                }
                return Ok(());
            }
            _ => {}
        }
        to.write_all(said).await
    }
}

/// One connection, until either side or the proxy ends it.
async fn carry(client: TcpStream, shared: Arc<Shared>) {
    let Ok(server) = UnixStream::connect(&shared.socket).await else { return };
    // Messages are passed on one by one: held back for each other they would each wait for an acknowledgement.
    let _open = client.set_nodelay(true);
    let (mut cuts, mut forsaken) = (shared.cuts.subscribe(), shared.forsaken.subscribe());
    let (client_reads, client_writes) = client.into_split();
    let (server_reads, server_writes) = server.into_split();
    let doom = Mutex::new(None);
    let asks = pin!(ask(client_reads, server_writes, &shared, &doom));
    let answers = pin!(answer(server_reads, client_writes, &shared, &doom));
    tokio::select! {
        _ended = asks => {}
        _ended = answers => {}
        _cut = cuts.changed() => {}
        // Both ends are held, and their halves with them.
        _forsaken = forsaken.changed() => drop(cuts.changed().await),
    }
}

/// A message with its kind and length; the first of a connection has no kind.
async fn message(from: &mut (impl AsyncRead + Unpin), has_kind: bool) -> io::Result<Vec<u8>> {
    let mut message = vec![0; if has_kind { 5 } else { 4 }];
    from.read_exact(&mut message).await?;
    let (head, length) = (message.len(), message.last_chunk::<4>().unwrap());
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap();
    message.resize(head + length - 4, 0);
    from.read_exact(&mut message[head..]).await?;
    Ok(message)
}

/// What the client says.
async fn ask(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    shared: &Shared,
    doom: &Mutex<Option<Deed>>,
) -> io::Result<()> {
    let (mut has_kind, mut is_named) = (false, false);
    loop {
        let said = message(&mut from, has_kind).await?;
        has_kind = true;
        let is_commit = said.get(5..).is_some_and(|text| said[0] == b'Q' && text.starts_with(b"COMMIT"));
        match Some(()).filter(|()| is_commit && is_named).and_then(|()| shared.doom()) {
            Some(plan) if plan.side == Side::Before => return shared.meet(plan.deed).await,
            Some(plan) => *doom.lock().unwrap() = Some(plan.deed),
            None => {}
        }
        is_named = (is_named && said[0] != b'Q') || shared.is_named(&said);
        shared.until_heard().await;
        shared.pass(&said, &mut to).await?;
    }
}

/// What the server says.
async fn answer(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    shared: &Shared,
    doom: &Mutex<Option<Deed>>,
) -> io::Result<()> {
    loop {
        let said = message(&mut from, true).await?;
        let is_done = said[0] == b'C' && said[5..].starts_with(b"COMMIT");
        let doomed = if is_done { doom.lock().unwrap().take() } else { None };
        if let Some(deed) = doomed {
            return shared.meet(deed).await;
        }
        shared.until_heard().await;
        shared.pass(&said, &mut to).await?;
    }
}
