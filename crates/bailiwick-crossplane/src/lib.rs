//! Crossplane's packages: what a stack owns and depends on, and the objects that let it run (seed 004,
//! `specs/systems.md` part B).
//!
//! ```text
//! package folder -> package::Package --\
//!                                       stack::Stack -> object::Object, object::Object, ...
//! StackInstall   -> install::Install --/       \-> conflicts, order: what several stacks make of each other
//! ```
//!
//! Beside the pipeline, on top of [`bailiwick_access`]: plain data in, plain data out. Knows neither policies nor templates;
//! the policy kinds `Stack` and `StackManager` read the folders and turn the objects into files.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub mod codes;
pub mod conflicts;
pub mod controller;
pub mod definition;
pub mod dependency;
pub mod gate;
pub mod image;
pub mod install;
pub mod manager;
pub mod metadata;
pub mod names;
pub mod object;
pub mod order;
pub mod package;
pub mod personas;
pub mod provider;
pub mod reach;
pub mod revision;
pub mod stack;
pub mod upgrade;
