//! The tables of hostile input and of the environment have every row, and each test that a row names is there.
//! May import: nothing of this crate.

use std::fs;
use std::path::Path;

/// The ids of a table's rows, and what is wrong with what they name.
pub fn check(root: &Path, table: &str) -> (Vec<String>, Vec<String>) {
    let text = fs::read_to_string(root.join(table)).expect("a table");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")).filter_map(row);
    let (mut ids, mut breaches) = (Vec::new(), Vec::new());
    for (id, shown) in rows {
        breaches.extend(
            shown.split("<br>").filter_map(|test| missing(root, test)).map(|what| format!("{id}: {what}")),
        );
        ids.push(id.to_owned());
    }
    (ids, breaches)
}

fn row(line: &str) -> Option<(&str, &str)> {
    let (id, rest) = line.split_once(" | ")?;
    let is_id = id.len() == 4 && id.get(1..2) == Some("-");
    is_id.then(|| (id, rest.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default()))
}

fn missing(root: &Path, test: &str) -> Option<String> {
    let (file, name) = test.strip_prefix('`').and_then(|test| test.split_once('`')).unwrap_or((test, ""));
    let Ok(text) = fs::read_to_string(root.join(file)) else { return Some(format!("there is no {file}")) };
    let name = name.trim_start_matches(": ");
    let is_there = if file.ends_with(".rs") { text.contains(&format!("fn {name}(")) } else { has(&text, name) };
    (!is_there).then(|| format!("{file} has no {name}"))
}

/// Whether a script has a test of that name, parts of which it may put in.
fn has(text: &str, name: &str) -> bool {
    let filled = text.replace("${what}", "WHAT");
    let kinds = ["the file", "its log", "its folder"].map(|kind| name.replacen(kind, "WHAT", 1));
    text.contains(name) || kinds.iter().any(|name| filled.contains(name))
}

mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_there_is_seen() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(missing(root, "`tests/tidy/rows.rs`: a_name_that_is_not_there_is_seen"), None);
        assert!(missing(root, "`tests/tidy/rows.rs`: a_name_of_nothing").is_some());
        assert!(missing(root, "`tests/tidy/nothing.rs`: a_name").is_some());
    }
}
