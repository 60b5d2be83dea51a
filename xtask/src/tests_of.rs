//! The lines of a Rust file that are tests.

use std::ops::RangeInclusive;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// Returns the ranges of lines of a parsed file that are only compiled for tests.
pub(crate) fn lines(file: &syn::File) -> Vec<RangeInclusive<usize>> {
    let mut finder = Finder { ranges: Vec::new() };
    finder.visit_file(file);
    finder.ranges
}

/// Returns the modules of a parsed file that have files of their own and are only compiled for tests, as paths without an ending:
/// `src/a/tests` for `#[cfg(test)] mod tests;` in `src/a.rs`.
pub(crate) fn modules(path: &str, file: &syn::File) -> Vec<String> {
    let stem = path.trim_end_matches(".rs");
    let folder = match stem.rsplit_once('/') {
        Some((folder, "lib" | "main" | "mod")) => folder,
        _ => stem,
    };
    let modules = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && module.attrs.iter().any(is_test) => Some(&module.ident),
        _ => None,
    });
    modules.map(|name| format!("{folder}/{name}")).collect()
}

struct Finder {
    ranges: Vec<RangeInclusive<usize>>,
}

impl<'a> Visit<'a> for Finder {
    fn visit_item(&mut self, item: &'a syn::Item) {
        let attributes = match item {
            syn::Item::Const(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Macro(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Static(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Enum(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if attributes.iter().any(is_test) {
            self.ranges.push(item.span().start().line..=item.span().end().line);
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if item.attrs.iter().any(is_test) {
            self.ranges.push(item.span().start().line..=item.span().end().line);
        } else {
            visit::visit_impl_item_fn(self, item);
        }
    }
}

/// Whether an attribute is `#[test]` or `#[cfg(test)]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    let path = attribute.path();
    if path.is_ident("test") {
        return true;
    }
    let condition = path.is_ident("cfg").then(|| attribute.parse_args::<syn::Path>().ok()).flatten();
    condition.is_some_and(|condition| condition.is_ident("test"))
}
