//! Puts results into words: one file per form of output. The only place, with `cli`, that writes to the terminal.

pub mod access;
pub mod checks;
pub mod comparison;
pub mod human;
pub mod machine;
pub mod migration;
pub mod nodes;
pub mod page;
pub mod pod_security;
pub mod risk;
pub mod stacks;
pub mod table;
mod terminal;
pub mod tests;
pub mod worlds;

pub use terminal::{Answers, ColorChoice, Terminal};
