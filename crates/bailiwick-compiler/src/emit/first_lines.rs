//! The first of many lines.

use serde::{Deserialize, Serialize};

/// The number of changed roles that are printed one by one.
pub const MAXIMUM_LINES: usize = 20;

/// The first of many lines, with how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstLines {
    /// At most [`MAXIMUM_LINES`], each with the path of its file, in order of path.
    first: Vec<(String, String)>,
    /// All of them.
    pub count: usize,
}

impl FirstLines {
    /// Adds the lines of a file, in any order of the files. The file stands for `files` alike files.
    pub(super) fn add_file(&mut self, path: &str, lines: &[String], files: usize) {
        self.count += lines.len() * files;
        let position = self.first.partition_point(|(earlier, _)| earlier.as_str() <= path);
        let room = MAXIMUM_LINES.saturating_sub(position);
        if room > 0 {
            let lines = lines.iter().take(room).map(|line| (path.to_owned(), line.clone()));
            self.first.splice(position..position, lines);
            self.first.truncate(MAXIMUM_LINES);
        }
    }

    /// Returns the first lines.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.first.iter().map(|(_, line)| line.as_str())
    }

    /// Whether there are as many lines as are named, and no more are named than a run names.
    pub(super) fn is_plausible(&self) -> bool {
        self.first.len() <= self.count.min(MAXIMUM_LINES) && u32::try_from(self.count).is_ok()
    }

    /// Adds the lines of another part.
    pub(super) fn add(&mut self, other: Self) {
        self.first.extend(other.first);
        // A file is in one part, so that its lines keep their order.
        self.first.sort_by(|left, right| left.0.cmp(&right.0));
        self.first.truncate(MAXIMUM_LINES);
        self.count += other.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_are_first_by_path_in_any_order_of_files() {
        let lines = |path: usize| vec![format!("{path} a"), format!("{path} b"), format!("{path} c")];
        let mut all: Vec<usize> = (10..60).collect();
        all.sort_by_key(|number| number * 37 % 50);
        let mut found = FirstLines::default();
        for path in all {
            found.add_file(&format!("p{path}"), &lines(path), 2);
        }
        let expected: Vec<String> = (10..60).flat_map(lines).take(MAXIMUM_LINES).collect();
        assert_eq!(found.lines().collect::<Vec<_>>(), expected);
        assert_eq!(found.count, 50 * 3 * 2);
        assert!(found.is_plausible());
    }
}
