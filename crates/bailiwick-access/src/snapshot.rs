//! A world as data: a world can be written to a file once and asked later without compiling.
//!
//! A [`Snapshot`] holds the settled world and the texts behind its locations. The caller chooses the file format, and
//! the detection of damaged files.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::aggregate::Doubts;
use super::clouds::Clouds;
use super::possible::PossibleBinding;
use super::rules::{InternedRule, RuleListId, RuleLists};
use super::symbols::{Symbol, Symbols};
use super::workloads::Running;
use super::world::{Binding, ObjectSource, Parts, Role, RoleKind, Subject, World};
use bailiwick_kubernetes::catalogue::Resource;
use bailiwick_kubernetes::selector::LabelSelector;
use bailiwick_yaml::diag::{FileId, Files, Origin, Span};
use bailiwick_yaml::internal;

/// The parts of a world with the texts of its input files, for serde.
#[derive(Serialize, Deserialize)]
pub struct Snapshot {
    minor: u32,
    baseline: Option<u32>,
    texts: Vec<(String, String)>,
    symbols: (String, Vec<u32>),
    lists: Vec<Box<[InternedRule]>>,
    roles: Vec<SnapshotRole>,
    bindings: Vec<SnapshotBinding>,
    subjects: Vec<Subject>,
    namespaces: BTreeMap<String, BTreeMap<String, String>>,
    custom: Vec<Resource>,
    clouds: Clouds,
    running: Vec<SnapshotRunning>,
    doubts: Doubts,
    possible: Vec<PossibleBinding>,
}

/// The source of an object: the number of its text (0: the default policy), whether it is of a dump, and the bytes.
type SnapshotLayer = (u32, bool, u32, u32);

#[derive(Serialize, Deserialize)]
struct SnapshotRole {
    namespace: Option<Symbol>,
    name: Symbol,
    rules: RuleListId,
    doubtful: Option<RuleListId>,
    aggregation: Option<Box<[LabelSelector]>>,
    labels: Box<[(Symbol, Symbol)]>,
    is_kept: bool,
    layer: SnapshotLayer,
}

#[derive(Serialize, Deserialize)]
struct SnapshotBinding {
    namespace: Option<Symbol>,
    name: Symbol,
    role_kind: RoleKind,
    role_name: Symbol,
    subjects: u32,
    is_kept: bool,
    layer: SnapshotLayer,
}

/// A workload, the namespace and name of its service account, and its place.
type SnapshotRunning = (String, (String, String), SnapshotLayer);

impl fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Snapshot").field("minor", &self.minor).finish_non_exhaustive()
    }
}

/// The parts of a snapshot do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InconsistentSnapshot;

impl fmt::Display for InconsistentSnapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("its parts do not fit together")
    }
}

impl std::error::Error for InconsistentSnapshot {}

impl Snapshot {
    /// Whether every number is valid: the bytes may come from a file of any author.
    fn is_consistent(&self) -> bool {
        let (text, ends) = &self.symbols;
        let is_symbol = |symbol: &Symbol| symbol.number() < ends.len();
        let is_place = |symbol: &Option<Symbol>| symbol.as_ref().is_none_or(is_symbol);
        let is_list = |id: &RuleListId| id.number() < self.lists.len();
        Symbols::has_constants(text, ends)
            && ends.is_sorted()
            && ends.last().is_none_or(|end| *end as usize == text.len())
            && ends.iter().all(|end| text.is_char_boundary(*end as usize))
            && self.lists.iter().flat_map(|list| list.iter()).all(|rule| rule.is_consistent(is_symbol))
            && self.subjects.iter().all(|subject| is_symbol(&subject.name) && is_symbol(&subject.namespace))
            && self.subjects.len() == self.bindings.iter().map(|binding| binding.subjects as usize).sum::<usize>()
            && self.roles.iter().all(|role| {
                is_place(&role.namespace)
                    && is_symbol(&role.name)
                    && is_list(&role.rules)
                    && role.doubtful.as_ref().is_none_or(is_list)
                    && role.labels.iter().all(|(key, value)| is_symbol(key) && is_symbol(value))
            })
            && self.possible.iter().all(|possible| is_list(&possible.rules))
            && self.bindings.iter().all(|binding| {
                is_place(&binding.namespace) && is_symbol(&binding.name) && is_symbol(&binding.role_name)
            })
    }
}

impl World {
    /// Returns the world as data. Its locations point into `files`.
    pub fn snapshot(&self, files: &Files) -> Snapshot {
        let world = self;
        let mut texts = Texts { files, numbers: HashMap::new(), list: Vec::new() };
        let roles = world.roles.iter().map(|role| SnapshotRole {
            namespace: role.namespace,
            name: role.name,
            rules: role.rules,
            doubtful: role.doubtful,
            aggregation: role.aggregation.clone(),
            labels: role.labels.clone(),
            is_kept: role.is_kept,
            layer: texts.layer(role.layer),
        });
        let roles = roles.collect();
        let bindings = world.bindings.iter().map(|binding| SnapshotBinding {
            namespace: binding.namespace,
            name: binding.name,
            role_kind: binding.role_kind,
            role_name: binding.role_name,
            subjects: internal::number(world.subjects(binding).len()),
            is_kept: binding.is_kept,
            layer: texts.layer(binding.layer),
        });
        let bindings = bindings.collect();
        let running = world.running.iter();
        let running =
            running.map(|running| (running.workload.clone(), running.account.clone(), texts.layer(running.layer)));
        let running = running.collect();
        Snapshot {
            minor: world.api().requested_minor(),
            baseline: world.baseline(),
            texts: texts.list,
            symbols: world.symbols.parts(),
            lists: world.lists.all().to_vec(),
            roles,
            bindings,
            subjects: world.bindings.iter().flat_map(|binding| world.subjects(binding)).copied().collect(),
            namespaces: world.saved_namespaces(),
            custom: world.custom.clone(),
            clouds: world.clouds.clone(),
            running,
            doubts: world.doubts().clone(),
            possible: world.possible.clone(),
        }
    }

    /// Returns the world of a snapshot. Its texts are registered in `files`.
    ///
    /// # Errors
    /// [`InconsistentSnapshot`] for a snapshot not made by [`World::snapshot`].
    pub fn restore(saved: Snapshot, files: &Files) -> Result<World, InconsistentSnapshot> {
        if !saved.is_consistent() {
            return Err(InconsistentSnapshot);
        }
        let ids: Vec<FileId> = saved.texts.into_iter().map(|(path, text)| files.add(path, text)).collect();
        let layer = |(text, is_dump, start, end): SnapshotLayer| {
            let Some(file) = text.checked_sub(1).and_then(|text| ids.get(text as usize)) else {
                return ObjectSource::Baseline;
            };
            let origin = Origin { file: *file, span: Span { start, end } };
            if is_dump { ObjectSource::Dump(origin) } else { ObjectSource::Input(origin) }
        };
        let (text, ends) = saved.symbols;
        let roles = saved.roles.into_iter().map(|role| Role {
            namespace: role.namespace,
            name: role.name,
            rules: role.rules,
            doubtful: role.doubtful,
            aggregation: role.aggregation,
            labels: role.labels,
            is_kept: role.is_kept,
            layer: layer(role.layer),
        });
        let mut next_subject: u32 = 0;
        let bindings = saved.bindings.into_iter().map(|binding| {
            let first_subject = next_subject;
            next_subject = next_subject.saturating_add(binding.subjects);
            Binding {
                namespace: binding.namespace,
                name: binding.name,
                role_kind: binding.role_kind,
                role_name: binding.role_name,
                role: None,
                first_subject,
                subjects: binding.subjects,
                is_kept: binding.is_kept,
                layer: layer(binding.layer),
            }
        });
        let running = saved.running.into_iter();
        let running = running.map(|(workload, account, place)| Running { workload, account, layer: layer(place) });
        Ok(World::from_parts(Parts {
            minor: saved.minor,
            baseline: saved.baseline,
            symbols: Symbols::from_parts(text, ends),
            lists: RuleLists::from_all(saved.lists),
            roles: roles.collect(),
            bindings: bindings.collect(),
            subjects: saved.subjects,
            namespaces: saved.namespaces.into(),
            custom: saved.custom,
            clouds: saved.clouds,
            running: running.collect(),
            doubts: saved.doubts,
            possible: saved.possible,
        }))
    }
}

/// The texts of places, each once.
struct Texts<'f> {
    files: &'f Files,
    numbers: HashMap<FileId, u32>,
    list: Vec<(String, String)>,
}

impl Texts<'_> {
    fn layer(&mut self, layer: ObjectSource) -> SnapshotLayer {
        let (is_dump, origin) = match layer {
            ObjectSource::Baseline => return (0, false, 0, 0),
            ObjectSource::Dump(origin) => (true, origin),
            ObjectSource::Input(origin) => (false, origin),
        };
        let (files, list) = (self.files, &mut self.list);
        let number = *self.numbers.entry(origin.file).or_insert_with(|| {
            let file = files.get(origin.file);
            list.push((file.path().to_owned(), file.text().to_owned()));
            internal::number(list.len())
        });
        (number, is_dump, origin.span.start, origin.span.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Builder;
    use bailiwick_yaml::internal;

    #[test]
    fn a_snapshot_without_the_constant_symbols_is_inconsistent() {
        let files = Files::new();
        let snapshot = || Builder::new(36).build().snapshot(&files);
        assert!(World::restore(snapshot(), &files).is_ok());
        for (text, ends) in [("", vec![]), ("*", vec![1]), ("a", vec![1, 1]), ("*a", vec![1, 2])] {
            let changed = Snapshot { symbols: (text.to_owned(), ends.clone()), ..snapshot() };
            assert_eq!(World::restore(changed, &files).err(), Some(InconsistentSnapshot), "{text} {ends:?}");
        }
        assert_eq!(internal::first(), None);
    }
}
