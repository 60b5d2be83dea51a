//! The traits of policy kinds and of linked policies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink, Span, nearest};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{Account, CommonMetadata, Data, Linker, MadeFor, OutputFileKey, Pattern, Target, Unit, VariableScope};

/// A policy kind: how its `spec` is written, and how it is linked.
pub trait Kind {
    /// The `spec` as written. Its doc comment is the kind's manual page.
    type Spec: DeserializeOwned + JsonSchema;

    /// The kind's name, such as `Tenancy`.
    const NAME: &'static str;

    /// The templates its objects are rendered with.
    const TEMPLATES: &'static [&'static str];

    /// The variables allowed in the texts of `spec`.
    const PATTERNS: Patterns;

    /// The field of `spec` with the names of policies of the same kind, linked before this one.
    const INCLUDES: Option<&'static str> = None;

    /// Resolves every name in a policy. None when it cannot be used; why is then in the sink.
    fn link(
        document: &RawDocument<'_>,
        spec: Self::Spec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>>;

    /// Checks the policies of the kind together, after the policies of all kinds are linked. `is_whole` is false after
    /// an error, since a rejected policy is missing.
    fn check_together(_linker: &Linker<'_>, _is_whole: bool, _sink: &mut Sink) {}
}

/// The variables allowed in the texts of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patterns {
    /// Target variables.
    Targets,
    /// Target variables, and the name of the namespace of the object.
    Namespaces,
    /// Target variables, and account variables declared by the users of the policy.
    Open,
    /// Variables that depend on the field. The kind checks its texts itself.
    Scoped,
    /// Most texts have no variables. The kind checks the others itself.
    Own,
}

/// A policy document with a parsed head and an unparsed `spec`.
#[derive(Debug, Clone)]
pub struct RawDocument<'t> {
    /// Name, place and targets.
    pub meta: PolicyMeta,
    /// The whole document.
    pub root: NodeRef<'t>,
    /// The unparsed `spec`.
    pub spec: NodeRef<'t>,
    /// The file's path in the workspace.
    pub path: &'t str,
}

/// The data common to all policies.
#[derive(Debug, Clone)]
pub struct PolicyMeta {
    /// The name of the policy kind, such as `Grant`.
    pub kind: &'static str,
    /// `metadata.name`.
    pub name: Arc<str>,
    /// The location of the name.
    pub origin: Origin,
    /// The names of the targets it applies to.
    pub targets: Arc<BTreeSet<String>>,
    /// The labels and annotations of all its objects.
    pub common_metadata: Arc<CommonMetadata>,
}

/// A linked policy.
pub trait Policy: Send + Sync {
    /// Returns name, location and targets.
    fn meta(&self) -> &PolicyMeta;

    /// Visits each output file with objects of the policy, and the number by which `expand` identifies the
    /// contribution.
    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution));

    /// Adds the units of one contribution to one output file.
    fn expand(&self, target: &Target, output_file: &OutputFileKey, part: Contribution, units: &mut Vec<Unit>);

    /// Visits each namespace of a target that the policy makes or declares.
    fn namespaces(&self, _target: &Target, _visit: &mut dyn FnMut(&Arc<str>, PolicyNamespace<'_>)) {}

    /// Returns the policy as one that depends on other policies, if it does.
    fn as_dependent(&mut self) -> Option<&mut dyn DependentPolicy> {
        None
    }

    /// Returns the policy as one with a tenant for each account, if it is one.
    fn as_tenancy(&self) -> Option<&dyn TenancyPolicy> {
        None
    }
}

/// A namespace that a policy makes or declares.
#[derive(Clone, Copy)]
pub struct PolicyNamespace<'n> {
    /// The labels in the policy, without common labels.
    pub labels: &'n Data,
    /// Returns the annotations in the policy, without common annotations.
    pub annotations: &'n dyn Fn() -> Data,
    /// The account of the namespace in a Tenancy.
    pub account: Option<Account<'n>>,
}

/// A linked policy that depends on the policies linked after it.
pub trait DependentPolicy {
    /// Whether the policy needs the namespaces of all policies.
    fn needs_namespaces(&self) -> bool;

    /// Whether the policy needs the annotations of the namespaces.
    fn needs_annotations(&self) -> bool {
        false
    }

    /// Resolves everything that depends on all policies.
    fn settle(&mut self, surroundings: &mut Surroundings<'_, '_>, sink: &mut Sink);
}

/// A linked policy with a tenant for each account of a list.
pub trait TenancyPolicy {
    /// Visits the tenants of the policy on a target.
    fn tenants(&self, target: &Target, visit: &mut dyn FnMut(TenantPart<'_>));

    /// Returns the account of a contribution, if the contribution is for one.
    fn account(&self, part: Contribution) -> Option<Account<'_>>;

    /// Copies the policy without shared reference counts, for use by one thread: two threads that count references to
    /// the same texts spend a fifth of their time on them.
    fn detached(&self) -> Box<dyn Policy>;
}

/// A fact about the tenants of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TenantPart<'t> {
    /// A namespace of the tenant of this name.
    Namespace {
        /// The name of the tenant.
        tenant: &'t str,
        /// The name of the namespace.
        namespace: &'t str,
    },
    /// A subject with an equal binding for every tenant.
    Alike {
        /// Whether it is a group, and no user.
        is_group: bool,
        /// The name of the subject.
        name: &'t str,
    },
}

/// Data about all policies of a workspace.
pub struct Surroundings<'l, 'w> {
    /// The namespaces of all policies; none if no policy needs them.
    pub namespaces: Namespaces,
    /// The data of the workspace, with the facts registered by all policies.
    pub linker: &'l mut Linker<'w>,
}

/// The labels of an object.
pub type LabelMap = BTreeMap<Arc<str>, Arc<str>>;

/// The namespaces of each target by the target's name.
#[derive(Debug, Default)]
pub struct Namespaces {
    by_target: BTreeMap<String, Vec<KnownNamespace>>,
}

/// A namespace that a policy makes or declares, with its values.
#[derive(Debug)]
pub struct KnownNamespace {
    /// `metadata.name`.
    pub name: Arc<str>,
    /// The labels as the server will have them.
    pub labels: LabelMap,
    /// The annotations in the policies; none if no policy needs them.
    pub annotations: LabelMap,
    /// The kind of the policy.
    pub kind: &'static str,
    /// The name of the policy.
    pub policy: Arc<str>,
    /// The location of the account of the namespace, or of the policy.
    pub origin: Origin,
}

impl Namespaces {
    /// Collects the namespaces that some policies make or declare.
    pub fn collect(policies: &[Box<dyn Policy>], targets: &[Target], with_annotations: bool) -> Self {
        let mut by_target: BTreeMap<String, Vec<KnownNamespace>> = BTreeMap::new();
        for target in targets {
            let found = by_target.entry(target.name.clone()).or_default();
            for policy in policies.iter().filter(|policy| policy.meta().targets.contains(&target.name)) {
                let meta = policy.meta();
                let has_common = !(target.common_metadata.is_empty() && meta.common_metadata.is_empty());
                let is_written = has_common && writes_objects(&**policy, target);
                policy.namespaces(target, &mut |name, PolicyNamespace { labels, annotations, account }| {
                    let mut labels = labels.string_map();
                    let mut annotations =
                        if with_annotations { annotations().string_map() } else { LabelMap::default() };
                    if is_written {
                        let of = MadeFor { policy: meta, target, account };
                        CommonMetadata::add_to_maps(&mut labels, &mut annotations, of);
                    }
                    // The server adds this one to every namespace.
                    labels.insert("kubernetes.io/metadata.name".into(), Arc::clone(name));
                    let (name, kind, policy) = (Arc::clone(name), meta.kind, Arc::clone(&meta.name));
                    let origin = account.map_or(meta.origin, Account::origin);
                    found.push(KnownNamespace { name, labels, annotations, kind, policy, origin });
                });
            }
            found.sort_by(|left, right| left.name.cmp(&right.name));
        }
        Self { by_target }
    }

    /// Returns the namespaces of one name on a target, in the order of their policies.
    pub fn named(&self, target: &str, name: &str) -> &[KnownNamespace] {
        let all = self.on(target);
        let start = all.partition_point(|namespace| *namespace.name < *name);
        let count = all.iter().skip(start).take_while(|namespace| *namespace.name == *name).count();
        all.get(start..start + count).map_or(&[], |found| found)
    }

    /// Returns the namespaces of a target, in the order of their names.
    pub fn on(&self, target: &str) -> &[KnownNamespace] {
        self.by_target.get(target).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Whether a policy has an object in the output of a target: some policies only declare objects of the cluster.
fn writes_objects(policy: &dyn Policy, target: &Target) -> bool {
    let mut has_objects = false;
    policy.contributions(target, &mut |_, _| has_objects = true);
    has_objects
}

/// The number of a contribution of a policy to a file; its meaning is private to the policy.
pub type Contribution = u32;

/// Checks the patterns of every string below a node: matching braces and declared variables.
pub fn check_patterns(node: NodeRef<'_>, scope: VariableScope<'_>, sink: &mut Sink) {
    for item in node.items() {
        check_patterns(item, scope, sink);
    }
    for (key, value) in node.entries() {
        check_patterns(key, scope, sink);
        check_patterns(value, scope, sink);
    }
    _ = check_pattern(node, scope, sink);
}

/// Checks the pattern of a string: matching braces and declared variables. Returns a valid pattern with variables.
pub fn check_pattern(node: NodeRef<'_>, scope: VariableScope<'_>, sink: &mut Sink) -> Option<Pattern> {
    let text = node.as_str().filter(|text| text.contains(['{', '}']))?;
    match Pattern::parse(text) {
        Ok(pattern) => {
            for name in pattern.variables().filter(|name| !scope.knows(name)) {
                sink.push(unknown_variable(name, place_of_variable(node, text, name), scope));
            }
            Some(pattern)
        }
        Err(error) => {
            let place = inside(node, error.position, 1);
            sink.push(
                Diagnostic::error(codes::INVALID_PATTERN, error.message)
                    .at(place)
                    .help("write `{name}` for a variable, `{{` and `}}` for braces"),
            );
            None
        }
    }
}

/// Returns the account variables of the strings below a node, sorted.
pub fn account_variables(node: NodeRef<'_>) -> Vec<String> {
    fn collect(node: NodeRef<'_>, names: &mut BTreeSet<String>) {
        node.items().for_each(|item| collect(item, names));
        for (key, value) in node.entries() {
            collect(key, names);
            collect(value, names);
        }
        if let Some(text) = node.as_str().filter(|text| text.contains('{'))
            && let Ok(pattern) = Pattern::parse(text)
        {
            names.extend(pattern.variables().filter(|name| !name.starts_with("target.")).map(str::to_owned));
        }
    }
    let mut names = BTreeSet::new();
    collect(node, &mut names);
    names.into_iter().collect()
}

fn unknown_variable(name: &str, origin: Origin, scope: VariableScope<'_>) -> Diagnostic {
    let names = scope.names();
    let help = match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{{{near}}}`?"),
        None if scope.accounts.is_none() && !name.starts_with("target.") => {
            "use variables of accounts only in policies of a Tenancy; `{{` is a literal brace".to_owned()
        }
        None => {
            format!("there are: {}", names.iter().map(|name| format!("`{{{name}}}`")).collect::<Vec<_>>().join(", "))
        }
    };
    Diagnostic::error(codes::UNKNOWN_VARIABLE, format!("there is no variable `{name}`")).at(origin).help(help)
}

/// Returns the place of the name of a variable in a string; the place of the string where the name is not written plainly.
fn place_of_variable(node: NodeRef<'_>, text: &str, name: &str) -> Origin {
    match text.find(&format!("{{{name}}}")) {
        Some(brace) => inside(node, brace + 1, name.len()),
        None => node.origin(),
    }
}

/// Locates bytes of a string that is in the text without escapes.
fn inside(node: NodeRef<'_>, position: usize, length: usize) -> Origin {
    let mut origin = node.origin();
    let written = (origin.span.end - origin.span.start) as usize;
    let whole = node.as_str().map_or(0, str::len);
    let opening = match written.checked_sub(whole) {
        Some(0) => 0,
        Some(2) => 1,
        _ => return origin,
    };
    let start = origin.span.start as usize + opening + position;
    origin.span = Span::new(start, start + length);
    origin
}
