//! The tests, in reading order.

mod validation;
mod yaml;
