//! A review in words, for a terminal.

use crate::app::review::ChangeReview;
use crate::diag::foreign;

/// Returns the verdict of a review as a line.
pub fn text(review: &ChangeReview) -> String {
    format!("{}\n", foreign::line(&review.line))
}
