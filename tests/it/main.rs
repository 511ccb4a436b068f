//! The one integration binary. May import: the crate.

mod kill;
