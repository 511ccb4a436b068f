//! Taking over the database of a Kandev installation: what is read there ([`source`]), what a row becomes here
//! ([`translate`]), and what is told of it ([`Imported`]). `statements/import.rs` writes it, beside the door, into a store
//! that holds no task yet (decisions 11, 15 and 43). May import: the store's shared parts, lifecycle, ids.

pub(in crate::store) mod source;
pub(in crate::store) mod translate;

use std::path::Path;

use crate::ids::Micros;

use super::{Error, Store, run};
use source::Source;

/// Notes that are kept; more are only counted.
const NOTES_MAX: usize = 1_000;

/// What an import took over.
#[derive(Debug, Default)]
pub struct Imported {
    /// Workspaces that its tasks name.
    pub workspaces: usize,
    /// Tasks.
    pub tasks: usize,
    /// Sessions.
    pub sessions: usize,
    /// Turns.
    pub turns: usize,
    /// Messages of all kinds.
    pub messages: usize,
    /// Bundles that can be answered.
    pub active: usize,
    /// What is inert or changed, a line each; the first ones.
    pub notes: Vec<String>,
    /// How many notes there were.
    pub noted: usize,
}

impl Imported {
    pub(in crate::store) fn note(&mut self, line: String) {
        self.noted += 1;
        if self.notes.len() < NOTES_MAX {
            self.notes.push(line);
        }
    }
}

impl Store {
    /// Takes over a Kandev database in one transaction (CP-63, CP-64); its file is only read. All sessions get this
    /// executor; none: an answer has to wait for the agent to come back. What it left open (claims, reservations,
    /// bundles whose agent waits no more) is recovered by the next start.
    ///
    /// # Errors
    /// [`Error::NotEmpty`]: there are tasks already; [`Error::Source`]: the file cannot be read, or is another
    /// program's; the world broke. Nothing was changed.
    pub async fn import(&self, file: &Path, executor: Option<String>, now: Micros) -> Result<Imported, Error> {
        let source = Source::open(file)?;
        run!(self.write(import::take_over, source, executor, now))
    }
}
