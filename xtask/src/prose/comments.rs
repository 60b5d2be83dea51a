//! The rules for doc comments and the items that they describe.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use crate::finding::Finding;
use crate::repository::File;
use crate::tests_of;

/// Words that do not count as more than the name.
const EMPTY: [&str; 22] = [
    "a", "an", "the", "of", "this", "that", "its", "it", "for", "to", "in", "and", "or", "is", "are", "one", "each",
    "which", "what", "with", "by", "at",
];

/// Words with an `s` at the end that are no verbs.
const NO_VERBS: [&str; 14] =
    ["this", "its", "as", "is", "has", "was", "does", "always", "perhaps", "less", "plus", "unless", "us", "various"];

/// Checks the doc comments of a Rust file.
pub(crate) fn check(file: &File, syntax: &syn::File, findings: &mut Vec<Finding>) {
    let tests = tests_of::lines(syntax);
    let mut visitor = Comments { file, parents: Vec::new(), findings: Vec::new() };
    visitor.visit_file(syntax);
    findings
        .extend(visitor.findings.into_iter().filter(|found| !tests.iter().any(|range| range.contains(&found.line))));
}

struct Comments<'f> {
    file: &'f File,
    parents: Vec<String>,
    findings: Vec<Finding>,
}

impl Comments<'_> {
    fn add(&mut self, line: usize, rule: &'static str, text: String) {
        let (path, area) = (self.file.path.clone(), self.file.area().to_owned());
        self.findings.push(Finding { path, line, rule, area, text });
    }

    /// Reports a comment whose words are all in the name of the item or of what contains it.
    fn repeats(&mut self, attributes: &[syn::Attribute], name: &syn::Ident) {
        let Some((line, text)) = doc(attributes) else { return };
        let mut names = split(&name.to_string());
        if let Some(parent) = self.parents.last() {
            names.extend(split(parent));
        }
        let paragraph = text.split("\n\n").next().unwrap_or_default();
        let is_more = text.contains("\n\n");
        let mut words = split(paragraph);
        words.retain(|word| !EMPTY.contains(&word.as_str()));
        if !is_more && !words.is_empty() && words.iter().all(|word| names.contains(word)) {
            self.add(line, "repeats", format!("the comment repeats the name `{name}`: {}", paragraph.trim()));
        }
    }

    /// Reports a comment of a function that does not begin with a verb in the third person, or with "Whether", or whose verb
    /// does not fit the type of the result.
    fn opening(&mut self, attributes: &[syn::Attribute], signature: &syn::Signature) {
        let Some((line, text)) = doc(attributes) else { return };
        let text = text.trim();
        let first = text.split_whitespace().next().unwrap_or_default();
        let word = first.trim_end_matches([',', '.', ':', ';']);
        let lower = word.to_lowercase();
        let is_verb = word.len() > 2
            && word.ends_with('s')
            && word.starts_with(char::is_uppercase)
            && word.chars().all(char::is_alphabetic)
            && !NO_VERBS.contains(&lower.as_str());
        let is_right = if returns_bool(signature) { word == "Whether" || is_verb } else { is_verb };
        if !is_right {
            let wanted = if returns_bool(signature) { "`Whether`" } else { "a verb such as `Returns`" };
            self.add(line, "opening", format!("`{}` begins with `{first}`, not with {wanted}", signature.ident));
        } else if word == "Returns" && !returns_value(signature) {
            self.add(line, "opening", format!("`{}` begins with `Returns` and returns no value", signature.ident));
        } else if returns_bool(signature)
            && ["Returns the ", "Returns a ", "Returns an "].iter().any(|it| text.starts_with(it))
        {
            self.add(line, "opening", format!("`{}` returns a boolean: write `Returns whether`", signature.ident));
        }
    }
}

/// Whether a function returns a value other than `()` and the `()` of a `Result`.
fn returns_value(signature: &syn::Signature) -> bool {
    let syn::ReturnType::Type(_, kind) = &signature.output else { return false };
    let is_unit = |kind: &syn::Type| matches!(kind, syn::Type::Tuple(tuple) if tuple.elems.is_empty());
    let syn::Type::Path(path) = &**kind else { return !is_unit(kind) };
    let Some(last) = path.path.segments.last().filter(|last| last.ident == "Result") else { return true };
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return true };
    !matches!(arguments.args.first(), Some(syn::GenericArgument::Type(kind)) if is_unit(kind))
}

fn returns_bool(signature: &syn::Signature) -> bool {
    match &signature.output {
        syn::ReturnType::Type(_, kind) => matches!(&**kind, syn::Type::Path(path) if path.path.is_ident("bool")),
        syn::ReturnType::Default => false,
    }
}

/// Returns the line and the text of the doc comment among some attributes.
fn doc(attributes: &[syn::Attribute]) -> Option<(usize, String)> {
    let (mut first, mut text) = (None, String::new());
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let syn::Meta::NameValue(pair) = &attribute.meta else { continue };
        let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(value), .. }) = &pair.value else { continue };
        first.get_or_insert(attribute.span().start().line);
        text.push_str(value.value().trim_start_matches(' '));
        text.push('\n');
    }
    first.map(|line| (line, text))
}

/// Splits a name or a sentence into words in lower case, each without the `s` of a plural.
fn split(text: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for letter in text.chars() {
        let begins = letter.is_uppercase() && was_lower;
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase() || letter.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    for word in &mut words {
        if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
            word.pop();
        }
    }
    words
}

impl<'a> Visit<'a> for Comments<'_> {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.repeats(&item.attrs, &item.sig.ident);
        self.opening(&item.attrs, &item.sig);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.repeats(&item.attrs, &item.sig.ident);
        self.opening(&item.attrs, &item.sig);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        self.repeats(&item.attrs, &item.sig.ident);
        self.opening(&item.attrs, &item.sig);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        self.parents.push(name.unwrap_or_default());
        visit::visit_item_impl(self, item);
        self.parents.pop();
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.repeats(&item.attrs, &item.ident);
        self.parents.push(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.parents.pop();
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.repeats(&item.attrs, &item.ident);
        self.parents.push(item.ident.to_string());
        visit::visit_item_struct(self, item);
        self.parents.pop();
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.repeats(&item.attrs, &item.ident);
        self.parents.push(item.ident.to_string());
        visit::visit_item_enum(self, item);
        self.parents.pop();
    }

    fn visit_variant(&mut self, variant: &'a syn::Variant) {
        self.repeats(&variant.attrs, &variant.ident);
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        if let Some(name) = &field.ident {
            self.repeats(&field.attrs, name);
        }
        visit::visit_field(self, field);
    }

    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        self.repeats(&item.attrs, &item.ident);
        visit::visit_item_const(self, item);
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        self.repeats(&item.attrs, &item.ident);
        visit::visit_item_mod(self, item);
    }
}
