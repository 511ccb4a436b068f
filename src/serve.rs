//! Startup and shutdown of one server, each read from top to bottom; the port opens last (architecture section 7).
//! May import: every room.

mod options;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::authority::{Authority, Parts, RecoveryError};
use crate::bus::Bus;
use crate::config;
use crate::crash;
use crate::demo::{self, Demo};
use crate::dispatch::{Acp, Executors, Scripted, Unusable, Webhook};
use crate::graphql;
use crate::mcp;
use crate::outbox::Relay;
use crate::ports::System;
use crate::store::Store;
use crate::tasks::Tasks;
use crate::transport;

pub use options::Options;

/// A server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store cannot be opened.
    #[error("cannot open the store {0}: {1}")]
    OpenStore(String, crate::store::Error),
    /// The store cannot be used.
    #[error("cannot use the store: {0}")]
    Store(#[from] crate::store::Error),
    /// Recovery refuses the start.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// Anybody could do anything.
    #[error(
        "{0} can be reached from other machines, and no token exists: create one with `answerable token create`, \
         or listen on a loopback address"
    )]
    Open(SocketAddr),
    /// An executor cannot be used.
    #[error(transparent)]
    Executor(#[from] Unusable),
    /// The trusted documents cannot be used.
    #[error("trusted_documents: {path}: {1}", path = .0.display())]
    Documents(PathBuf, String),
    /// The demo cannot run.
    #[error(transparent)]
    Demo(#[from] demo::Error),
}

/// Why a server ends that nobody asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Over {
    /// Its generation was ended.
    #[error(
        "another server took this one's place: it has the same --server-name, or heard nothing of this one for too long"
    )]
    Replaced,
    /// The store closed itself.
    #[error("the database was lost to its file system: the next start finds out what is stored")]
    StoreLost,
}

/// A server that answers.
#[derive(Debug)]
pub struct Running {
    /// Where.
    pub address: SocketAddr,
    /// Its authority, for tests.
    pub authority: Authority,
    /// What recovery did at the start.
    pub recovery: crate::lifecycle::Recovery,
    options: Options,
    store: Store,
    relay: Relay,
    tasks: Tasks,
    closing: CancellationToken,
    over: CancellationToken,
    served: JoinHandle<()>,
    demo: Option<Demo>,
}

/// Starts a server. Nothing is admitted before recovery has ended well (INV-23).
///
/// # Errors
/// [`Error`] says why it did not start; then no port was opened, and recovery changed nothing of what it names.
pub async fn start(options: Options) -> Result<Running, Error> {
    let (tasks, shutdown) = (Tasks::default(), options.shutdown);
    let documents = documents(&options)?;
    let opened = Store::open(&options.store).await;
    let store = opened.map_err(|error| Error::OpenStore(options.store.name(), error))?;
    // Boxed: it is the largest future of a start, and tests hold starts in theirs.
    let started = Box::pin(begin(options, documents, store.clone(), tasks.clone())).await;
    if started.is_err() {
        let _left_alone = tasks.shutdown(shutdown).await;
        store.close().await?;
    }
    started
}

fn documents(options: &Options) -> Result<graphql::Documents, Error> {
    let (path, is_strict) = &options.documents;
    let bad = |error: String| Error::Documents(path.clone().unwrap_or_default(), error);
    let text = match path {
        Some(path) => std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?,
        None => "{}".to_owned(),
    };
    let listed = graphql::Documents::read(&text, *is_strict).map_err(|error| bad(error.to_string()))?;
    Ok(listed.and(transport::page_documents().into_values()))
}

async fn begin(
    options: Options,
    documents: graphql::Documents,
    store: Store,
    tasks: Tasks,
) -> Result<Running, Error> {
    let membership = options.membership.clone();
    let epoch = store.epoch_allocate(&membership.server, membership.lapse, options.clock.now()).await?;
    crash::point("CP-56");
    let bus = Bus::new(options.bus.clone(), options.bus_capacity);
    let relay = Relay::new(store.clone(), bus.clone(), options.clock.clone(), options.pace);
    let demo = options.demo.clone().map(|program| Demo::new(program, tasks.clone()));
    let executors = executors(&options, demo.as_ref(), &tasks)?;
    let authority = Authority::new(Parts {
        store: store.clone(),
        relay: relay.clone(),
        bus,
        executors,
        clock: options.clock.clone(),
        ids: Arc::new(System),
        tasks: tasks.clone(),
        epoch,
        limits: options.limits,
        metrics: options.metrics.clone(),
    });
    let over = CancellationToken::new();
    tasks.spawn("generation", authority.clone().keep_generation(membership, over.clone()));
    let recovery = authority.recover().await?;
    crash::point("CP-57");
    tasks.spawn("relay", relay.clone().run(tasks.stop()));
    tasks.spawn("servers", authority.clone().hear_servers());
    tasks.spawn("summaries", authority.clone().keep_summaries());
    tasks.spawn("watchdogs", authority.clone().watch());
    tasks.spawn("retention", options.retention.run(store.clone(), Arc::new(System), tasks.stop()));
    let closing = options.mcp.closing.clone();
    let is_open = store.token_count().await? == 0;
    let listener = listen(options.listen, is_open).await?;
    let address = listener.local_addr().map_err(|error| Error::Listen(options.listen, error))?;
    let router = router(&options, &authority, documents, &tasks, is_open);
    authority.connect_agents(format!("http://{}/mcp", near(address)));
    let served = serve(listener, router, options.patience, tasks.clone(), closing.clone());
    let served = tasks.spawn("serve", served);
    if let Some(demo) = &demo {
        demo.start(&authority, address).await?;
    }
    Ok(Running { address, authority, recovery, options, store, relay, tasks, closing, over, served, demo })
}

fn executors(options: &Options, demo: Option<&Demo>, tasks: &Tasks) -> Result<Executors, Error> {
    let mut executors = options.executors.clone();
    for (name, endpoint) in &options.endpoints {
        executors = match endpoint {
            config::Executor::Webhook(webhook) => {
                executors.with(name, Arc::new(Webhook::new(webhook, options.webhooks)?))
            }
            config::Executor::Acp(agent) => {
                let acp = Acp::new(agent.clone(), options.bridge.clone(), options.acp, tasks.clone());
                executors.with(name, Arc::new(acp))
            }
            config::Executor::Pull => executors.with_pull(name),
        };
    }
    Ok(match demo {
        Some(demo) => executors.with(demo::EXECUTOR, demo.executor()),
        None => executors,
    })
}

/// An executor that takes everything and does nothing, for trials.
pub fn trial_executors() -> Executors {
    Executors::default().with("scripted", Arc::new(Scripted::default()))
}

/// Where processes of this machine reach a server that listens there.
fn near(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Without tokens whoever reaches the server is its user, so only this machine may.
async fn listen(address: SocketAddr, is_open: bool) -> Result<TcpListener, Error> {
    if is_open && !address.ip().is_loopback() {
        return Err(Error::Open(address));
    }
    if is_open {
        tracing::info!("no token exists: whoever reaches this loopback address is the local user");
    }
    TcpListener::bind(address).await.map_err(|error| Error::Listen(address, error))
}

fn router(
    options: &Options,
    authority: &Authority,
    documents: graphql::Documents,
    tasks: &Tasks,
    is_open: bool,
) -> Router {
    let schema = graphql::schema(authority.clone(), options.profile, &options.graphql);
    let settings = transport::Settings { is_loopback_only: is_open, ..options.transport.clone() };
    let closing = options.mcp.closing.clone();
    let (own, tasks) = (authority.clone(), tasks.clone());
    let face = transport::router(own, schema, options.graphql, documents, settings, tasks, closing);
    face.merge(mcp::router(authority.clone(), options.mcp.clone()))
}

async fn serve(
    listener: TcpListener,
    router: Router,
    patience: transport::Patience,
    tasks: Tasks,
    closing: CancellationToken,
) {
    use axum::serve::ListenerExt;
    let listener = listener.tap_io(move |stream| {
        if let Err(error) = transport::watch_peer(stream, patience.gone) {
            tracing::debug!(%error, "a socket is not watched");
        }
    });
    transport::serve(listener, router, patience, tasks, closing).await;
}

impl Running {
    /// Ends when the server can write nothing any more, and is to be stopped.
    pub fn over(&self) -> impl Future<Output = Over> + use<> {
        let (replaced, store) = (self.over.clone(), self.store.clone());
        async move {
            tokio::select! {
                () = replaced.cancelled() => Over::Replaced,
                () = store.lost() => Over::StoreLost,
            }
        }
    }

    /// Ends the server in order: waits end as pending, requests under way are finished within the bound, sockets
    /// close, the last events go to the bus, the store is closed.
    ///
    /// # Errors
    /// The store could not be closed in order; what was acknowledged is durable all the same.
    pub async fn stop(self) -> Result<(), Error> {
        self.authority.drain();
        if let Some(demo) = &self.demo {
            demo.stop().await;
        }
        self.closing.cancel();
        if tokio::time::timeout(self.options.shutdown, self.served).await.is_err() {
            tracing::warn!("requests were still under way at the end of the shutdown");
        }
        if let Err(unfinished) = self.tasks.shutdown(self.options.shutdown).await {
            tracing::warn!(%unfinished, "the shutdown left tasks behind");
        }
        // What those tasks wrote last is announced; what the bus does not take now, the next start replays.
        match tokio::time::timeout(self.options.shutdown, self.relay.drain()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "events wait in the outbox"),
            Err(_elapsed) => tracing::warn!("events wait in the outbox: the bus did not take them in time"),
        }
        Ok(self.store.close().await?)
    }
}
