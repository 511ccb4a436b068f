//! What clients did and were told, as the checker reads it: one record per call, with the time between which it took
//! effect. May import: nothing of the tests.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use serde::Serialize;

/// What a client wanted of one bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Call {
    /// Asks it, or asks again under the same key.
    Ask,
    Wait,
    Read,
    /// The text is the client key too: one for each answer that somebody made up his mind about.
    Answer(String),
    Skip(String),
    /// The agent withdraws it.
    Cancel,
    /// A newer turn of its session.
    NewTurn,
    /// The end of its session.
    End,
}

impl Call {
    pub fn is_response(&self) -> bool {
        matches!(self, Self::Answer(_) | Self::Skip(_))
    }
}

/// How a bundle looks from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// None: the call does not tell.
    pub state: Option<String>,
    pub outcome: String,
    pub text: Option<String>,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Told {
    /// Nobody knows: it may take effect at any later time, or never.
    Info(String),
    /// It provably had none.
    Fail(String),
    Done,
    Asked {
        is_new: bool,
        outcome: String,
    },
    Seen(Seen),
    Accepted {
        is_replayed: bool,
    },
    Conflict {
        reason: String,
        winner: Option<String>,
    },
    Failed {
        is_retryable: bool,
        code: String,
    },
    Refused(String),
}

/// One call of one client.
#[derive(Clone, Debug, Serialize)]
pub struct Op {
    pub number: usize,
    pub client: String,
    /// The key under which the bundle was asked, which is known before its id.
    pub bundle: String,
    pub call: Call,
    pub invoked_ns: u64,
    /// None for what stays open.
    pub returned_ns: Option<u64>,
    pub told: Told,
}

/// All calls of a run.
pub struct History {
    begun: Instant,
    ops: Mutex<Vec<Op>>,
}

impl History {
    pub fn new() -> Self {
        Self { begun: Instant::now(), ops: Mutex::default() }
    }

    pub fn now_ns(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap()
    }

    /// Writes down what was told just now of a call that began then.
    pub fn record(&self, client: &str, bundle: &str, call: Call, invoked_ns: u64, told: Told) {
        let returned_ns = (!matches!(told, Told::Info(_))).then(|| self.now_ns());
        let mut ops = self.ops.lock().unwrap();
        let number = ops.len();
        let (client, bundle) = (client.to_owned(), bundle.to_owned());
        ops.push(Op { number, client, bundle, call, invoked_ns, returned_ns, told });
    }

    pub fn all(&self) -> Vec<Op> {
        self.ops.lock().unwrap().clone()
    }

    /// Calls that were told something.
    pub fn told(&self) -> usize {
        let is_told = |op: &&Op| !matches!(op.told, Told::Info(_) | Told::Fail(_));
        self.ops.lock().unwrap().iter().filter(is_told).count()
    }
}

/// The calls about each bundle.
pub fn by_bundle(ops: Vec<Op>) -> BTreeMap<String, Vec<Op>> {
    let mut bundles: BTreeMap<String, Vec<Op>> = BTreeMap::new();
    for op in ops {
        bundles.entry(op.bundle.clone()).or_default().push(op);
    }
    bundles
}

/// One JSON object a line.
pub fn write(ops: &[Op], file: &Path) -> io::Result<()> {
    let mut file = io::BufWriter::new(std::fs::File::create(file)?);
    for op in ops {
        serde_json::to_writer(&mut file, op)?;
        writeln!(file)?;
    }
    file.flush()
}
