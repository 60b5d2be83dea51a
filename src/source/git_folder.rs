//! The names of a repository's folder.

/// Whether a name is the name of a repository's folder, in every form that a file system accepts for it.
pub fn is_of_git(name: &[u8]) -> bool {
    // File systems may ignore case, points and blanks at the end, and some characters without a width.
    let text = String::from_utf8_lossy(name).to_lowercase();
    let is_ignored = |letter: &char| matches!(letter, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let text: String = text.chars().filter(|letter| !is_ignored(letter)).collect();
    matches!(text.trim_end_matches(['.', ' ']), ".git" | "git~1")
}

#[cfg(test)]
mod tests {
    use super::is_of_git;

    #[test]
    fn a_repository_has_many_names() {
        for name in [".git", ".GIT", ".gIt", ".git.", ".git ", "git~1", ".g\u{200c}it"] {
            assert!(is_of_git(name.as_bytes()), "{name:?}");
        }
        for name in [".github", ".gitignore", "git", "a.git", ".gitlab"] {
            assert!(!is_of_git(name.as_bytes()), "{name:?}");
        }
    }
}
