//! Which invariants a database can show, each as one statement that finds what breaks it; and which it cannot, with
//! the reason. May import: nothing of this crate.

mod claims;
mod events;
mod turns;

/// One thing that must not be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The invariant, such as `INV-33`; `PAGES` for what the database says of its own file.
    pub invariant: &'static str,
    /// What is wrong, in words.
    pub says: &'static str,
    /// Which rows: their kinds and ids.
    pub rows: String,
}

/// An invariant and the statement that finds what breaks it: one text column `found`, a line per breach. Both engines
/// understand it; the migrations of PostgreSQL bring SQLite's functions for JSON.
pub(super) struct Rule {
    pub(super) invariant: &'static str,
    pub(super) says: &'static str,
    pub(super) sql: &'static str,
}

/// Every rule that stands as a statement, by invariant.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    turns::RULES.iter().chain(claims::RULES).chain(events::RULES)
}

/// The rule that stands as a function, because recovery's own reader has to be asked (INV-25).
pub(super) const UNREADABLE: (&str, &str) =
    ("INV-25", "recovery metadata cannot be read; the next start refuses and names it");
/// What the database says of its own pages.
pub(super) const PAGES: (&str, &str) = ("PAGES", "the database file is damaged");

/// What [`Store::check`](super::Store::check) looks for: invariant and what a violation of it says.
pub fn shown() -> Vec<(&'static str, &'static str)> {
    let mut all: Vec<_> = rules().map(|rule| (rule.invariant, rule.says)).chain([UNREADABLE, PAGES]).collect();
    all.sort_unstable();
    all
}

/// Invariants that no state of a database can break, and why; tests of histories hold them.
pub const NOT_SHOWN: &[(&str, &str)] = &[
    ("INV-07", "a refusal leaves nothing behind that could be looked at"),
    ("INV-13", "what a caller was told is not stored"),
    ("INV-15", "needs the rows as they were before"),
    ("INV-23", "is about when a port opens"),
    ("INV-24", "needs several starts"),
    ("INV-28", "is about answers to reads that fail"),
    ("INV-30", "needs the rows as they were before"),
    ("INV-32", "is about when a late event arrives"),
    ("INV-35", "is about how long a call takes"),
    ("INV-39", "is about who waits for whom"),
    ("INV-40", "is about how long a call takes after a fault"),
];
