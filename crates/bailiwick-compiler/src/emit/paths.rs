//! Many paths in little memory: the path of each folder once, and the names of its files one after the other.

use std::collections::BTreeMap;

/// Paths of files, in the order of their folders and of their names.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    /// The names in each folder, each with a slash at its end. The path of a folder also ends with a slash, so that the folders below a
    /// folder come directly behind the folder.
    names: BTreeMap<Box<str>, String>,
    count: usize,
}

impl Paths {
    /// Keeps the name of a file in the list of its folder.
    pub fn add(&mut self, path: &str) {
        let (folder, name) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
        if !self.names.contains_key(folder) {
            self.names.insert(folder.into(), String::new());
        }
        if let Some(names) = self.names.get_mut(folder) {
            names.push_str(name);
            names.push('/');
        }
        self.count += 1;
    }

    /// Returns the number of paths.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no paths.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of paths below a folder, whose path has a slash at its end; all paths without a folder.
    pub fn count_below(&self, folder: &str) -> usize {
        if folder.is_empty() {
            return self.count;
        }
        let below = self.names.iter().filter(|(path, _)| path.starts_with(folder));
        below.map(|(_, names)| memchr::memchr_iter(b'/', names.as_bytes()).count()).sum()
    }

    /// Iterates over the folders, each with the sorted names of its files. The path of a folder has no slash at its end.
    pub fn folders(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.names.iter().map(|(folder, names)| {
            let mut names: Vec<&str> = names.split_terminator('/').collect();
            names.sort_unstable();
            (folder.strip_suffix('/').unwrap_or(folder), names)
        })
    }

    /// Iterates over the paths.
    pub fn iter(&self) -> impl Iterator<Item = String> {
        self.folders().flat_map(|(folder, names)| {
            let slash = if folder.is_empty() { "" } else { "/" };
            names.into_iter().map(move |name| format!("{folder}{slash}{name}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back_folder_by_folder() {
        let mut paths = Paths::default();
        for path in ["a/b/d", "top", "a/c", "a-x/e", "a/b/a", "a/a"] {
            paths.add(path);
        }
        let folders: Vec<_> = paths.folders().collect();
        let expected = [("", vec!["top"]), ("a-x", vec!["e"]), ("a", vec!["a", "c"]), ("a/b", vec!["a", "d"])];
        assert_eq!(folders, expected);
        assert_eq!(paths.iter().collect::<Vec<_>>(), ["top", "a-x/e", "a/a", "a/c", "a/b/a", "a/b/d"]);
        assert_eq!((paths.count_below("a/"), paths.count_below("a/b/"), paths.count_below("")), (4, 2, 6));
        assert_eq!((paths.len(), paths.is_empty(), Paths::default().is_empty()), (6, false, true));
    }
}
