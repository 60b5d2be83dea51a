//! The trait of policy kinds, and the links between policies.

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
}

/// The variables allowed in the texts of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patterns {
    /// Target variables.
    Targets,
    /// Target variables, and account variables declared by the users of the policy.
    Open,
    /// The kind checks its texts itself.
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
}

/// A linked policy.
pub trait Policy: Send + Sync {
    /// Returns name, location and targets.
    fn meta(&self) -> &PolicyMeta;

    /// Visits each output file with objects of the policy, and the number by which `expand` identifies the
    /// contribution.
    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(Home, Contribution));

    /// Visits each namespace of a target that the policy makes or declares, with its labels.
    fn namespaces(&self, target: &Target, visit: &mut dyn FnMut(&Arc<str>, &Data)) {
        let _ = (target, visit);
    }

    /// Visits the tenants of the policy on a target.
    fn tenants(&self, _target: &Target, _visit: &mut dyn FnMut(TenantPart<'_>)) {}

    /// Whether the policy needs the namespaces of all policies; [`Policy::settle`] passes them.
    fn selects_namespaces(&self) -> bool {
        false
    }

    /// Resolves everything that depends on all policies.
    fn settle(&mut self, surroundings: &Surroundings<'_>, sink: &mut Sink) {
        let _ = (surroundings, sink);
    }

    /// Copies the policy without shared reference counts, for use by one thread: two threads that count references to
    /// the same texts spend a fifth of their time on them. Returns none if sharing is cheap.
    fn detached(&self) -> Option<Box<dyn Policy>> {
        None
    }

    /// Returns the account of a contribution, for a policy whose contributions differ only in their account.
    fn account(&self, _part: Contribution) -> Option<Account<'_>> {
        None
    }

    /// Adds the units that [`Policy::expand`] adds for an account, even for one outside the account list.
    fn expand_account(&self, _target: &Target, _account: Account<'_>, _units: &mut Vec<Unit>) {}

    /// Visits each object that is in the cluster without being compiled, for the analysis of the whole workspace.
    fn judged(&self, _visit: &mut dyn FnMut(NodeRef<'_>)) {}

    /// Visits the type of each object taken unchanged from a manifest.
    fn brought_types(&self, _visit: &mut dyn FnMut(&ObjectType)) {}

    /// Returns the pod security profile of a PodSecurityProfile policy.
    fn profile(&self) -> Option<&PodSecurityProfile> {
        None
    }

    /// Visits the locations of content from other files; an accepted finding of the policy is accepted there, too.
    fn brought(&self, _visit: &mut dyn FnMut(Origin)) {}

    /// Adds the units of one contribution to one output file.
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
    /// A subject with an equal binding for every tenant.
    Alike {
        /// Whether it is a group, and no user.
        is_group: bool,
        /// The name of the subject.
        name: &'t str,
    },
}

/// Data about all policies of a workspace.
#[derive(Debug, Default)]
pub struct Surroundings<'l> {
    /// The namespaces of all policies; none if no policy requires them.
    pub namespaces: Namespaces,
    /// The installed providers.
    pub providers: &'l [InstalledProvider],
}

/// A stack and the place of its installation.
#[derive(Debug, Clone)]
pub struct InstalledStack {
    /// The content of the package.
    pub stack: Arc<Stack>,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// The Stack Manager of some targets.
#[derive(Debug, Clone)]
pub struct InstalledManager {
    /// The service account.
    pub account: object::Account,
    /// The location of its name.
    pub origin: Origin,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// A provider of the RBAC manager and the place of its installation.
#[derive(Debug, Clone)]
pub struct InstalledProvider {
    /// The content of the package.
    pub provider: Arc<Provider>,
    /// The image with the package of the provider.
    pub image: Option<String>,
    /// The declared provider family, with the location of the declaration.
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
    /// Collects the namespaces that some policies make or declare.
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

    /// Returns the namespaces of a target.
    pub fn on(&self, target: &str) -> &[(Arc<str>, Labels)] {
        self.by_target.get(target).map(Vec::as_slice).unwrap_or_default()
    }
}

/// A policy with an expiry date.
#[derive(Debug, Clone)]
pub struct Expiry {
    /// The last day of its validity.
    pub until: Date,
    /// The location of the date.
    pub origin: Origin,
    /// The policy that expires.
    pub policy: PolicyMeta,
}

/// The number of a contribution of a policy to a file; its meaning is private to the policy.
pub type Contribution = u32;

/// A policy for use by others, with the location of its content.
#[derive(Debug, Clone)]
pub struct Shared<T> {
    /// Name, place and targets of the policy.
    pub meta: PolicyMeta,
    /// The content for its users.
    pub content: Arc<T>,
    /// The account variables of its texts; none for a policy that needs no account.
    pub variables: Vec<String>,
}

/// The shared policies of a kind, and their uses.
pub struct Offers<T> {
    kind: &'static str,
    policies: BTreeMap<String, Shared<T>>,
    /// The names of all policies of the kind, linked or not. An unlinked policy cannot be used, and has a diagnostic
    /// already.
    names: BTreeSet<String>,
    used: BTreeSet<String>,
}

impl<T> Offers<T> {
    /// Creates an empty list for a kind.
    pub fn new(kind: &'static str) -> Self {
        Self { kind, policies: BTreeMap::new(), names: BTreeSet::new(), used: BTreeSet::new() }
    }

    /// Adds a policy.
    pub fn add(&mut self, policy: Shared<T>) {
        self.policies.insert(policy.meta.name.to_string(), policy);
    }

    /// Records a policy name.
    pub fn announce(&mut self, name: &str) {
        self.names.insert(name.to_owned());
    }

    /// Returns a policy by its name and marks it as used. Reports an unknown name.
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

    /// Returns a policy by its name, used or not.
    pub fn get(&self, name: &str) -> Option<&Shared<T>> {
        self.policies.get(name)
    }

    /// Returns the unused policies.
    pub fn unused(&self) -> impl Iterator<Item = &Shared<T>> {
        self.policies.values().filter(|policy| !self.used.contains(&*policy.meta.name))
    }
}

/// The data of the workspace for linking.
pub struct Linker<'w> {
    /// The workspace's targets.
    pub targets: &'w [Target],
    /// The texts read so far, and the way to further ones.
    pub sources: &'w mut Sources,
    /// Permission sets, the content of roles.
    pub permission_sets: Offers<PermissionSet>,
    /// Pod security profiles.
    pub profiles: Offers<PodSecurityProfile>,
    /// Files of the policy folder that belong to a policy and are not policies themselves.
    pub claimed: BTreeSet<String>,
    /// Objects that exist in clusters without being compiled, by target; bindings may refer to them.
    pub existing: BTreeMap<String, BTreeSet<super::Identity>>,
    /// The API of each target by its name, with the custom resources of [`Linker::learn`].
    pub apis: BTreeMap<String, Api>,
    /// The fields of custom resources, by target, in the order of their definitions.
    pub custom_fields: BTreeMap<String, Vec<Arc<CustomFields>>>,
    /// Custom resources of the policies, not yet added to the API.
    custom: BTreeMap<String, Vec<Resource>>,
    /// The installed packages.
    pub stacks: Vec<InstalledStack>,
    /// The installed providers.
    pub providers: Vec<InstalledProvider>,
    /// The Stack Managers.
    pub managers: Vec<InstalledManager>,
    /// Policies with an expiry date.
    pub expiries: Vec<Expiry>,
    /// Names mentioned by policies.
    pub mentions: Vec<super::Mentions>,
    /// Whether an account could not be read, so that the names of tenants are incomplete.
    pub lacks_accounts: bool,
    /// Objects of the cluster with one copy for each account.
    pub made_for_accounts: Vec<super::MadeForAccounts>,
    /// The expectations of the AccessTests.
    pub access_checks: Vec<super::AccessCheck>,
    /// Node pools, namespaces to isolate from them, and agents.
    pub node_access: super::NodeAccess,
}

impl<'w> Linker<'w> {
    /// Creates a linker for a workspace.
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

    /// Returns the registered texts.
    pub fn files(&self) -> &Files {
        self.sources.files()
    }

    /// Records a policy name, whether the policy can be linked or not.
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

    /// Adds all recorded custom resources to the API together: each addition walks over all known resources.
    pub fn learn(&mut self) {
        for (target, resources) in std::mem::take(&mut self.custom) {
            self.apis.entry(target).and_modify(|api| api.extend(&resources));
        }
    }

    /// Returns the stacks of a target.
    pub fn stacks_on<'l>(&'l self, target: &'l str) -> impl Iterator<Item = &'l InstalledStack> {
        self.stacks.iter().filter(move |installed| installed.targets.contains(target))
    }

    /// Returns the targets of a policy.
    pub fn targets_of(&self, meta: &PolicyMeta) -> Vec<Target> {
        self.targets.iter().filter(|target| meta.targets.contains(&target.name)).cloned().collect()
    }
}

/// Checks the patterns of every string below a node: matching braces and declared variables.
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

/// Locates a byte of a string that is in the text without escapes.
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
