//! Public types that share a name.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::Source;
use crate::finding::Finding;

/// The public types of all files by name.
#[derive(Default)]
pub(crate) struct Names {
    types: BTreeMap<String, Vec<Place>>,
}

struct Place {
    path: String,
    line: usize,
    area: String,
}

impl Names {
    /// Adds the public types of a file.
    pub(crate) fn add(&mut self, source: &Source<'_>) {
        let mut visitor = Types { types: Vec::new() };
        visitor.visit_file(&source.syntax);
        for (name, line) in visitor.types.into_iter().filter(|(_, line)| !source.is_test(*line)) {
            let (path, area) = (source.file.path.clone(), source.file.area().to_owned());
            self.types.entry(name).or_default().push(Place { path, line, area });
        }
    }

    /// Reports each type whose name an earlier type has.
    pub(crate) fn check(self, findings: &mut Vec<Finding>) {
        for (name, places) in self.types {
            let Some((first, others)) = places.split_first() else { continue };
            for other in others {
                findings.push(Finding {
                    path: other.path.clone(),
                    line: other.line,
                    rule: "public-name",
                    area: other.area.clone(),
                    text: format!("`{name}` is the name of a type in {}:{}, too", first.path, first.line),
                });
            }
        }
    }
}

struct Types {
    types: Vec<(String, usize)>,
}

impl Types {
    fn add(&mut self, visibility: &syn::Visibility, name: &syn::Ident) {
        if matches!(visibility, syn::Visibility::Public(_)) {
            self.types.push((name.to_string(), name.span().start().line));
        }
    }
}

impl<'a> Visit<'a> for Types {
    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_union(&mut self, item: &'a syn::ItemUnion) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_type(&mut self, item: &'a syn::ItemType) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.add(&item.vis, &item.ident);
        visit::visit_item_trait(self, item);
    }
}
