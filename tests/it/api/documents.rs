//! What the documents say of the interface is what the code does. May import: the crate.

use answerable::graphql;

#[test]
fn the_readmes_error_codes_are_the_codes() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let (_, rest) = readme.split_once("<!-- error codes -->").unwrap();
    let (table, _) = rest.split_once("<!-- /error codes -->").unwrap();
    assert_eq!(table.trim(), graphql::error_table().trim());
}
