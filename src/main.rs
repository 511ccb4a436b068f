//! The command line, and nothing else. Exit codes: 0 asked to stop, 1 fault, 2 bad usage or settings, 3 recovery
//! refused the start. May import: every room.

use std::error::Error;
use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;

use answerable::config::{self, Flags, Settings};
use answerable::serve::{self, Options};
use answerable::{cli, demo, dispatch, graphql, mcp, telemetry, transport};
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

/// SQLite allocates from it too (feature `override`), on pages of the usual size: the writer lane spent a fifth of its
/// time on memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The authority for the questions that AI agents ask people.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Opens the store, recovers, then listens: GraphQL, MCP and a page to answer on.
    Serve {
        #[command(flatten)]
        flags: Box<Flags>,
        /// Seeds an empty store and runs a scripted agent that asks.
        #[arg(long)]
        demo: bool,
    },
    /// Brings a database to this version's schema, and ends.
    Migrate {
        /// The database, `sqlite:FILE` or `postgres://…`.
        #[arg(long, default_value = config::DATABASE, env = "ANSWERABLE_DATABASE", hide_env_values = true)]
        database: String,
    },
    /// Looks for what must not be in a database, beside a running server or without one; exit code 1 if it finds any.
    Check {
        /// The database, `sqlite:FILE` or `postgres://…`.
        #[arg(long, default_value = config::DATABASE, env = "ANSWERABLE_DATABASE", hide_env_values = true)]
        database: String,
        /// One JSON document, with what was looked for and what no database can show.
        #[arg(long)]
        json: bool,
    },
    /// Lists open claims, reservations, dispatches of unknown outcome and rows that cannot be read, and what becomes of
    /// them.
    Inspect {
        /// The database, `sqlite:FILE` or `postgres://…`.
        #[arg(long, default_value = config::DATABASE, env = "ANSWERABLE_DATABASE", hide_env_values = true)]
        database: String,
    },
    /// Takes over the database of a Kandev installation (SQLite), which is only read, into one without tasks, while no
    /// server runs on it.
    Import {
        /// The file to take over.
        file: PathBuf,
        /// The database, `sqlite:FILE` or `postgres://…`.
        #[arg(long, default_value = config::DATABASE, env = "ANSWERABLE_DATABASE", hide_env_values = true)]
        database: String,
        /// The executor that all its sessions get; none: answers wait for the agent to come back.
        #[arg(long)]
        executor: Option<String>,
    },
    /// Prints the GraphQL schema.
    Schema,
    /// Makes and takes back access tokens, while no server runs on the database.
    #[command(subcommand)]
    Token(cli::TokenCommand),
    /// Connects an agent that speaks MCP over stdio to a server.
    Mcp {
        /// The server's MCP endpoint.
        #[arg(long, default_value = "http://127.0.0.1:8787/mcp", env = "ANSWERABLE_URL")]
        url: String,
        /// The session's token.
        #[arg(long, env = "ANSWERABLE_TOKEN", hide_env_values = true)]
        token: Option<String>,
    },
    #[command(name = demo::SUBCOMMAND, hide = true)]
    DemoAgent,
    #[command(name = dispatch::GUARD, hide = true)]
    GuardAgents,
}

const FAULT: u8 = 1;
const BAD_SETTINGS: u8 = 2;
const RECOVERY_REFUSED: u8 = 3;

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::GuardAgents => {
            dispatch::guard_agents(std::io::stdin().lock());
            ExitCode::SUCCESS
        }
        command => run(command),
    }
}

#[tokio::main]
async fn run(command: Command) -> ExitCode {
    match command {
        Command::Serve { flags, demo } => run_server(*flags, demo).await,
        Command::Migrate { database } => end(cli::migrate(&database).await),
        Command::Check { database, json } => end(cli::check(&database, json).await),
        Command::Inspect { database } => end(cli::inspect(&database).await),
        Command::Import { file, database, executor } => end(cli::import(&file, &database, executor).await),
        Command::Schema => {
            print!("{}", graphql::sdl());
            ExitCode::SUCCESS
        }
        Command::Token(command) => end(cli::token(command).await),
        Command::Mcp { url, token } => end(mcp::bridge(&url, token.as_deref()).await),
        Command::DemoAgent => end(demo::run_agent().await),
        // It needs no runtime.
        Command::GuardAgents => ExitCode::SUCCESS,
    }
}

async fn run_server(flags: Flags, is_demo: bool) -> ExitCode {
    #[cfg(feature = "failpoints")]
    let _armed = answerable::crash::arm();
    let settings = match Settings::load(flags) {
        Ok(settings) => settings,
        Err(error) => return fail(&error, BAD_SETTINGS),
    };
    let caps = [mcp::LOG_CAP, transport::LOG_CAP].join(",");
    let (format, filter, collector) = (settings.log_format, &settings.log_filter, &settings.otlp_endpoint);
    let telemetry = match telemetry::start(format, filter, &caps, collector.as_deref()) {
        Ok(telemetry) => telemetry,
        Err(error) => return fail(&error, BAD_SETTINGS),
    };
    let code = run_with(&settings, is_demo).await;
    // It waits for the collector.
    tokio::task::block_in_place(|| telemetry.end());
    code
}

async fn run_with(settings: &Settings, is_demo: bool) -> ExitCode {
    let program = is_demo.then(std::env::current_exe).transpose();
    let options = match program {
        Ok(program) => Options::new(settings, program),
        Err(error) => return fail(&error, FAULT),
    };
    let stop = match stop_signal() {
        Ok(stop) => stop,
        Err(error) => return fail(&error, FAULT),
    };
    let server = match serve::start(options).await {
        Ok(server) => server,
        Err(error @ serve::Error::Recovery(_)) => return fail(&error, RECOVERY_REFUSED),
        Err(error @ serve::Error::Documents(..)) => return fail(&error, BAD_SETTINGS),
        Err(error @ serve::Error::Demo(demo::Error::OtherData)) => return fail(&error, BAD_SETTINGS),
        Err(error) => return fail(&error, FAULT),
    };
    println!("answerable listens on http://{}/", server.address);
    let over = tokio::select! {
        () = stop => None,
        over = server.over() => Some(over),
    };
    let ended = end(server.stop().await);
    over.map_or(ended, |over| fail(&over, FAULT))
}

/// Ends when the process is asked to: SIGINT or SIGTERM.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

fn end<E: Error>(result: Result<(), E>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, FAULT),
    }
}

fn fail(error: &dyn Error, code: u8) -> ExitCode {
    eprintln!("answerable: {error}");
    ExitCode::from(code)
}
