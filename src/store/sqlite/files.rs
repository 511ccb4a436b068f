//! Whether the files that are written are still those of their names: what goes to a file that was removed or replaced
//! is lost when the process ends. May import: the store's shared parts.

use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::store::error::Error;

/// Device and number of a file; none: there is no such file.
type Identity = Option<(u64, u64)>;

/// The database and its log, as they were opened.
pub(super) struct Files([(PathBuf, Identity); 2]);

impl Files {
    /// `path`: of a database that is open, so its log is there too.
    pub(super) fn opened(path: &Path) -> Self {
        Self([path.to_owned(), log_of(path)].map(|path| {
            let identity = identity(&path);
            (path, identity)
        }))
    }

    /// [`Error::Lost`]: one of them is not there any more, or another one is.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.0.iter().find(|(path, opened)| identity(path) != *opened) {
            Some((path, _)) => Err(Error::Lost(format!("{} was removed or replaced", path.display()))),
            None => Ok(()),
        }
    }
}

/// The log of a database.
pub(super) fn log_of(path: &Path) -> PathBuf {
    let mut log = path.to_owned().into_os_string();
    log.push("-wal");
    log.into()
}

fn identity(path: &Path) -> Identity {
    metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_removed_or_replaced_is_noticed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.db");
        std::fs::write(&path, "one").unwrap();
        std::fs::write(log_of(&path), "log").unwrap();
        let files = Files::opened(&path);
        std::fs::write(&path, "two").unwrap();
        assert!(files.check().is_ok(), "what stands in it does not matter");
        for lost in [log_of(&path), path] {
            std::fs::rename(&lost, home.path().join("elsewhere")).unwrap();
            assert!(matches!(files.check(), Err(Error::Lost(_))), "{lost:?} is gone");
            std::fs::write(&lost, "three").unwrap();
            assert!(matches!(files.check(), Err(Error::Lost(_))), "{lost:?} is another one");
            std::fs::rename(home.path().join("elsewhere"), &lost).unwrap();
            assert!(files.check().is_ok());
        }
    }
}
