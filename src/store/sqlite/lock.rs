//! One process per database file: a lock beside it that names its holder. May import: the store's shared parts.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::store::error::Error;

/// The lock; given up when it is dropped, and by the kernel when the process dies.
pub(super) struct FileLock {
    file: File,
}

impl Drop for FileLock {
    /// A child that was forked and does not run its program yet has the file open too, so closing ours would leave the
    /// lock with it.
    fn drop(&mut self) {
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the lock of the database is given up late");
        }
    }
}

impl FileLock {
    pub(super) fn take(database: &Path) -> Result<Self, Error> {
        warn_of_network(database);
        let mut path = database.to_path_buf().into_os_string();
        path.push(".lock");
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Held { holder: holder(&mut file) }),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        write!(file, "process {}", std::process::id())?;
        file.flush()?;
        Ok(Self { file })
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let is_read = file.read_to_string(&mut text).is_ok() && !text.is_empty();
    if is_read { text } else { "another process".to_owned() }
}

/// Locks and shared memory of SQLite do not hold over a network.
fn warn_of_network(database: &Path) {
    let parent = database.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (Ok(directory), Ok(mounts)) = (parent.canonicalize(), std::fs::read_to_string("/proc/self/mounts")) else {
        return;
    };
    let of_line = |line: &str| {
        let mut words = line.split(' ').skip(1).map(str::to_owned);
        words.next().zip(words.next())
    };
    let mounts = mounts.lines().filter_map(of_line).filter(|(point, _)| directory.starts_with(point));
    let kind = mounts.max_by_key(|(point, _)| point.len()).map(|(_, kind)| kind).unwrap_or_default();
    if ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "afs", "ceph"].contains(&kind.as_str()) {
        tracing::warn!(%kind, "the database lies on a network file system, which does not keep its promises");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_given_up_is_free_also_while_a_forked_child_has_its_file_open() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let lock = FileLock::take(&path).unwrap();
        assert!(matches!(FileLock::take(&path), Err(Error::Held { .. })));
        let of_the_child = lock.file.try_clone().unwrap();
        drop(lock);
        FileLock::take(&path).unwrap();
        drop(of_the_child);
    }
}
