//! Coding agents over ACP, with a real one on the protocol's own SDK: what each outcome of a dispatch leaves, what an
//! agent may do in its turn, and what becomes of its process. May import: the crate, the app, the scene.

mod outcome;
mod process;
mod stage;
mod turn;
