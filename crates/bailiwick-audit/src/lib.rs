#![doc = include_str!("../README.md")]
//!
//! # Tour
//!
//! - [`LogReader`] reads logs into an [`AuditLog`]: the distinct requests with their decisions.
//! - [`reason::RbacReason`] is the binding in the reason of the authorizer.
//! - [`policy::AuditPolicy`] has the requests outside of a log.
//! - [`least`] computes the least rights for the requests of a subject.

mod chunk;
pub mod codes;
mod document;
mod event;
pub mod least;
mod log;
pub mod policy;
mod read;
pub mod reason;
mod request;
mod time;

pub use log::{AuditLog, ENOUGH_DAYS, EventCounts, LogError, Observation, ObservedRequest};
pub use read::LogReader;
pub use request::{AuditDecision, Basis, DecidedRequest};
pub use time::Timestamp;
