//! The tests, in reading order.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

mod random;
mod support;

mod access;
mod admission;
mod alike;
mod audit;
mod case;
mod crossplane;
mod diagnostics;
mod editor;
mod expansion;
mod facade;
mod hostile;
mod import;
mod in_memory;
mod layers;
mod node;
mod openshift;
mod oracle;
mod pages;
mod parts;
mod readme;
mod registry;
mod report;
mod review;
mod runs;
mod tenancy;
mod toolforge;
mod upgrade;
mod validation;
mod versions;
mod yaml;
