//! Defaults for values that are not there: `unwrap_or` and its relatives.

use proc_macro2::{TokenStream, TokenTree};

use super::Source;
use crate::finding::Finding;

const METHODS: [&str; 3] = ["unwrap_or", "unwrap_or_default", "unwrap_or_else"];

/// Checks a file. Its tokens are read, because arguments of macros have no syntax.
pub(crate) fn check(source: &Source<'_>, findings: &mut Vec<Finding>) {
    let Ok(tokens) = source.file.text.parse::<TokenStream>() else { return };
    let mut found = Vec::new();
    find(tokens, &mut found);
    for (line, name) in found {
        if !source.is_test(line) {
            findings.push(source.finding(line, "unwrap-or", format!("`{name}` replaces what is missing")));
        }
    }
}

/// Returns the number of defaults of a file outside of tests.
pub(crate) fn count(source: &Source<'_>) -> usize {
    let mut findings = Vec::new();
    check(source, &mut findings);
    findings.len()
}

fn find(tokens: TokenStream, found: &mut Vec<(usize, String)>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => find(group.stream(), found),
            TokenTree::Ident(name) if METHODS.iter().any(|method| name == method) => {
                found.push((name.span().start().line, name.to_string()));
            }
            _ => {}
        }
    }
}
