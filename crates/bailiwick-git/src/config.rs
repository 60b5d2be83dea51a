//! The place of the work tree in the configuration of a repository. Only git's own file is read: an included file is outside
//! the repository.

/// Returns the last value of a setting in the text of a configuration; none where it is not set.
pub(super) fn value(text: &str, section: &str, name: &str) -> Option<String> {
    let mut is_in_section = false;
    let mut found = None;
    for line in text.replace("\\\r\n", "").replace("\\\n", "").lines() {
        let mut line = line.trim_start();
        if let Some((head, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            is_in_section = head.trim().eq_ignore_ascii_case(section);
            line = rest;
        }
        if let Some((key, value)) = line.split_once('=')
            && is_in_section
            && key.trim().eq_ignore_ascii_case(name)
        {
            found = Some(unquoted(value));
        }
    }
    found
}

/// Removes quotes, escapes and comment of a value.
fn unquoted(written: &str) -> String {
    let mut value = String::new();
    // The rest is blank and not quoted.
    let mut end = 0;
    let mut is_quoted = false;
    let mut characters = written.trim().chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => match characters.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('b') => value.push('\u{8}'),
                Some(escaped) => value.push(escaped),
                None => break,
            },
            plain => value.push(plain),
        }
        if is_quoted || !character.is_whitespace() {
            end = value.len();
        }
    }
    value.truncate(end);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_the_section_counts() {
        let worktree = |text: &str| value(text, "core", "worktree");
        assert_eq!(worktree("[core]\n\tbare = false\n"), None);
        assert_eq!(worktree("[core]\n\tworktree = ../../w\n").as_deref(), Some("../../w"));
        assert_eq!(worktree("[Core] WorkTree=a\n[x]\nworktree = b\n[core]\nworktree = c # d\n").as_deref(), Some("c"));
        assert_eq!(worktree("[core \"a\"]\nworktree = b\n[core]\n# worktree = c\n"), None);
        assert_eq!(worktree("[core]\nworktree = \"a # b \\\"c\\\\ \" ; d\n").as_deref(), Some("a # b \"c\\ "));
        assert_eq!(worktree("[core]\r\nworktree = a\\\r\n b \r\n").as_deref(), Some("a b"));
        assert_eq!(worktree("[core]\nworktree =\n").as_deref(), Some(""));
    }
}
