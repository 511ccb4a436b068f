//! Every commit has the name of a crash point. May import: source, code.

use crate::code;
use crate::source::Source;

/// Where transactions end: the writer lane with what opens a file, and PostgreSQL's transactions.
const LANE: &[&str] =
    &["src/store/sqlite/lane.rs", "src/store/sqlite/schema_check.rs", "src/store/postgres/transaction.rs"];

/// Writing jobs whose function does not say in its documentation which crash points it has, and commits beside the
/// lane. The commands of the door have theirs by a match that leaves none out.
pub fn check(source: &Source) -> Vec<String> {
    let mut breaches = Vec::new();
    let is_store = source.path.starts_with("src/store/");
    for (at, _) in source.code.match_indices("self.write(").filter(|_| is_store) {
        if !documentation(&source.text, at).contains("CP-") {
            let line = code::line(&source.code, at);
            breaches.push(format!("{}:{line}: a commit without the name of a crash point", source.path));
        }
    }
    let is_lane = LANE.contains(&source.path.as_str());
    for word in ["commit_transaction", "COMMIT"] {
        if let Some(at) = source.text.find(word).filter(|at| !is_lane && is_code(source, *at)) {
            let line = code::line(&source.text, at);
            breaches.push(format!("{}:{line}: {word}: the engines alone commit", source.path));
        }
    }
    breaches
}

/// Neither in a comment nor in a test.
fn is_code(source: &Source, at: usize) -> bool {
    let line = code::line(&source.text, at);
    let blanked = source.code.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    source.path.starts_with("src/") && !blanked.trim().is_empty()
}

/// The comment lines above the function that holds this place.
fn documentation(text: &str, at: usize) -> String {
    let above = text.get(..at).unwrap_or_default();
    let head = above.rfind(" fn ").and_then(|start| above.get(..start)).unwrap_or_default();
    let lines = head.lines().rev().skip(1);
    lines.take_while(|line| line.trim_start().starts_with("///")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_commit_without_a_name_is_seen() {
    let seen = |path: &str, text: &str| check(&Source::new(path, text)).len();
    let job = |doc: &str| format!("{doc}    pub async fn f(&self) {{\n        run!(self.write(a::b))\n    }}\n");
    assert_eq!(seen("src/store/writes.rs", &job("    /// Adds it (CP-63).\n    ///\n    /// # Errors\n")), 0);
    assert_eq!(seen("src/store/writes.rs", &job("    /// Adds it.\n")), 1);
    assert_eq!(seen("src/store/writes.rs", &job("    /// CP-01\n    fn g() {}\n\n    /// Adds it.\n")), 1);
    assert_eq!(seen("src/transport/socket.rs", &job("    /// Sends it.\n")), 0);
    assert_eq!(seen("src/authority/ask.rs", "fn f() { Manager::commit_transaction(c) }"), 1);
    assert_eq!(seen("src/store/sqlite/lane.rs", "fn f() { Manager::commit_transaction(c) }"), 0);
    assert_eq!(seen("src/authority/ask.rs", "fn f() { c.batch_execute(\"COMMIT\") }"), 1);
}
