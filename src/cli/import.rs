//! `answerable import`: takes over the database of a Kandev installation. May import: store, ports.

use std::path::Path;

use crate::ports::{Clock, System};

use super::{Error, open};

/// Takes the file over into an empty database, and prints a line for each thing that is inert or was changed, then how
/// many of each there are. The file is only read.
///
/// # Errors
/// The database holds tasks already, or the file is another program's. Nothing was changed.
pub async fn import(file: &Path, database: &str, executor: Option<String>) -> Result<(), Error> {
    let store = open(database).await?;
    let done = store.import(file, executor, System.now()).await;
    store.close().await?;
    let done = done?;
    done.notes.iter().for_each(|note| println!("{note}"));
    let untold = done.noted.saturating_sub(done.notes.len());
    if untold > 0 {
        println!("and {untold} more");
    }
    println!(
        "workspaces={} tasks={} sessions={} turns={} messages={} answerable={} noted={}",
        done.workspaces, done.tasks, done.sessions, done.turns, done.messages, done.active, done.noted
    );
    Ok(())
}
