//! Takes the place of `progress.rs` on a system without a terminal, such as a browser: nothing is drawn.

pub use self::HiddenProgress as ProgressLine;

/// A line of progress that is not drawn.
#[derive(Debug)]
pub struct HiddenProgress;

impl HiddenProgress {
    /// Returns a line out of sight.
    pub(super) fn new(_: &str, _: usize) -> Self {
        Self
    }

    /// Draws nothing.
    pub fn draw(&self, _: usize) {}

    /// Removes nothing.
    pub fn clear(self) {}
}
