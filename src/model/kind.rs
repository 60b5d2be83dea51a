//! What a policy kind implements, and what policies find each other by.

use crate::codes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{Account, Data, Date, Home, ObjectType, Pattern, PermissionSet, PodSecurityProfile, Scope, Target, Unit};
use crate::crossplane::object;
use crate::crossplane::provider::Provider;
use crate::crossplane::stack::Stack;
use crate::diag::{Diagnostic, Files, Origin, Sink, Span, nearest};
use crate::k8s::catalogue::{Api, Resource};
use crate::k8s::custom_fields::CustomFields;
use crate::source::Sources;
use crate::yaml::{NodeRef, Spanned};

/// A policy kind: how its `spec` is written, and how it is linked.
pub trait Kind {
    /// The `spec` as written. Its doc comment is the kind's manual page.
    type Spec: DeserializeOwned + JsonSchema;

    /// The kind's name, such as `Tenancy`.
    const NAME: &'static str;

    /// The templates its objects are rendered with.
    const TEMPLATES: &'static [&'static str];

    /// Which variables the texts of its `spec` may use.
    const PATTERNS: Patterns;

    /// The field of its `spec` that names policies of the same kind, which are then linked before it.
    const INCLUDES: Option<&'static str> = None;

    /// Resolves every name in a policy. None when it cannot be used; why is then in the sink.
    fn link(
        document: &RawDocument<'_>,
        spec: Self::Spec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>>;
}

/// Which variables the texts of a kind may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patterns {
    /// Those of targets.
    Targets,
    /// Those of targets, and account variables that a user of the policy declares.
    Open,
    /// The kind checks its texts itself.
    Own,
}

/// A policy document whose head was read.
#[derive(Debug, Clone)]
pub struct RawDocument<'t> {
    /// Name, place and targets.
    pub meta: PolicyMeta,
    /// The whole document.
    pub root: NodeRef<'t>,
    /// Its `spec`.
    pub spec: NodeRef<'t>,
    /// The file's path in the workspace.
    pub path: &'t str,
}

/// What every policy has.
#[derive(Debug, Clone)]
pub struct PolicyMeta {
    /// The kind.
    pub kind: &'static str,
    /// `metadata.name`.
    pub name: Arc<str>,
    /// Where the name stands.
    pub origin: Origin,
    /// The names of the targets it applies to.
    pub targets: Arc<BTreeSet<String>>,
}

/// A linked policy.
pub trait Policy: Send + Sync {
    /// Name, place and targets.
    fn meta(&self) -> &PolicyMeta;

    /// Tells each file of the output that the policy adds objects to, with a number by which `expand` knows the
    /// part that is meant.
    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(Home, Contribution));

    /// Tells each namespace of a target that the policy makes or knows of, with its labels.
    fn namespaces(&self, target: &Target, visit: &mut dyn FnMut(&Arc<str>, &Data)) {
        let _ = (target, visit);
    }

    /// Visits the tenants that the policy makes on a target.
    fn tenants(&self, _target: &Target, _visit: &mut dyn FnMut(TenantPart<'_>)) {}

    /// True when the policy has to know the namespaces of all policies; [`Policy::settle`] then tells it.
    fn selects_namespaces(&self) -> bool {
        false
    }

    /// Resolves what depends on all policies.
    fn settle(&mut self, surroundings: &Surroundings<'_>, sink: &mut Sink) {
        let _ = (surroundings, sink);
    }

    /// A copy that shares nothing that is counted often, for one thread: two threads that count references to the same
    /// texts spend a fifth of their time on it. None where sharing costs nothing.
    fn detached(&self) -> Option<Box<dyn Policy>> {
        None
    }

    /// The account that a part stands for, in a policy whose parts differ in nothing but that.
    fn account(&self, _part: Contribution) -> Option<Account<'_>> {
        None
    }

    /// What [`Policy::expand`] adds for an account, whether it is on the list or not.
    fn expand_account(&self, _target: &Target, _account: Account<'_>, _units: &mut Vec<Unit>) {}

    /// Tells each object that is in the cluster without being compiled, for whoever judges the whole.
    fn judged(&self, _visit: &mut dyn FnMut(NodeRef<'_>)) {}

    /// Visits the type of each object that is written as its manifest has it.
    fn brought_types(&self, _visit: &mut dyn FnMut(&ObjectType)) {}

    /// The profile, for a policy that is one.
    fn profile(&self) -> Option<&PodSecurityProfile> {
        None
    }

    /// Tells the places of what it brings from other files: what it accepts for itself, it accepts there.
    fn brought(&self, _visit: &mut dyn FnMut(Origin)) {}

    /// The objects that one part adds to one file.
    fn expand(&self, target: &Target, home: &Home, part: Contribution, units: &mut Vec<Unit>);
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
    /// A subject that the policy binds for each tenant alike.
    Alike {
        /// Whether it is a group, and no user.
        is_group: bool,
        /// The name of the subject.
        name: &'t str,
    },
}

/// What a policy may have to know of all others.
#[derive(Debug, Default)]
pub struct Surroundings<'l> {
    /// The namespaces of all policies; none where no policy asks for them.
    pub namespaces: Namespaces,
    /// The providers that are installed.
    pub providers: &'l [InstalledProvider],
}

/// A stack, and where it is installed.
#[derive(Debug, Clone)]
pub struct InstalledStack {
    /// The stack.
    pub stack: Arc<Stack>,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// Who installs the stacks of some targets.
#[derive(Debug, Clone)]
pub struct InstalledManager {
    /// The service account.
    pub account: object::Account,
    /// Where it is named.
    pub origin: Origin,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// A provider of the RBAC manager, and where it is installed.
#[derive(Debug, Clone)]
pub struct InstalledProvider {
    /// The provider.
    pub provider: Arc<Provider>,
    /// The image that brings it.
    pub image: Option<String>,
    /// The family that it says it belongs to, with where it says so.
    pub family: Option<Spanned<String>>,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// The labels of an object.
pub type Labels = BTreeMap<Arc<str>, Arc<str>>;

/// The namespaces of each target by the target's name, with their labels as the server will have them.
#[derive(Debug, Default)]
pub struct Namespaces {
    by_target: BTreeMap<String, Vec<(Arc<str>, Labels)>>,
}

impl Namespaces {
    /// The namespaces that some policies make or know of.
    pub fn of(policies: &[Box<dyn Policy>], targets: &[Target]) -> Self {
        let mut by_target: BTreeMap<String, Vec<(Arc<str>, Labels)>> = BTreeMap::new();
        for target in targets {
            let found = by_target.entry(target.name.clone()).or_default();
            for policy in policies.iter().filter(|policy| policy.meta().targets.contains(&target.name)) {
                policy.namespaces(target, &mut |name, labels| {
                    let mut own = labels.string_map();
                    // The server adds this one to every namespace.
                    own.insert("kubernetes.io/metadata.name".into(), Arc::clone(name));
                    found.push((Arc::clone(name), own));
                });
            }
        }
        Self { by_target }
    }

    /// Those of a target.
    pub fn on(&self, target: &str) -> &[(Arc<str>, Labels)] {
        self.by_target.get(target).map(Vec::as_slice).unwrap_or_default()
    }
}

/// A policy that holds until a day.
#[derive(Debug, Clone)]
pub struct Expiry {
    /// The last day on which it holds.
    pub until: Date,
    /// Where the day is written.
    pub origin: Origin,
    /// The policy.
    pub policy: PolicyMeta,
}

/// The part of a policy that adds to a file: the meaning of the number is the policy's own.
pub type Contribution = u32;

/// A policy that others may use, with where its content stands.
#[derive(Debug, Clone)]
pub struct Shared<T> {
    /// Name, place and targets of the policy.
    pub meta: PolicyMeta,
    /// What it offers.
    pub content: Arc<T>,
    /// The account variables its texts use; none for a policy that can stand alone.
    pub variables: Vec<String>,
}

/// The policies of a kind that others may use, and which of them are used.
pub struct Offers<T> {
    kind: &'static str,
    policies: BTreeMap<String, Shared<T>>,
    /// The names of all that are there, linked or not. One that was not linked before it is asked for cannot be used,
    /// and why was told.
    names: BTreeSet<String>,
    used: BTreeSet<String>,
}

impl<T> Offers<T> {
    /// None yet, of a kind.
    pub fn new(kind: &'static str) -> Self {
        Self { kind, policies: BTreeMap::new(), names: BTreeSet::new(), used: BTreeSet::new() }
    }

    /// Adds a policy.
    pub fn add(&mut self, policy: Shared<T>) {
        self.policies.insert(policy.meta.name.to_string(), policy);
    }

    /// Notes that there is a policy of this name.
    pub fn announce(&mut self, name: &str) {
        self.names.insert(name.to_owned());
    }

    /// The policy of a name, which is used from now on. One that is not there is reported.
    pub fn find(&mut self, name: &Spanned<String>, sink: &mut Sink) -> Option<&Shared<T>> {
        if let Some(found) = self.policies.get(name.as_str()) {
            self.used.insert(name.value.clone());
            return Some(found);
        }
        if self.names.contains(name.as_str()) {
            return None;
        }
        let kind = self.kind;
        let names = || self.names.iter().map(String::as_str);
        let help = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names().next().is_none() => format!("write a {kind} of this name"),
            None => {
                format!("there are: {}", names().take(8).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
            }
        };
        sink.push(
            Diagnostic::error(codes::UNKNOWN_REFERENCE, format!("there is no {kind} `{}`", name.value))
                .at(name.origin)
                .help(help),
        );
        None
    }

    /// The policy of a name, whether it is used or not.
    pub fn get(&self, name: &str) -> Option<&Shared<T>> {
        self.policies.get(name)
    }

    /// The policies that nothing uses.
    pub fn unused(&self) -> impl Iterator<Item = &Shared<T>> {
        self.policies.values().filter(|policy| !self.used.contains(&*policy.meta.name))
    }
}

/// What linking needs to know of the rest of the workspace.
pub struct Linker<'w> {
    /// The workspace's targets.
    pub targets: &'w [Target],
    /// The texts read so far, and the way to further ones.
    pub sources: &'w mut Sources,
    /// Permission sets: what roles are made of.
    pub permission_sets: Offers<PermissionSet>,
    /// Pod security profiles.
    pub profiles: Offers<PodSecurityProfile>,
    /// Files of the policy folder that belong to a policy and are none themselves.
    pub claimed: BTreeSet<String>,
    /// Objects that exist in clusters without being compiled, by target: what bindings may refer to.
    pub existing: BTreeMap<String, BTreeSet<super::Identity>>,
    /// What each target serves, by its name, with the custom resources that [`Linker::learn`] knows of.
    pub apis: BTreeMap<String, Api>,
    /// The fields of custom resources, by target, in the order of their definitions.
    pub custom_fields: BTreeMap<String, Vec<Arc<CustomFields>>>,
    /// Custom resources that were brought and are not learnt yet.
    custom: BTreeMap<String, Vec<Resource>>,
    /// The packages that are installed.
    pub stacks: Vec<InstalledStack>,
    /// The providers that are installed.
    pub providers: Vec<InstalledProvider>,
    /// Who installs the stacks.
    pub managers: Vec<InstalledManager>,
    /// Policies that hold until a day.
    pub expiries: Vec<Expiry>,
    /// Names that policies mention.
    pub mentions: Vec<super::Mentions>,
    /// Whether an account could not be read: the names that tenants make are not all known.
    pub lacks_accounts: bool,
    /// Objects of the cluster that accounts have one of each.
    pub made_for_accounts: Vec<super::MadeForAccounts>,
    /// What the AccessTests expect.
    pub access_checks: Vec<super::AccessCheck>,
    /// Pools of nodes, what must stay out of their reach, and agents.
    pub node_access: super::NodeAccess,
}

impl<'w> Linker<'w> {
    /// A linker for a workspace.
    pub fn new(targets: &'w [Target], sources: &'w mut Sources) -> Self {
        Self {
            targets,
            sources,
            permission_sets: Offers::new("PermissionSet"),
            profiles: Offers::new("PodSecurityProfile"),
            claimed: BTreeSet::new(),
            existing: BTreeMap::new(),
            expiries: Vec::new(),
            lacks_accounts: false,
            mentions: Vec::new(),
            made_for_accounts: Vec::new(),
            apis: targets.iter().map(|target| (target.name.clone(), target.version.api())).collect(),
            custom_fields: BTreeMap::new(),
            custom: BTreeMap::new(),
            stacks: Vec::new(),
            providers: Vec::new(),
            managers: Vec::new(),
            access_checks: Vec::new(),
            node_access: super::NodeAccess::default(),
        }
    }

    /// The registered texts.
    pub fn files(&self) -> &Files {
        self.sources.files()
    }

    /// Notes that there is a policy of this name, whether it can be linked or not.
    pub fn announce(&mut self, kind: &str, name: &str) {
        match kind {
            "PermissionSet" => self.permission_sets.announce(name),
            "PodSecurityProfile" => self.profiles.announce(name),
            _ => {}
        }
    }

    /// Brings custom resources to some targets.
    pub fn bring(&mut self, targets: &BTreeSet<String>, resources: &[Resource]) {
        for target in targets {
            self.custom.entry(target.clone()).or_default().extend_from_slice(resources);
        }
    }

    /// Brings the fields of custom resources to some targets.
    pub fn bring_fields(&mut self, targets: &BTreeSet<String>, fields: &[Arc<CustomFields>]) {
        for target in targets.iter().filter(|_| !fields.is_empty()) {
            self.custom_fields.entry(target.clone()).or_default().extend_from_slice(fields);
        }
    }

    /// Learns the custom resources that were brought, all at once: each time costs a walk over all that are known.
    pub fn learn(&mut self) {
        for (target, resources) in std::mem::take(&mut self.custom) {
            self.apis.entry(target).and_modify(|api| api.extend(&resources));
        }
    }

    /// The stacks of a target.
    pub fn stacks_on<'l>(&'l self, target: &'l str) -> impl Iterator<Item = &'l InstalledStack> {
        self.stacks.iter().filter(move |installed| installed.targets.contains(target))
    }

    /// The targets a policy applies to.
    pub fn targets_of(&self, meta: &PolicyMeta) -> Vec<Target> {
        self.targets.iter().filter(|target| meta.targets.contains(&target.name)).cloned().collect()
    }
}

/// Checks the patterns of every string below a node: braces that match, and variables that are declared.
pub fn check_patterns(node: NodeRef<'_>, scope: Scope<'_>, sink: &mut Sink) {
    for item in node.items() {
        check_patterns(item, scope, sink);
    }
    for (key, value) in node.entries() {
        check_patterns(key, scope, sink);
        check_patterns(value, scope, sink);
    }
    let Some(text) = node.as_str().filter(|text| text.contains(['{', '}'])) else {
        return;
    };
    match Pattern::parse(text) {
        Ok(pattern) => {
            for name in pattern.variables().filter(|name| !scope.knows(name)) {
                sink.push(unknown_variable(name, node.origin(), scope));
            }
        }
        Err(error) => {
            let place = inside(node, error.position);
            sink.push(
                Diagnostic::error(codes::INVALID_PATTERN, error.message)
                    .at(place)
                    .help("write `{name}` for a variable, `{{` and `}}` for braces"),
            );
        }
    }
}

/// The account variables that the strings below a node use, sorted.
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

fn unknown_variable(name: &str, origin: Origin, scope: Scope<'_>) -> Diagnostic {
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

/// The place of a byte of a string, when the string stands in the text without escapes.
fn inside(node: NodeRef<'_>, position: usize) -> Origin {
    let mut origin = node.origin();
    let written = (origin.span.end - origin.span.start) as usize;
    let length = node.as_str().map_or(0, str::len);
    let opening = match written.checked_sub(length) {
        Some(0) => 0,
        Some(2) => 1,
        _ => return origin,
    };
    let start = origin.span.start as usize + opening + position;
    origin.span = Span::new(start, start + 1);
    origin
}
