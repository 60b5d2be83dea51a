//! The length and the parameters of functions.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::Source;
use crate::finding::Finding;

/// The most lines of a function, from its signature to its closing brace.
const FUNCTION_LENGTH: usize = 60;

/// The most parameters of a function, without `self`.
const PARAMETERS: usize = 5;

/// A function with a body.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) lines: usize,
}

/// Checks the functions of a file.
pub(crate) fn check(source: &Source<'_>, findings: &mut Vec<Finding>) {
    let mut visitor = Functions::default();
    visitor.visit_file(&source.syntax);
    for function in visitor.functions.iter().filter(|function| function.lines > FUNCTION_LENGTH) {
        let text = format!("`{}` has {} lines, more than {FUNCTION_LENGTH}", function.name, function.lines);
        findings.push(source.finding(function.line, "function-length", text));
    }
    for (line, rule, text) in visitor.parameters {
        if !source.is_test(line) {
            findings.push(source.finding(line, rule, text));
        }
    }
}

/// Returns the functions of a file that have a body.
pub(crate) fn functions(source: &Source<'_>) -> Vec<Function> {
    let mut visitor = Functions::default();
    visitor.visit_file(&source.syntax);
    visitor.functions
}

#[derive(Default)]
struct Functions {
    functions: Vec<Function>,
    /// Lines, rules and texts about parameters.
    parameters: Vec<(usize, &'static str, String)>,
    /// Whether the visited functions implement a trait, which decides on their parameters.
    is_of_trait: bool,
}

impl Functions {
    fn add(&mut self, signature: &syn::Signature, body: Option<&syn::Block>) {
        let (name, line) = (signature.ident.to_string(), signature.span().start().line);
        if let Some(body) = body {
            let lines = body.span().end().line + 1 - line;
            self.functions.push(Function { name: name.clone(), line, lines });
        }
        if self.is_of_trait {
            return;
        }
        let typed = signature.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(typed) => Some(&*typed.ty),
            syn::FnArg::Receiver(_) => None,
        });
        let count = typed.clone().count();
        if count > PARAMETERS {
            let text = format!("`{name}` has {count} parameters, more than {PARAMETERS}");
            self.parameters.push((line, "parameters", text));
        }
        for kind in typed.filter(|kind| is_tuple(kind)) {
            let line = kind.span().start().line;
            self.parameters.push((line, "tuple-parameter", format!("`{name}` has a tuple as a parameter")));
        }
    }
}

/// Whether a type is a tuple or a reference to one.
fn is_tuple(kind: &syn::Type) -> bool {
    match kind {
        syn::Type::Tuple(tuple) => !tuple.elems.is_empty(),
        syn::Type::Reference(reference) => is_tuple(&reference.elem),
        syn::Type::Paren(inner) => is_tuple(&inner.elem),
        _ => false,
    }
}

impl<'a> Visit<'a> for Functions {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        let outer = std::mem::take(&mut self.is_of_trait);
        self.add(&item.sig, Some(&item.block));
        visit::visit_item_fn(self, item);
        self.is_of_trait = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.add(&item.sig, Some(&item.block));
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        self.add(&item.sig, item.default.as_ref());
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let outer = std::mem::replace(&mut self.is_of_trait, item.trait_.is_some());
        visit::visit_item_impl(self, item);
        self.is_of_trait = outer;
    }
}
