//! The rules of the house, checked over its source text in well under a second: which room imports which, what is
//! nowhere but in its place, how large files and functions are, what each file says of itself. Each rule is also
//! shown a breach and has to see it.
//!
//! May import: its parts. It reads the sources, and uses nothing of the crate.

#![expect(clippy::expect_used, reason = "sources that cannot be read fail the check")]

#[path = "tidy/absences.rs"]
mod absences;
#[path = "tidy/code.rs"]
mod code;
#[path = "tidy/commits.rs"]
mod commits;
#[path = "tidy/headers.rs"]
mod headers;
#[path = "tidy/imports.rs"]
mod imports;
#[path = "tidy/rows.rs"]
mod rows;
#[path = "tidy/sizes.rs"]
mod sizes;
#[path = "tidy/source.rs"]
mod source;

use source::{SOURCES, Source};

fn assert_none(breaches: &[String]) {
    assert!(breaches.is_empty(), "{} breaches:\n  {}", breaches.len(), breaches.join("\n  "));
}

fn of_the_crate() -> impl Iterator<Item = &'static Source> {
    SOURCES.iter().filter(|source| source.path.starts_with("src/"))
}

#[test]
fn the_sources_are_found() {
    for known in ["src/main.rs", "src/lifecycle/decide/mod.rs", "tests/tidy.rs", "tests/tidy/code.rs"] {
        assert!(SOURCES.iter().any(|source| source.path == known), "{known} is not there");
    }
}

#[test]
fn rooms_import_one_way() {
    assert_none(&of_the_crate().flat_map(imports::check).collect::<Vec<_>>());
}

#[test]
fn every_room_has_its_place() {
    assert_none(&imports::unplaced(of_the_crate()));
}

#[test]
fn what_belongs_to_one_place_is_nowhere_else() {
    assert_none(&of_the_crate().flat_map(absences::check).collect::<Vec<_>>());
}

#[test]
fn every_commit_has_the_name_of_a_crash_point() {
    assert_none(&of_the_crate().flat_map(commits::check).collect::<Vec<_>>());
}

#[test]
fn every_file_says_what_stands_in_it() {
    assert_none(&SOURCES.iter().flat_map(headers::check).collect::<Vec<_>>());
}

#[test]
fn files_and_functions_stay_small() {
    assert_none(&sizes::check(&SOURCES));
}

#[test]
fn every_row_of_a_table_names_tests_that_are_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for (table, letter, count) in [("tests/hostile/README.md", 'H', 21), ("tests/environment/README.md", 'E', 12)]
    {
        let (ids, breaches) = rows::check(root, table);
        assert_none(&breaches);
        let expected: Vec<_> = (1..=count).map(|number| format!("{letter}-{number:02}")).collect();
        assert_eq!(ids, expected, "{table}");
    }
}
