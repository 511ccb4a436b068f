//! The load that is not ours: threads that can run and belong to none of our processes, looked at four times a second.
//! May import: process, rounds.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::process;
use super::rounds::count;

const PERIOD: Duration = Duration::from_millis(250);

/// A watch that goes on until the process ends.
#[derive(Clone, Default)]
pub struct Others(Arc<Mutex<Vec<(Instant, f64)>>>);

impl Others {
    pub fn watch() -> Self {
        let own = Self::default();
        let into = own.clone();
        std::thread::spawn(move || {
            loop {
                let load = load();
                into.0.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), load));
                std::thread::sleep(PERIOD);
            }
        });
        own
    }

    /// The mean since then.
    pub fn since(&self, start: Instant) -> f64 {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let loads: Vec<f64> = seen.iter().filter(|(at, _)| *at >= start).map(|(_, load)| *load).collect();
        loads.iter().sum::<f64>() / count(loads.len().max(1))
    }
}

fn load() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = stat.lines().find_map(|line| line.strip_prefix("procs_running ")?.parse::<usize>().ok());
    let own: usize = process::own().into_iter().map(running).sum();
    count(all.unwrap_or_default().saturating_sub(own))
}

/// Threads of a process that can run.
fn running(pid: u32) -> usize {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let stats = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    stats.filter(|stat| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" R"))).count()
}
