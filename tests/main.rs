//! The tests, in reading order.

mod cases;
mod validation;
mod yaml;
