//! Agents end with their server, however that ends: a process of this binary holds one end of a pipe, and when the
//! other end is gone it kills the process groups that were left. An agent that ignores its closed input would work on
//! otherwise, for a turn that the next start calls unknown. May import: nothing of this crate.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

/// The word by which this binary becomes a guard.
pub const SUBCOMMAND: &str = "guard-agents";

/// The server's end, whose process is started with the first agent.
#[derive(Debug)]
pub(super) struct Guard {
    program: PathBuf,
    pipe: Mutex<Pipe>,
}

#[derive(Debug)]
enum Pipe {
    Unopened,
    Open(File),
    Lost,
}

/// A group that is watched until this is dropped.
#[derive(Debug)]
pub(super) struct Watched {
    guard: Arc<Guard>,
    group: Pid,
}

impl Guard {
    /// `program` is this binary.
    pub(super) fn new(program: PathBuf) -> Arc<Self> {
        Arc::new(Self { program, pipe: Mutex::new(Pipe::Unopened) })
    }

    /// Has the group killed if the server goes away first.
    pub(super) fn watch(self: &Arc<Self>, group: Pid) -> Watched {
        self.tell('+', group);
        Watched { guard: self.clone(), group }
    }

    /// A guard that is lost costs its service, and no agent.
    fn tell(&self, sign: char, group: Pid) {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*pipe, Pipe::Unopened) {
            *pipe = self.open().map_or_else(lost, Pipe::Open);
        }
        if let Pipe::Open(file) = &mut *pipe
            && let Err(error) = writeln!(file, "{sign}{}", group.as_raw_nonzero())
        {
            *pipe = lost(error);
        }
    }

    /// In a group of its own, so that what ends a terminal's job does not end it first.
    fn open(&self) -> std::io::Result<File> {
        let mut child = Command::new(&self.program)
            .arg(SUBCOMMAND)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let pipe = child.stdin.take().ok_or_else(|| std::io::Error::other("it has no pipe"))?;
        Ok(pipe.into_owned_fd()?.into())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.guard.tell('-', self.group);
    }
}

fn lost(error: std::io::Error) -> Pipe {
    tracing::warn!(%error, "agents that ignore a closed input would outlive a server that is killed");
    Pipe::Lost
}

/// The guard itself: reads which groups there are, until the server is gone.
pub fn guard_agents(orders: impl BufRead) {
    let mut groups = HashMap::new();
    for line in orders.lines().map_while(Result::ok) {
        let (sign, id) = line.split_at_checked(1).unwrap_or_default();
        let Some(group) = id.parse().ok().and_then(Pid::from_raw) else { continue };
        match sign {
            "+" => drop(groups.insert(group, started(group))),
            _ => drop(groups.remove(&group)),
        }
    }
    for (group, start) in groups {
        // A number that went to another process meanwhile is nobody's group.
        let now = started(group);
        if now.is_none() || now == start {
            let _gone = kill_process_group(group, Signal::KILL);
        }
    }
}

/// When the group's leader began, in the kernel's words; none where it is gone or nobody can tell.
fn started(leader: Pid) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", leader.as_raw_nonzero())).ok()?;
    // Behind the name, which may hold anything, the 20th field.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::os::unix::process::{CommandExt, ExitStatusExt};

    use super::*;

    fn sleeper() -> (std::process::Child, i32) {
        let child = std::process::Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let id = i32::try_from(child.id()).unwrap();
        (child, id)
    }

    #[test]
    fn what_is_left_when_the_server_is_gone_is_killed_and_nothing_else() {
        let ((mut left, one), (mut taken_back, two)) = (sleeper(), sleeper());
        guard_agents(Cursor::new(format!("+{one}\n+{two}\nnoise\n\n+0\n-{two}\n")));
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        assert!(taken_back.try_wait().unwrap().is_none(), "what was taken back is not watched");
        taken_back.kill().unwrap();
        taken_back.wait().unwrap();
    }
}
