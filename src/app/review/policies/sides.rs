//! Values of both states.

use crate::app::review::Side;

/// A value of each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sides<T> {
    pub(super) base: T,
    pub(super) head: T,
}

impl<T> Sides<T> {
    /// Makes the value of each state.
    pub(super) fn of(mut make: impl FnMut(Side) -> T) -> Self {
        Self { base: make(Side::Base), head: make(Side::Head) }
    }

    /// Returns the value of a state.
    pub(super) fn at(&self, side: Side) -> &T {
        match side {
            Side::Base => &self.base,
            Side::Head => &self.head,
        }
    }

    /// Returns the values, the earlier first, each with its state and the value of the other state.
    pub(super) fn with_others(&self) -> [(Side, &T, &T); 2] {
        [(Side::Base, &self.base, &self.head), (Side::Head, &self.head, &self.base)]
    }
}
