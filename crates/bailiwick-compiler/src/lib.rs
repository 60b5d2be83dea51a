#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub mod compile;
pub mod delivery;
pub mod emit;
pub mod expand;
pub mod label;
pub mod render;
pub mod validate;
