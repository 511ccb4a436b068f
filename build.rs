//! Puts the built web example and the built GraphiQL into the binary: a table of their files, without those of what
//! was not built.
//! May import: nothing.

use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

/// Folders of built files, and under which path each is served.
const FOLDERS: [(&str, &str); 2] = [("web-example/dist", ""), ("graphiql/dist", "/graphiql")];

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script where to write by the environment")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut table = "pub(super) const FILES: &[File] = &[\n".to_owned();
    for (folder, path) in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        list(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), path, &mut table)?;
    }
    table.push_str("];\n");
    fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join("web.rs"), table)?;
    Ok(())
}

/// Writes a row for each file of a page, if the page was built: one without what it loads is worse than none.
fn list(root: &Path, served: &str, table: &mut String) -> Result<(), Box<dyn Error>> {
    let mut found = Vec::new();
    collect(root, &mut found)?;
    found.sort();
    let is_built = found.iter().any(|path| path.ends_with("index.html"));
    for path in found.iter().filter(|_| is_built) {
        let name = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        let mut hasher = DefaultHasher::new();
        fs::read(path)?.hash(&mut hasher);
        let tag = format!("\"{:016x}\"", hasher.finish());
        let at = format!("{served}/{name}");
        writeln!(table, "    File {{ path: {at:?}, tag: {tag:?}, bytes: include_bytes!({path:?}) }},")?;
    }
    Ok(())
}

/// The files below a folder; names that begin with a dot are left out, and a folder that is not there is empty.
fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() {
            collect(&path, into)?;
        } else if !is_hidden {
            into.push(path);
        }
    }
    Ok(())
}
