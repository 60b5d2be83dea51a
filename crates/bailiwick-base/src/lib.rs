#![doc = include_str!("../README.md")]

pub mod alike;
pub mod parallel;
pub mod stats;
