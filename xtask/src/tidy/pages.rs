//! Pages of diagnostics without examples.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::finding::Finding;
use crate::repository::Repository;

/// Checks the pages of diagnostics in `docs/`.
pub(crate) fn check(repository: &Repository, findings: &mut Vec<Finding>) {
    for file in repository.files.iter().filter(|file| file.path.starts_with("docs/diagnostics/") && file.is_markdown())
    {
        let missing: Vec<&str> = ["Bad", "Good"].into_iter().filter(|name| !has_example(&file.text, name)).collect();
        if !missing.is_empty() {
            findings.push(Finding {
                path: file.path.clone(),
                line: 1,
                rule: "page-examples",
                area: file.area().to_owned(),
                text: format!("no example under {}", missing.join(" and ")),
            });
        }
    }
}

/// Whether a page has a heading or a bold word of this name, followed by a block of code.
fn has_example(text: &str, name: &str) -> bool {
    let (mut in_title, mut is_named) = (false, false);
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::Strong) => in_title = true,
            Event::End(TagEnd::Heading(_) | TagEnd::Strong) => in_title = false,
            Event::Text(title) if in_title => is_named = title.trim_end_matches([':', '.']).trim() == name,
            Event::Start(Tag::CodeBlock(_)) if is_named => return true,
            _ => {}
        }
    }
    false
}
