//! A line on standard error with the progress of a long run.

use std::fmt;
use std::time::Duration;

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// A line of progress, which is drawn over itself.
#[derive(Debug)]
pub struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// Returns a line out of sight until it is drawn. The heading holds no control characters.
    pub(super) fn new(heading: &str, total: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
        let heading = heading.to_owned();
        if let Ok(style) = ProgressStyle::with_template("{line}") {
            bar.set_style(style.with_key("line", move |state: &ProgressState, line: &mut dyn fmt::Write| {
                let progress = Progress {
                    done: state.pos(),
                    total: state.len().unwrap_or_default(),
                    per_second: state.per_sec(),
                    left: state.eta(),
                };
                let _ = line.write_str(&progress_line(&heading, &progress));
            }));
        }
        Self(bar)
    }

    /// Draws the line with the number of finished namespaces.
    pub fn draw(&self, done: usize) {
        self.0.set_position(done as u64);
    }

    /// Removes the line.
    pub fn clear(self) {
        self.0.finish_and_clear();
    }
}

/// The most columns of a line of progress.
const COLUMNS: usize = 60;

/// The progress of a run.
struct Progress {
    /// The number of finished namespaces.
    done: u64,
    /// The number of all namespaces.
    total: u64,
    per_second: f64,
    left: Duration,
}

/// Returns a line of progress with the numbers of finished and of all namespaces, without fractions. The bar takes the columns
/// that are left.
fn progress_line(heading: &str, progress: &Progress) -> String {
    let Progress { done, total, per_second, left } = *progress;
    // A run that has just begun may seem to take years.
    let per_second = HumanCount(per_second.clamp(0.0, 9_999_999.0).round() as u64);
    let left = left.min(Duration::from_secs(99 * 3600));
    let numbers = format!("{}/{}, {per_second}/s, {:#} left", HumanCount(done), HumanCount(total), HumanDuration(left));
    let room = COLUMNS.saturating_sub(numbers.len() + 2);
    let heading: String = heading.chars().take(room / 2).collect();
    let width = room.saturating_sub(heading.chars().count()).min(24);
    let filled = (done.min(total) as usize * width).checked_div(total as usize).unwrap_or_default();
    format!("{heading} {}{} {numbers}", "#".repeat(filled), "-".repeat(width - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_progress_is_short_and_has_whole_numbers() {
        let line = |heading, done, per_second, seconds| {
            let left = Duration::from_secs(seconds);
            progress_line(heading, &Progress { done, total: 1_000_000, per_second, left })
        };
        assert_eq!(
            line("production", 250_000, 1234.5678, 607),
            "production ###--------- 250,000/1,000,000, 1,235/s, 10m left"
        );
        for heading in ["t", "production", &"long".repeat(20)] {
            for (done, per_second, seconds) in
                [(0, 0.0, 0), (1, 0.3, 86_400 * 400), (999_999, 123_456.7, 1), (1_000_000, 9e15, u64::MAX)]
            {
                let line = line(heading, done, per_second, seconds);
                assert!(line.chars().count() <= COLUMNS, "{line}");
                assert!(!line.contains('.'), "{line}");
            }
        }
    }
}
