//! Which room imports which. May import: source, code.

use crate::code;
use crate::source::Source;

/// The rooms, from the outside in: one may import those of later lines, never a neighbour of its own line.
const LAYERS: &[&[&str]] = &[
    &["main"],
    &["cli", "serve"],
    &["demo", "transport"],
    &["graphql", "mcp"],
    &["authority"],
    &["dispatch", "outbox"],
    &["store", "bus", "access"],
    &["lifecycle"],
    &["scope", "telemetry", "ports"],
    &["ids", "tasks", "config", "metrics", "crash"],
];

/// Rooms that may import less than what lies further in.
const NARROW: &[(&str, &[&str])] = &[("lifecycle", &["ids"]), ("scope", &["ids"]), ("ports", &["ids"])];

/// The room of a file: the folder or file below `src`.
fn room(path: &str) -> &str {
    let inner = path.strip_prefix("src/").unwrap_or(path);
    inner.split(['/', '.']).next().unwrap_or(inner)
}

fn layer(room: &str) -> Option<usize> {
    LAYERS.iter().position(|rooms| rooms.contains(&room))
}

fn may_import(from: &str, to: &str) -> bool {
    let is_further_in = match (layer(from), layer(to)) {
        (Some(own), Some(other)) => own < other,
        _ => false,
    };
    let is_narrow = NARROW.iter().any(|(room, only)| *room == from && !only.contains(&to));
    from == to || (is_further_in && !is_narrow)
}

/// The imports of a file that go the wrong way.
pub fn check(source: &Source) -> Vec<String> {
    let from = room(&source.path);
    if from == "lib" {
        return Vec::new();
    }
    let own = if from == "main" { "answerable::" } else { "crate::" };
    let named = rooms_named(&source.code, own);
    let wrong = named.into_iter().filter(|(to, _)| !may_import(from, to));
    let mut breaches: Vec<_> =
        wrong.map(|(to, line)| format!("{}:{line}: {from} imports {to}", source.path)).collect();
    if let Some(at) = source.code.find(&"super::".repeat(depth(&source.path))) {
        let line = code::line(&source.code, at);
        breaches.push(format!("{}:{line}: leaves its room by super", source.path));
    }
    breaches
}

/// How many steps up lead out of the room.
fn depth(path: &str) -> usize {
    path.trim_end_matches("/mod.rs").matches('/').count()
}

/// The rooms that follow `prefix`, one by one or in braces, each with its line.
fn rooms_named(code: &str, prefix: &str) -> Vec<(String, usize)> {
    let mut rooms = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let rest = code.get(at + prefix.len()..).unwrap_or_default();
        let line = code::line(code, at);
        match rest.strip_prefix('{') {
            Some(list) => rooms.extend(heads(list).into_iter().map(|name| (name, line))),
            None => rooms.push((word(rest), line)),
        }
    }
    rooms.retain(|(name, _)| !name.is_empty());
    rooms
}

/// The first word of each part of a list in braces: `a::b, c::{d, e}` has `a` and `c`.
fn heads(list: &str) -> Vec<String> {
    let (mut depth, mut names, mut start) = (0_usize, Vec::new(), 0);
    for (at, character) in list.char_indices() {
        let is_end = character == '}' && depth == 0;
        if is_end || (character == ',' && depth == 0) {
            names.push(word(list.get(start..at).unwrap_or_default().trim_start()));
            start = at + 1;
        }
        match character {
            _ if is_end => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    names
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Rooms that have no line in [`LAYERS`].
pub fn unplaced<'a>(sources: impl Iterator<Item = &'a Source>) -> Vec<String> {
    let mut rooms: Vec<_> = sources.map(|source| room(&source.path)).collect();
    rooms.dedup();
    let known = |name: &&str| *name == "lib" || layer(name).is_some();
    rooms.into_iter().filter(|name| !known(name)).map(|name| format!("{name} has no place in LAYERS")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(path: &str, text: &str) -> usize {
        check(&Source::new(path, text)).len()
    }

    #[test]
    fn an_import_against_the_direction_is_seen() {
        assert_eq!(seen("src/store/mod.rs", "use crate::authority::Authority;"), 1);
        assert_eq!(seen("src/authority/ask.rs", "use crate::store::Store;"), 0);
        assert_eq!(seen("src/lifecycle/turn.rs", "fn f() -> crate::ports::System { todo() }"), 1);
        assert_eq!(seen("src/config/mod.rs", "use crate::ids::Micros;"), 1);
        assert_eq!(seen("src/cli.rs", "use crate::mystery::Thing;"), 1);
        assert_eq!(seen("src/ids.rs", "use answerable::store;\nuse crate::store;"), 1);
    }

    #[test]
    fn neighbours_of_one_line_do_not_import_each_other() {
        assert_eq!(seen("src/graphql/query.rs", "use crate::mcp::Settings;"), 1);
        assert_eq!(seen("src/access/mod.rs", "use crate::store::TokenRow;"), 1);
        assert_eq!(seen("src/store/rows.rs", "use crate::store::Error;"), 0);
    }

    #[test]
    fn every_room_of_a_list_in_braces_counts() {
        assert_eq!(seen("src/store/mod.rs", "use crate::{ids::{A, B}, mcp::{C, graphql}, graphql};"), 2);
        assert_eq!(seen("src/main.rs", "use answerable::{cli, demo::{self, Demo}};"), 0);
    }

    #[test]
    fn super_does_not_lead_out_of_a_room() {
        assert_eq!(seen("src/store/statements/view.rs", "use super::super::super::mcp;"), 1);
        assert_eq!(seen("src/store/statements/view.rs", "use super::super::rows;"), 0);
        assert_eq!(seen("src/store/mod.rs", "use super::mcp;"), 1);
        assert_eq!(seen("src/tasks.rs", "use super::mcp;"), 1);
    }

    #[test]
    fn prose_and_tests_import_what_they_like() {
        assert_eq!(seen("src/ids.rs", "// crate::store\nconst A: &str = \"crate::store\";"), 0);
        assert_eq!(seen("src/ids.rs", "#[cfg(test)]\nmod tests { use crate::store; }"), 0);
    }

    #[test]
    fn a_room_without_a_place_is_seen() {
        assert_eq!(unplaced([Source::new("src/attic/mod.rs", ""), Source::new("src/lib.rs", "")].iter()).len(), 1);
    }
}
