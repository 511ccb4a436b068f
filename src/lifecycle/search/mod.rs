//! Checks of the core: every world that small sessions can reach, walked breadth first over the real `decide`,
//! with a crash possible between any two steps. May import: ids and the rest of lifecycle.
//!
//! - [`world`]: a session and what stands around it: servers, waiting agents, an executor, a bus
//! - [`step`], [`extras`], [`drive`]: what may happen next, in words; and doing it
//! - [`alphabet`]: every command of the lifecycle is among them
//! - [`rules`], [`rows`], [`edges`], [`probes`]: the invariants: of a state, of a step, of what must be refused
//! - [`walk`], [`exhaustive`]: the search, and its bounds
//! - [`random`]: longer traces, with shrinking
//! - [`legacy`]: a session as an import may leave it
//! - [`faults`], [`tampered`]: planted faults that these checks must find
//! - [`independence`]: two sessions never touch one another

mod alphabet;
mod drive;
mod edges;
mod exhaustive;
mod extras;
mod faults;
mod fingerprint;
mod independence;
mod legacy;
mod probes;
mod random;
mod recovery;
mod rows;
mod rules;
mod step;
mod tampered;
mod walk;
mod world;
