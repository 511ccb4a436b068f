//! The files of the repository, as text and as code. May import: code.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::code;

/// One Rust file.
#[derive(Clone, Debug)]
pub struct Source {
    /// From the root of the repository, with `/`.
    pub path: String,
    /// As it stands there.
    pub text: String,
    /// The text with comments, strings and the inside of tests blanked, line by line as before.
    pub code: String,
}

impl Source {
    /// A file with that text.
    pub fn new(path: &str, text: &str) -> Self {
        let code = code::without_tests(&code::without_prose(text));
        Self { path: path.to_owned(), text: text.to_owned(), code }
    }
}

/// Every file, read once. One that only tests use has no code left.
pub static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| read(&["src", "tests", "benches"]));

fn read(roots: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    roots.iter().for_each(|folder| collect(&root.join(folder), &mut paths));
    paths.sort();
    let mut sources: Vec<_> = paths.iter().map(|path| load(root, path)).collect();
    let tests: HashSet<_> = sources.iter().flat_map(test_modules).collect();
    for source in &mut sources {
        if tests.iter().any(|module| is_in(&source.path, module)) {
            source.code.clear();
        }
    }
    sources
}

fn load(root: &Path, path: &Path) -> Source {
    let text = fs::read_to_string(path).expect("a source can be read");
    let short = path.strip_prefix(root).expect("it lies below the root");
    Source::new(&short.to_string_lossy().replace('\\', "/"), &text)
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            let is_foreign = path.ends_with("node_modules") || path.ends_with(".venv");
            if !is_foreign {
                collect(&path, into);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The modules that this file mounts for tests only, as paths without `.rs`.
fn test_modules(source: &Source) -> Vec<String> {
    let code = code::without_prose(&source.text);
    let base = match source.path.strip_suffix("/mod.rs").or_else(|| source.path.strip_suffix("/lib.rs")) {
        Some(folder) => folder.to_owned(),
        None => source.path.trim_end_matches(".rs").to_owned(),
    };
    let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut modules = Vec::new();
    for (at, _) in code.match_indices("#[cfg(test)]") {
        let rest = code.get(at..).unwrap_or_default();
        let item = rest.split([';', '{']).next().unwrap_or_default();
        let Some((_, name)) = item.rsplit_once("mod ").filter(|_| rest.contains(';')) else { continue };
        // A `#[path]` lies in a string, which the code has no more.
        let raw = source.text.get(at..at + item.len()).unwrap_or_default();
        modules.push(match raw.split_once("#[path = \"").and_then(|(_, path)| path.split_once(".rs\"")) {
            Some((path, _)) => format!("{folder}/{path}"),
            None => format!("{base}/{}", name.trim()),
        });
    }
    modules
}

fn is_in(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

#[test]
fn a_module_mounted_for_tests_is_found_by_name_and_by_path() {
    let text = "#[cfg(test)]\nmod tests;\n#[cfg(test)]\n#[path = \"odd.rs\"]\nmod strange;\nmod real;\n";
    let source = Source::new("src/store/mod.rs", text);
    assert_eq!(test_modules(&source), ["src/store/tests", "src/store/odd"]);
    let leaf = Source::new("src/store/leaf.rs", "#[cfg(test)]\nmod tests;\n");
    assert_eq!(test_modules(&leaf), ["src/store/leaf/tests"]);
    assert!(is_in("src/store/tests/plans.rs", "src/store/tests"));
    assert!(!is_in("src/store/tests_of.rs", "src/store/tests"));
}
