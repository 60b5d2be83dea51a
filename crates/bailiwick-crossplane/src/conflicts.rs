//! Conflicts of several stacks in one cluster: definitions in more than one stack, clashing names, and dependencies
//! without a provider.

use crate::codes;
use bailiwick_kubernetes::absent;
use std::collections::BTreeMap;

use super::definition::Definition;
use super::dependency::Dependency;
use super::revision::ManagerRevision;
use super::stack::Stack;
use bailiwick_yaml::diag::{Diagnostic, Sink};

/// The definitions known beside the stacks.
pub trait KnownDefinitions {
    /// Returns whether a resource exists by other means, and if so whether it is namespaced. `*` asks for the whole
    /// group, and needs all of it.
    fn serves(&self, group: &str, plural: &str) -> Option<bool>;

    /// Returns the fields of a version of a definition; none for an unknown definition.
    fn shape(&self, definition: &Definition, version: &str) -> BTreeMap<String, String>;
}

/// The definitions of all stacks, with their owners.
#[derive(Debug, Default)]
pub struct Owners<'s> {
    by_group: BTreeMap<&'s str, BTreeMap<&'s str, Vec<Owner<'s>>>>,
}

/// A stack with a definition.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'s> {
    /// Index of the stack.
    pub stack: usize,
    /// Its own copy of the definition.
    pub definition: &'s Definition,
}

impl<'s> Owners<'s> {
    /// Returns the owners among stacks, in the order of the stacks.
    pub fn from_stacks(stacks: &[&'s Stack]) -> Self {
        let mut owners = Self::default();
        for (index, stack) in stacks.iter().enumerate() {
            for definition in &stack.package.definitions {
                let group = owners.by_group.entry(&definition.group).or_default();
                group.entry(&definition.plural).or_default().push(Owner { stack: index, definition });
            }
        }
        owners
    }

    /// Returns each definition with its owners, by group and plural.
    pub fn iter(&self) -> impl Iterator<Item = &[Owner<'s>]> {
        self.by_group.values().flat_map(BTreeMap::values).map(Vec::as_slice)
    }

    /// Returns the definitions matched by a dependency.
    pub fn matching(&self, dependency: &Dependency) -> impl Iterator<Item = &[Owner<'s>]> {
        let group = self.by_group.get(dependency.group.as_str());
        let wanted = dependency.resource.as_str();
        let one = group.and_then(|group| group.get(wanted));
        let all = group.filter(|_| dependency.is_wildcard()).into_iter().flat_map(BTreeMap::values);
        one.into_iter().chain(all).map(Vec::as_slice)
    }

    /// Returns a definition of the group with the dependency as another of its names.
    fn misnamed(&self, dependency: &Dependency) -> Option<&'s Definition> {
        let group = self.by_group.get(dependency.group.as_str())?;
        let owners = group.values().filter_map(|owners| owners.first());
        owners.map(|owner| owner.definition).find(|known| known.kind.eq_ignore_ascii_case(&dependency.resource))
    }
}

/// Reports the conflicts of the stacks of one cluster.
pub fn check(stacks: &[&Stack], around: &dyn KnownDefinitions, sink: &mut Sink) {
    let owners = Owners::from_stacks(stacks);
    for owners in owners.iter().filter(|owners| owners.len() > 1) {
        check_definition(stacks, owners, around, sink);
    }
    check_cluster_stacks(stacks, sink);
    for stack in stacks {
        check_dependencies(stack, &owners, around, sink);
        if stack.is_cluster() {
            sink.push(
                Diagnostic::warning(
                    codes::STACK_READS_EVERY_SECRET,
                    format!("{} reads every Secret of the cluster", stack.install),
                )
                .at(stack.install.origin)
                .help("accept it with `metadata.allow`: by design, every cluster stack reads all Secrets"),
            );
        }
    }
}

/// Prints the stack of a definition with its version.
fn shown(stacks: &[&Stack], owner: &Owner<'_>) -> String {
    let stack = stacks.get(owner.stack);
    stack.map_or_else(String::new, |stack| format!("{} ({})", stack.install, stack.package.shown_version()))
}

/// Reports a definition with several owners: only one schema is effective.
fn check_definition(stacks: &[&Stack], owners: &[Owner<'_>], around: &dyn KnownDefinitions, sink: &mut Sink) {
    let Some((first, others)) = owners.split_first() else { return };
    let shown = |owner: &Owner<'_>| shown(stacks, owner);
    let mut by_version: BTreeMap<&str, Owner<'_>> = BTreeMap::new();
    by_version.extend(first.definition.versions.keys().map(|version| (version.as_str(), *first)));
    let mut warned = false;
    for other in others {
        let name = &other.definition.name;
        if other.definition.is_namespaced != first.definition.is_namespaced {
            let scope = |owner: &Owner<'_>| if owner.definition.is_namespaced { "namespaces" } else { "the cluster" };
            sink.push(
                Diagnostic::error(codes::CRD_SCOPE_CONFLICT, format!("`{name}` has two scopes"))
                    .at(other.definition.scope_origin)
                    .labelled(format!("to {}, for {}", scope(other), shown(other)))
                    .and(first.definition.scope_origin, format!("to {}, for {}", scope(first), shown(first)))
                    .help("rename one of the two, or use another group: the scope of a definition cannot change"),
            );
            continue;
        }
        for (version, hash) in &other.definition.versions {
            let Some(known) = by_version.get(version.as_str()).copied() else {
                by_version.insert(version, *other);
                continue;
            };
            if known.definition.versions.get(version) != Some(hash) {
                let (before, after) =
                    (around.shape(known.definition, version), around.shape(other.definition, version));
                let mut problem = Diagnostic::error(
                    codes::CRD_SCHEMA_CONFLICT,
                    format!("`{name}` has two schemas for one version, `{version}`"),
                )
                .at(other.definition.origin)
                .labelled(format!("from {}", shown(other)))
                .and(known.definition.origin, format!("from {}", shown(&known)));
                let (owner, other) = (shown(&known), shown(other));
                let (one, other) = (Schema { fields: &before, owner }, Schema { fields: &after, owner: other });
                problem = differences(&one, &other).into_iter().fold(problem, Diagnostic::note);
                sink.push(problem.help(
                    "use another version for the changed schema: the cluster keeps the schema that is installed last, and the other controller loses fields",
                ));
            }
        }
        let differ = first.definition.versions.keys().ne(other.definition.versions.keys());
        if differ && !warned {
            warned = true;
            let list = |owner: &Owner<'_>| owner.definition.versions.keys().cloned().collect::<Vec<_>>().join(", ");
            sink.push(
                Diagnostic::warning(
                    codes::CRD_MULTIPLE_VERSIONS,
                    format!("`{name}` has different versions in different packages"),
                )
                .at(other.definition.origin)
                .labelled(format!("{}, for {}", list(other), shown(other)))
                .and(first.definition.origin, format!("{}, for {}", list(first), shown(first)))
                .help("write one definition that serves all of them; rules apply to every version"),
            );
        }
    }
}

/// The limit of reported differing fields.
const MAXIMUM_FIELDS: usize = 8;

/// The fields of a definition in one stack.
struct Schema<'s> {
    fields: &'s BTreeMap<String, String>,
    owner: String,
}

/// Returns the differences of two schemas, each with the owner of the schema.
fn differences(one: &Schema<'_>, other: &Schema<'_>) -> Vec<String> {
    let only_in = |has: &Schema<'_>, lacks: &Schema<'_>| -> Vec<String> {
        let fields = has.fields.keys().filter(|path| !lacks.fields.contains_key(*path));
        fields.map(|path| format!("only {} has {}", has.owner, field(path))).collect()
    };
    let mut lines = only_in(one, other);
    lines.extend(only_in(other, one));
    lines.extend(one.fields.iter().filter_map(|(path, own)| {
        let differing = other.fields.get(path).filter(|differing| *differing != own)?;
        Some(format!("{} is `{own}` for {}, and `{differing}` for {}", field(path), one.owner, other.owner))
    }));
    let more = lines.len().saturating_sub(MAXIMUM_FIELDS);
    lines.truncate(MAXIMUM_FIELDS);
    lines.extend((more > 0).then(|| format!("and {more} more fields")));
    lines
}

fn field(path: &str) -> String {
    if path.is_empty() { "the whole".to_owned() } else { format!("`{path}`") }
}

/// Checks cluster stacks: each has one instance, and its roles have a cluster-wide name.
fn check_cluster_stacks(stacks: &[&Stack], sink: &mut Sink) {
    let mut names: BTreeMap<&str, &Stack> = BTreeMap::new();
    let mut kin: BTreeMap<String, Vec<&Stack>> = BTreeMap::new();
    for stack in stacks.iter().filter(|stack| stack.is_cluster()) {
        if let Some(other) = names.insert(&stack.install.name, stack) {
            let objects = if stack.revision.has_personas() { "ClusterRoleBinding" } else { "ClusterRole" };
            sink.push(
                Diagnostic::error(
                    codes::CLUSTER_ROLE_NAME_CLASH,
                    format!("{} and {} both have the {objects} `{}`", other.install, stack.install, stack.install.name),
                )
                .at(stack.install.origin)
                .and(other.install.origin, "the other one")
                .help("use a unique name: the names of cluster stacks have no namespace"),
            );
            continue;
        }
        let keys = kin_keys(stack);
        let known =
            keys.iter().filter_map(|key| kin.get(key)).flatten().find(|other| other.package.is_kin(&stack.package));
        if let Some(other) = known {
            let message = if other.package.version == stack.package.version {
                format!("{} is a second instance of {}", stack.install, other.install)
            } else {
                format!(
                    "{} has the version {}, and {} has {}",
                    stack.install,
                    stack.package.shown_version(),
                    other.install,
                    other.package.shown_version()
                )
            };
            sink.push(
                Diagnostic::error(codes::CLUSTER_STACK_SINGLE_VERSION, message)
                    .at(stack.install.origin)
                    .and(other.install.origin, "the other one")
                    .help("install a cluster stack once: all environments share one version"),
            );
        }
        keys.into_iter().for_each(|key| kin.entry(key).or_default().push(stack));
    }
}

/// Returns the keys of a stack for its relatives; one common key is enough.
fn kin_keys(stack: &Stack) -> Vec<String> {
    let package = &stack.package;
    let image = package.repository().into_iter().map(|(registry, repository)| format!("image {registry}/{repository}"));
    let title = Some(&package.title).filter(|title| !title.is_empty()).map(|title| format!("title {title}"));
    let owned = package.definitions.iter().map(|definition| format!("definition {}", definition.name));
    image.chain(title).chain(owned).collect()
}

fn check_dependencies(stack: &Stack, owners: &Owners<'_>, around: &dyn KnownDefinitions, sink: &mut Sink) {
    for dependency in &stack.package.dependencies {
        let meant: Vec<&Definition> = owners.matching(dependency).flatten().map(|owner| owner.definition).collect();
        let is_cluster_stack = stack.is_cluster();
        let elsewhere = around.serves(&dependency.group, &dependency.resource);
        if stack.revision == ManagerRevision::Seed && (!dependency.is_wildcard() || is_cluster_stack) {
            let cluster_scoped = meant.iter().find(|definition| !definition.is_namespaced);
            let refusal = Diagnostic::error(
                codes::CLUSTER_SCOPED_CRD,
                format!("{} would be granted a cluster-scoped definition", stack.install),
            )
            .at(dependency.origin)
            .help("use revision 1.1: revision 1.0 of the design grants no cluster-scoped definition");
            match cluster_scoped {
                Some(definition) => {
                    sink.push(refusal.and(definition.scope_origin, format!("`{}` is", definition.name)));
                    continue;
                }
                // A copy of a stack's own was looked at already.
                None if elsewhere == Some(false) && (meant.is_empty() || dependency.is_wildcard()) => {
                    sink.push(refusal);
                    continue;
                }
                None => {}
            }
        }
        if meant.is_empty() && elsewhere.is_none() {
            check_name(stack, dependency, owners, sink);
        }
        let lacks = |definition: &&Definition| {
            dependency.version.as_ref().is_some_and(|version| !definition.versions.contains_key(version))
        };
        if !meant.is_empty() && meant.iter().all(lacks) {
            let version = absent::text(dependency.version.as_deref());
            sink.push(
                not_provided(stack, dependency, format!("no stack provides its version `{version}`"))
                    .help("install a version that serves it, or use a served version; rules have no versions"),
            );
        }
    }
}

fn check_name(stack: &Stack, dependency: &Dependency, owners: &Owners<'_>, sink: &mut Sink) {
    match owners.misnamed(dependency) {
        // Both were reported at the reading of the package; and no stack has the definitions of Crossplane or the
        // platform.
        _ if dependency.is_kind() || dependency.is_privileged() => {}
        Some(definition) => sink.push(
            Diagnostic::warning(
                codes::DEPENDS_ON_NOT_A_PLURAL_RESOURCE,
                format!(
                    "`{}` is not a resource: rules contain the plural, and this dependency grants nothing",
                    dependency.resource
                ),
            )
            .at(dependency.origin)
            .and(definition.origin, "the definition")
            .help(format!("did you mean `{}`?", definition.name)),
        ),
        None => sink.push(
            not_provided(stack, dependency, "no stack provides it".to_owned())
                .help("install the stack with the definition, or bring the definition in with a Manifests policy"),
        ),
    }
}

fn not_provided(stack: &Stack, dependency: &Dependency, why: String) -> Diagnostic {
    let wanted = format!("{}.{}", dependency.resource, dependency.group);
    Diagnostic::warning(codes::DEPENDENCY_NOT_PROVIDED, format!("{} depends on `{wanted}`, and {why}", stack.install))
        .at(dependency.origin)
        .and(stack.install.origin, "installed here")
}
