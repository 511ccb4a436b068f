//! What a file says of itself. May import: source.

use crate::source::Source;

/// Every file begins with its `//!`, which says what it may import.
pub fn check(source: &Source) -> Vec<String> {
    let header: Vec<&str> = source.text.lines().take_while(|line| line.starts_with("//!")).collect();
    let mut breaches = Vec::new();
    if header.is_empty() {
        breaches.push(format!("{}: does not begin with //! and what stands in it", source.path));
    } else if !header.join(" ").replace("//!", "").contains("May import") && source.path != "src/lib.rs" {
        breaches.push(format!("{}: its header does not say what it May import", source.path));
    }
    breaches
}

#[test]
fn a_file_without_a_header_or_without_its_imports_is_seen() {
    let seen = |text: &str| check(&Source::new("src/a.rs", text)).len();
    assert_eq!(seen("//! A thing. May import: ids.\n"), 0);
    assert_eq!(seen("use std::fmt;\n//! Late. May import: ids.\n"), 1);
    assert_eq!(seen("//! A thing.\n\n// May import: ids.\n"), 1);
    assert_eq!(seen(""), 1);
}
