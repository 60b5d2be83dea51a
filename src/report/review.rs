//! The forms of a review.

pub mod summary;
