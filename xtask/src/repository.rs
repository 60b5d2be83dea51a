//! The files of the repository that the checks read.

use std::io;
use std::path::Path;
use std::process::Command;

/// Folders with texts that other programs write or read, such as expected output.
const NOT_PROSE: [&str; 6] =
    ["out/", "target/", "tests/cases/", "tests/hostile/", "tests/toolforge/", "tests/fuzz/corpus/"];

/// A file with its text.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// The path from the root of the repository, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Returns the crate, the module of the root package or the folder that the file belongs to.
    ///
    /// A module keeps its area when it becomes a crate: `src/access/` and `crates/bailiwick-access/` are both `access`.
    pub(crate) fn area(&self) -> &str {
        area(&self.path)
    }

    /// Whether the file is generated from the comments and pages of the program, which are checked themselves.
    pub(crate) fn is_generated(&self) -> bool {
        ["docs/areas/", "docs/diagnostics/", "docs/kinds/"].iter().any(|folder| self.path.starts_with(folder))
    }

    /// Whether the file is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the file is Markdown.
    pub(crate) fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }

    /// Whether the file is Rust that other code uses: no test, benchmark or example.
    pub(crate) fn is_product(&self) -> bool {
        let outer = ["src/", "crates/", "xtask/"].iter().any(|folder| self.path.starts_with(folder));
        let is_test = ["/tests/", "/benches/", "/examples/"].iter().any(|folder| self.path.contains(folder));
        self.is_rust() && outer && !is_test
    }
}

/// Returns the area of a path.
fn area(path: &str) -> &str {
    if path.starts_with("src/admission/policy/cel") {
        return "cel";
    }
    let mut parts = path.split('/');
    let Some(first) = parts.next() else { return "root" };
    let Some(second) = parts.next() else { return "root" };
    let has_more = parts.next().is_some();
    match first {
        "crates" => second.strip_prefix("bailiwick-").unwrap_or(second),
        "src" => match second.strip_suffix(".rs").unwrap_or(second) {
            "lib" | "main" => "bailiwick",
            "k8s" => "kubernetes",
            "diag" => "yaml",
            module => module,
        },
        "docs" if has_more && matches!(second, "diagnostics" | "kinds") => match second {
            "kinds" => "docs/kinds",
            _ => "docs/diagnostics",
        },
        folder => folder,
    }
}

/// The Rust and Markdown files of the repository, without the files that git ignores.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) files: Vec<File>,
}

impl Repository {
    /// Reads the files that git tracks or would track.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let listed = git(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.rs", "*.md"])?;
        let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        paths.sort_unstable();
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            // Rust files below `tests/` are tests, and other files there are data.
            let is_data = NOT_PROSE.iter().any(|folder| path.starts_with(folder)) && !path.ends_with(".rs");
            if is_data || !root.join(path).is_file() {
                continue;
            }
            files.push(File { path: path.to_owned(), text: std::fs::read_to_string(root.join(path))? });
        }
        Ok(Self { files })
    }
}

/// Runs git and returns its output.
pub(crate) fn git(root: &Path, arguments: &[&str]) -> io::Result<String> {
    let output = Command::new("git").current_dir(root).args(arguments).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("git {}: {}", arguments.join(" "), text.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::area;

    #[test]
    fn a_module_and_its_crate_are_one_area() {
        for (path, expected) in [
            ("src/access/ask.rs", "access"),
            ("src/access.rs", "access"),
            ("crates/bailiwick-access/src/lib.rs", "access"),
            ("src/k8s/names.rs", "kubernetes"),
            ("src/admission/policy/cel/parse.rs", "cel"),
            ("src/main.rs", "bailiwick"),
            ("docs/kinds/grant.md", "docs/kinds"),
            ("docs/ask.md", "docs"),
            ("README.md", "root"),
            ("tests/cases.rs", "tests"),
        ] {
            assert_eq!(area(path), expected, "{path}");
        }
    }
}
