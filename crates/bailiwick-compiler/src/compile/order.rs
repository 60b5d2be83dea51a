//! The order in which policies are linked: what a policy includes comes before it.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_codes as codes;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};

use super::link::Document;

/// Puts each document behind the documents that it includes. Documents that include each other are reported and left out.
pub(super) fn by_inclusion(documents: Vec<Document>, sink: &mut Sink) -> Vec<Document> {
    let mut places: BTreeMap<(&'static str, &str), Vec<usize>> = BTreeMap::new();
    for (index, document) in documents.iter().enumerate() {
        if let (Some(_), Some((name, _))) = (document.kind.includes, document.name()) {
            places.entry((document.kind.name, name)).or_default().push(index);
        }
    }
    let mut walk = Walk {
        documents: &documents,
        places: &places,
        order: Vec::new(),
        seen: BTreeSet::new(),
        ring: BTreeSet::new(),
    };
    for index in 0..documents.len() {
        walk.visit(index, &mut Vec::new(), sink);
    }
    let Walk { order, ring, .. } = walk;
    let mut waiting: Vec<Option<Document>> = documents.into_iter().map(Some).collect();
    let wanted = order.into_iter().filter(|index| !ring.contains(index));
    wanted.filter_map(|index| waiting.get_mut(index).and_then(Option::take)).collect()
}

/// How many policies may stand between one that includes and one that is included.
const MAXIMUM_DEPTH: usize = 100;

/// A walk along the inclusions, from each document to those it needs first.
struct Walk<'d> {
    documents: &'d [Document],
    places: &'d BTreeMap<(&'static str, &'d str), Vec<usize>>,
    order: Vec<usize>,
    seen: BTreeSet<usize>,
    /// Documents that include each other.
    ring: BTreeSet<usize>,
}

impl<'d> Walk<'d> {
    /// Visits a document. `way` has the documents that lead here, each with the place that names the next document.
    fn visit(&mut self, index: usize, way: &mut Vec<(usize, Origin)>, sink: &mut Sink) {
        if let Some(start) = way.iter().position(|(known, _)| *known == index) {
            let ring = way.get(start..).unwrap_or_default();
            self.ring.extend(ring.iter().map(|(member, _)| *member));
            return sink.push(self.cycle(ring));
        }
        if self.seen.contains(&index) {
            return;
        }
        if way.len() >= MAXIMUM_DEPTH {
            let message = format!("policies include each other over more than {MAXIMUM_DEPTH} steps");
            let place = way.last().map(|(_, origin)| *origin);
            let help = "include the sets directly";
            return sink.push(Diagnostic::error(codes::TOO_DEEP, message).at_maybe(place).help(help));
        }
        for (name, origin) in self.inclusions(index) {
            for next in self.included(index, &name) {
                way.push((index, origin));
                self.visit(next, way, sink);
                way.pop();
            }
        }
        if self.seen.insert(index) {
            self.order.push(index);
        }
    }

    /// Returns the documents of a name that a document includes: of several, those with a common target.
    fn included(&self, index: usize, name: &str) -> Vec<usize> {
        let Some(own) = self.documents.get(index) else { return Vec::new() };
        let named = self.places.get(&(own.kind.name, name)).map_or(&[][..], Vec::as_slice);
        let is_included = |next: &usize| {
            let next = self.documents.get(*next);
            named.len() == 1 || next.is_some_and(|next| !next.targets.is_disjoint(&own.targets))
        };
        named.iter().copied().filter(is_included).collect()
    }

    fn inclusions(&self, index: usize) -> Vec<(String, Origin)> {
        let Some(document) = self.documents.get(index) else { return Vec::new() };
        let root = document.tree.document(document.index);
        let list = document.kind.includes.and_then(|field| root?.path(&["spec", field]));
        let items = list.into_iter().flat_map(NodeRef::items);
        items.filter_map(|item| Some((item.as_str()?.to_owned(), item.origin()))).collect()
    }

    fn cycle(&self, ring: &[(usize, Origin)]) -> Diagnostic {
        let names: Vec<String> = ring
            .iter()
            .filter_map(|(index, _)| self.documents.get(*index).and_then(Document::name))
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let message = match names.as_slice() {
            [only] => format!("{only} includes itself"),
            all => format!("{} include each other", all.join(", ")),
        };
        let mut places = ring.iter().map(|(_, origin)| *origin).rev();
        let diagnostic = Diagnostic::error(codes::INCLUDE_CYCLE, message).help("remove one of them from `include`");
        let diagnostic = diagnostic.at_maybe(places.next());
        places.fold(diagnostic, |diagnostic, place| diagnostic.and(place, "part of the cycle"))
    }
}
