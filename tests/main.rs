//! The tests, in reading order.

mod support;

mod cases;
mod layers;
mod readme;
mod registry;
mod runs;
mod toolforge;
mod validation;
mod yaml;
