//! The lines of an object in YAML: where in a line its value begins, and whether the value is a note.

use memchr::memchr;

/// Domains of labels and annotations that Kubernetes, OpenShift or Bailiwick read.
const READ: [&str; 4] = ["kubernetes.io", "k8s.io", "openshift.io", "bailiwick.dev"];

/// The place of a line in an object, as far as it decides how the value is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    in_metadata: bool,
    section: Section,
    /// Whether Kubernetes reads the value as a word of its own.
    pub(super) is_literal: bool,
    /// Whether the value is of the reference to a role.
    pub(super) in_role_ref: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    Labels,
    Annotations,
    #[default]
    Other,
}

/// A label or an annotation that Kubernetes does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoteLine<'l> {
    line: &'l str,
    pub(super) key: &'l str,
    pub(super) is_annotation: bool,
}

impl Place {
    /// Goes on to a line and returns the offset of its value.
    pub(super) fn enter(&mut self, line: &str) -> usize {
        let indent = line.bytes().take_while(|byte| *byte == b' ').count();
        let mut start = indent;
        while line.get(start..).is_some_and(|rest| rest.starts_with("- ")) {
            start += 2;
        }
        let rest = line.get(start..).unwrap_or_default();
        let Some(length) = key_length(rest) else { return start };
        let key = rest.get(..length).unwrap_or_default();
        self.is_literal = is_literal(key);
        if start == 0 {
            (self.in_metadata, self.section) = (key == "metadata", Section::Other);
            self.in_role_ref = key == "roleRef";
        } else if indent == 2 && self.in_metadata {
            self.section = match key {
                "labels" => Section::Labels,
                "annotations" => Section::Annotations,
                _ => Section::Other,
            };
        }
        start + length + 1
    }

    /// Returns the line that was entered last, if it is a note.
    pub(super) fn note<'l>(&self, line: &'l str) -> Option<NoteLine<'l>> {
        let is_annotation = match self.section {
            Section::Labels => false,
            Section::Annotations => true,
            Section::Other => return None,
        };
        let entry = line.strip_prefix("    ").filter(|entry| !entry.starts_with([' ', '-']))?;
        let key = entry.get(..key_length(entry)?)?;
        let domain = key.trim_matches(['"', '\'']).split_once('/').map_or("", |(domain, _)| domain);
        let is_of = |read: &str| domain.strip_suffix(read).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        (!READ.into_iter().any(is_of)).then_some(NoteLine { line, key, is_annotation })
    }
}

/// Whether Kubernetes reads the values of a key as words of its own.
fn is_literal(key: &str) -> bool {
    matches!(key, "apiGroup" | "apiGroups" | "apiVersion" | "kind" | "nonResourceURLs" | "resources" | "verbs")
}

/// Returns the notes in a part of an object, which begins at a place.
pub(super) fn notes(mut place: Place, text: &str) -> impl Iterator<Item = NoteLine<'_>> {
    text.lines().filter_map(move |line| {
        place.enter(line);
        place.note(line)
    })
}

/// Returns the length of the key that a line begins with, its quotes included; none where the line begins with a value.
fn key_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_end =
        |position: usize| bytes.get(position) == Some(&b':') && matches!(bytes.get(position + 1), None | Some(b' '));
    match bytes.first()? {
        &quote @ (b'"' | b'\'') => {
            let inside = bytes.get(1..)?;
            let end = inside.iter().position(|byte| *byte == quote)? + 2;
            is_end(end).then_some(end)
        }
        _ => {
            let mut start = 0;
            loop {
                start += memchr(b':', bytes.get(start..)?)?;
                if is_end(start) {
                    return Some(start);
                }
                start += 1;
            }
        }
    }
}
