//! Errors that are strings.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::Source;
use crate::finding::Finding;

/// Checks the types of a file.
pub(crate) fn check(source: &Source<'_>, findings: &mut Vec<Finding>) {
    let mut visitor = StringErrors { lines: Vec::new() };
    visitor.visit_file(&source.syntax);
    for line in visitor.lines.into_iter().filter(|line| !source.is_test(*line)) {
        findings.push(source.finding(line, "string-error", "`Result<_, String>`: use an enum of errors".to_owned()));
    }
}

struct StringErrors {
    lines: Vec<usize>,
}

impl<'a> Visit<'a> for StringErrors {
    fn visit_path_segment(&mut self, segment: &'a syn::PathSegment) {
        if segment.ident == "Result"
            && let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments
            && let Some(syn::GenericArgument::Type(syn::Type::Path(error))) = arguments.args.iter().nth(1)
            && error.path.is_ident("String")
        {
            self.lines.push(segment.span().start().line);
        }
        visit::visit_path_segment(self, segment);
    }
}
