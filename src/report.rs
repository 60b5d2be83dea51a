//! Puts results into words: one file per form of output. The only place, with `cli`, that writes to the terminal.

pub mod access;
pub mod groups;
pub mod human;
pub mod machine;
pub mod migration;
pub mod nodes;
pub mod page;
pub mod pod_security;
pub mod risk;
pub mod rule_places;
pub mod stacks;
pub mod table;
mod terminal;

pub use terminal::{Answers, ColorChoice, Terminal};
