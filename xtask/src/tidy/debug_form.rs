//! The `Debug` form in texts: it shows names of Rust, and a renamed field would change a message, a key or a hash.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Source;
use crate::finding::Finding;

/// Ends of a placeholder with the `Debug` form, before the brace.
const ENDS: [&str; 2] = [":?", ":#?"];

/// Checks a file. Its tokens are read, because arguments of macros have no syntax.
pub(crate) fn check(source: &Source<'_>, findings: &mut Vec<Finding>) {
    let Ok(tokens) = source.file.text.parse::<TokenStream>() else { return };
    let mut found = Vec::new();
    find(tokens, &mut found);
    for line in found {
        if !source.is_test(line) {
            findings.push(source.finding(line, "debug-form", "a text has the `Debug` form of a value".to_owned()));
        }
    }
}

/// Finds the lines of such texts. Attributes, with the documentation, and assertions are passed over.
fn find(tokens: TokenStream, found: &mut Vec<usize>) {
    // The last two signs, for `#[...]` and `#![...]`.
    let (mut signs, mut is_assertion) = ([None; 2], false);
    for token in tokens {
        match &token {
            TokenTree::Group(group) => {
                let is_attribute =
                    group.delimiter() == Delimiter::Bracket && matches!(signs, [_, Some('#')] | [Some('#'), Some('!')]);
                if !is_attribute && !is_assertion {
                    find(group.stream(), found);
                }
                is_assertion = false;
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.split('}').any(|part| ENDS.iter().any(|end| part.ends_with(end))) {
                    found.push(literal.span().start().line);
                }
            }
            TokenTree::Ident(name) => {
                let name = name.to_string();
                is_assertion = name.starts_with("assert") || name.starts_with("debug_assert");
            }
            TokenTree::Punct(_) => {}
        }
        let sign = match &token {
            TokenTree::Punct(punct) => Some(punct.as_char()),
            _ => None,
        };
        signs = [signs[1], sign];
    }
}
