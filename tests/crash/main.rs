//! x. May import: x
fn main() {}
