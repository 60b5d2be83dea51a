//! Internal errors: the record of an invariant that does not hold, and lookups that cannot miss.
//!
//! The trees, tables and indexes of Bailiwick are looked up by ids and ranges of their own making. A failed lookup is
//! a bug, and a default in its place could turn into a wrong decision. These functions record the first failure for
//! the whole process, so that a program ends with [`InternalError`] in place of an answer. They do not panic: bad
//! input must not stop a program.
//!
//! ```
//! use bailiwick_yaml::internal;
//!
//! assert_eq!(internal::slice("apiVersion", 0..3), "api");
//! assert!(internal::first().is_none());
//! ```

use std::fmt;
use std::panic::Location;
use std::slice::SliceIndex;
use std::sync::OnceLock;

static FIRST: OnceLock<InternalError> = OnceLock::new();

/// A broken invariant: a bug of the program, not of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InternalError {
    problem: &'static str,
    place: &'static Location<'static>,
}

impl fmt::Display for InternalError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({}:{})", self.problem, self.place.file(), self.place.line())
    }
}

impl std::error::Error for InternalError {}

/// Records that an invariant does not hold. The first record stays.
#[cold]
#[track_caller]
pub fn record(problem: &'static str) {
    // Inside of a closure the caller is this function.
    let place = Location::caller();
    FIRST.get_or_init(|| InternalError { problem, place });
}

/// Returns the first internal error of the process.
pub fn first() -> Option<InternalError> {
    FIRST.get().copied()
}

/// Returns a value that is always present.
#[inline]
#[track_caller]
pub fn value<T: Default>(found: Option<T>, problem: &'static str) -> T {
    if let Some(value) = found {
        return value;
    }
    record(problem);
    T::default()
}

/// Returns the part of a text at a range inside the text.
#[inline]
#[track_caller]
pub fn slice(text: &str, range: impl SliceIndex<str, Output = str>) -> &str {
    value(text.get(range), "a range is outside of its text")
}

/// Returns the part of a list at a range inside the list.
#[inline]
#[track_caller]
pub fn items<T>(list: &[T], range: impl SliceIndex<[T], Output = [T]>) -> &[T] {
    value(list.get(range), "a range is outside of its list")
}

/// Returns a position or a count in 32 bits. No text, tree or list reaches 4 GiB.
#[inline]
#[track_caller]
pub fn number(position: usize) -> u32 {
    if let Ok(number) = u32::try_from(position) {
        return number;
    }
    record("a position takes more than 32 bits");
    u32::MAX
}
