//! The objects that decide access: read from any source, settled, and indexed by holder and scope.
//!
//! A [`Builder`] takes objects one by one, in layers: the API server's own objects are the baseline of the given
//! ones. [`Builder::build`] settles aggregation, resolves every `roleRef` and indexes the subjects; a [`World`] no
//! longer changes, and answers in the time of looking up a subject.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

pub use super::added::Added;
use super::aggregate::{self, Doubts, Stated};
use super::clouds::Clouds;
use super::decide::MissingRole;
use super::index::{BoundRules, Index};
use super::namespaces::{LabelledNamespaces, WorldLabels};
use super::possible::PossibleBinding;
use super::reconcile;
use super::rules::{InternedRule, RuleListId, RuleLists};
use super::shape;
use super::symbols::{Symbol, Symbols};
use super::workloads::{ObjectReference, Running, Workloads};
use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::catalogue::{Api, Resource, read_custom};
use bailiwick_kubernetes::default_policy;
use bailiwick_kubernetes::list;
use bailiwick_kubernetes::rbac::{PolicyRule, RbacForm};
use bailiwick_kubernetes::selector::LabelSelector;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::Origin;
use bailiwick_yaml::internal;

/// The input that contains an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectSource {
    /// The API server's own objects of this minor.
    Baseline,
    /// A dump of a cluster, in place of the baseline.
    Dump(Origin),
    /// An input, at this place.
    Input(Origin),
}

/// The kind of a role, and of a `roleRef`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RoleKind {
    /// A role for the whole cluster.
    ClusterRole,
    /// A role in a namespace.
    Role,
    /// Any other kind. The authorizer cannot resolve it.
    Unknown,
}

/// A role of the world.
#[derive(Debug)]
pub(crate) struct Role {
    /// Its namespace; none for a ClusterRole.
    pub(crate) namespace: Option<Symbol>,
    pub(crate) name: Symbol,
    /// Its rules; for an aggregated role the gathered ones.
    pub(crate) rules: RuleListId,
    /// For an aggregated role, its rules with its own rules kept; none if that makes no difference.
    pub(crate) doubtful: Option<RuleListId>,
    /// The selectors of an aggregated role.
    pub(crate) aggregation: Option<Box<[LabelSelector]>>,
    pub(crate) labels: Box<[(Symbol, Symbol)]>,
    /// True when the API server leaves it as it is at its start.
    pub(crate) is_kept: bool,
    pub(crate) layer: ObjectSource,
}

/// A binding of the world.
#[derive(Debug)]
pub(crate) struct Binding {
    /// Its namespace; none for a ClusterRoleBinding.
    pub(crate) namespace: Option<Symbol>,
    pub(crate) name: Symbol,
    pub(crate) role_kind: RoleKind,
    pub(crate) role_name: Symbol,
    /// The role, if it is present.
    pub(crate) role: Option<u32>,
    pub(super) first_subject: u32,
    pub(super) subjects: u32,
    /// True when the API server leaves it as it is at its start.
    pub(crate) is_kept: bool,
    pub(crate) layer: ObjectSource,
}

/// A subject of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Subject {
    pub(crate) kind: SubjectKind,
    pub(crate) name: Symbol,
    /// The namespace as written; empty when there is none.
    pub(crate) namespace: Symbol,
}

/// The kind of a subject of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SubjectKind {
    /// A group of users.
    Group,
    /// A service account, by namespace and name.
    ServiceAccount,
    /// A user, by name.
    User,
    /// Another kind. It matches no identity.
    Unknown,
}

/// The identity of a binding's subject for the authorizer: a user or group by name. A service account is the user of
/// its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Holder {
    pub(crate) is_group: bool,
    pub(crate) name: Symbol,
}

/// Collects objects.
#[derive(Debug)]
pub struct Builder {
    minor: u32,
    symbols: Symbols,
    lists: RuleLists,
    roles: Vec<Role>,
    role_ids: HashMap<(Option<Symbol>, Symbol), u32>,
    bindings: Vec<Binding>,
    binding_ids: HashMap<(Option<Symbol>, Symbol), u32>,
    subjects: Vec<Subject>,
    namespaces: LabelledNamespaces,
    custom: BTreeMap<(String, String), Resource>,
    baseline: Option<u32>,
    clouds: Clouds,
    workloads: Workloads,
    stated: Stated,
    pub(super) possible: Vec<PossibleBinding>,
    /// How many objects have a generated name.
    generated: usize,
}

/// A settled set of objects, ready for questions.
#[derive(Debug)]
pub struct World {
    api: Api,
    pub(crate) symbols: Symbols,
    pub(crate) lists: RuleLists,
    pub(crate) roles: Vec<Role>,
    role_ids: HashMap<(Option<Symbol>, Symbol), u32>,
    pub(crate) bindings: Vec<Binding>,
    binding_ids: HashMap<(Option<Symbol>, Symbol), u32>,
    subjects: Vec<Subject>,
    pub(crate) index: Index,
    namespaces: LabelledNamespaces,
    pub(crate) custom: Vec<Resource>,
    baseline: Option<u32>,
    pub(crate) clouds: Clouds,
    /// The workloads with tokens.
    pub(crate) running: Vec<Running>,
    doubts: Doubts,
    pub(crate) possible: Vec<PossibleBinding>,
    /// The aggregated roles by number.
    gathering: HashMap<u32, Gathering>,
    /// The missing roles that are declared: others make them.
    declared: BTreeSet<MissingRole>,
}

/// The sources of an aggregated role.
#[derive(Debug)]
struct Gathering {
    /// The selected roles, by number.
    sources: Vec<usize>,
    /// The first role with each rule, computed on demand.
    by_rule: OnceLock<HashMap<InternedRule, usize>>,
}

impl Builder {
    /// Creates an empty world at a minor.
    pub fn new(minor: u32) -> Self {
        Self {
            minor,
            symbols: Symbols::new(),
            lists: RuleLists::new(),
            roles: Vec::new(),
            role_ids: HashMap::new(),
            bindings: Vec::new(),
            binding_ids: HashMap::new(),
            subjects: Vec::new(),
            namespaces: LabelledNamespaces::new(),
            custom: BTreeMap::new(),
            baseline: None,
            generated: 0,
            clouds: Clouds::default(),
            workloads: Workloads::default(),
            stated: Stated::default(),
            possible: Vec::new(),
        }
    }

    /// Sets the fate of the own rules of aggregated roles.
    #[must_use]
    pub fn with_stated_rules(mut self, stated: Stated) -> Self {
        self.stated = stated;
        self
    }

    /// Puts the default policy of a minor under everything else. To be called before any object is added.
    #[must_use]
    pub fn with_default_policy(mut self, minor: u32) -> Self {
        self.baseline = Some(minor);
        for object in default_policy::objects(minor) {
            // The table of the default policy has roles and bindings alone.
            _ = self.add(object, ObjectSource::Baseline);
        }
        self
    }

    /// Adds a served custom resource without its definition. Of two with one name in one group the last counts.
    pub fn know(&mut self, custom: Resource) {
        self.custom.insert((custom.group.clone(), custom.resource.clone()), custom);
    }

    /// Adds a RoleBinding with a `capability`, and its ClusterRole: a controller makes the binding in every namespace of a
    /// cluster that has the capability. `{namespace}` stands for the namespace. The inputs may replace the role.
    pub fn add_possible(&mut self, binding: NodeRef<'_>, role: NodeRef<'_>) {
        let rules = self.read_rules(RbacForm::Rbac, role);
        self.possible.push(PossibleBinding::from_node(binding, rules));
    }

    /// Ends the baseline: later objects replace the objects so far silently.
    pub fn end_baseline(&mut self) {
        let layers = self.roles.iter_mut().map(|role| &mut role.layer);
        for layer in layers.chain(self.bindings.iter_mut().map(|binding| &mut binding.layer)) {
            if let ObjectSource::Input(origin) = *layer {
                *layer = ObjectSource::Dump(origin);
            }
        }
    }

    /// Adds a document: an object, or each object of a list as `kubectl get` prints it. Reports the result for each,
    /// and rejects an object of the wrong shape.
    pub fn add_document<'t>(&mut self, root: NodeRef<'t>, mut report: impl FnMut(NodeRef<'t>, Added)) {
        for (api_version, kind, object) in list::typed_objects(root) {
            match shape::problem(&api_version, &kind, object) {
                Some((place, why)) => report(place, Added::Misshapen(why)),
                None => {
                    let added = self.add_as(&api_version, &kind, object, ObjectSource::Input(object.origin()));
                    report(object, added);
                }
            }
        }
    }

    /// Adds an object, or each object of a list, all of one source. The result of a list is its first refused object; without one, [`Added::Taken`]
    /// if an object of the list counts.
    pub fn add(&mut self, object: NodeRef<'_>, layer: ObjectSource) -> Added {
        // As for every client, an object with `items` is a list, whatever its kind.
        if object.get("items").is_some() {
            let added = list::typed_objects(object)
                .into_iter()
                .map(|(api_version, kind, item)| self.add_as(&api_version, &kind, item, layer));
            return added.fold(Added::Ignored, Added::of_list);
        }
        let text = |key| object.get(key).and_then(NodeRef::as_str);
        match (text("apiVersion"), text("kind")) {
            (Some(api_version), Some(kind)) => self.add_as(api_version, kind, object, layer),
            _ => Added::Malformed,
        }
    }

    fn add_as(&mut self, api_version: &str, kind: &str, object: NodeRef<'_>, layer: ObjectSource) -> Added {
        let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str);
        let name = text(&["metadata", "name"]).map(str::to_owned).or_else(|| {
            // `kubectl create` makes an object with a random end of its name.
            let beginning = text(&["metadata", "generateName"]).filter(|beginning| !beginning.is_empty())?;
            self.generated += 1;
            Some(format!("{beginning}<{}>", self.generated))
        });
        let Some(name) = name.as_deref().filter(|_| !api_version.is_empty() && !kind.is_empty()) else {
            return Added::Malformed;
        };
        let namespace = text(&["metadata", "namespace"]).filter(|namespace| !namespace.is_empty());
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        if let Some(form) = RbacForm::of_group(group) {
            let local = Some(or_default(namespace));
            match kind {
                "ClusterRole" => return self.add_role(form, object, None, name, layer),
                "Role" => return self.add_role(form, object, local, name, layer),
                "ClusterRoleBinding" => return self.add_binding(form, object, None, name, layer),
                "RoleBinding" => return self.add_binding(form, object, local, name, layer),
                _ => {}
            }
        }
        match (group, kind) {
            ("", "Namespace") | ("project.openshift.io", "Project") => {
                self.namespaces.add(name, labels(object));
                Added::Taken
            }
            ("", "ServiceAccount") => {
                self.clouds.add_account(object, or_default(namespace), name);
                self.workloads.add_account(object, or_default(namespace), name);
                Added::Taken
            }
            // The caller has the members: a decision is about the groups of its question.
            ("user.openshift.io", "Group") => Added::Taken,
            ("", "ConfigMap") => {
                self.clouds.add_config_map(or_default(namespace), name);
                Added::Ignored
            }
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                // A patch of kustomize has a part of a definition.
                let Some(custom) = read_custom(object) else { return Added::Ignored };
                // Like every other object, a later definition takes the place of an earlier one.
                self.know(custom);
                Added::Taken
            }
            _ => {
                let reference = ObjectReference { group, kind, namespace: or_default(namespace), name };
                self.workloads.add(reference, object, layer);
                Added::Ignored
            }
        }
    }

    /// Returns the rules of a role. A rule that does not count keeps its position.
    fn read_rules(&mut self, form: RbacForm, object: NodeRef<'_>) -> RuleListId {
        let rules = object.get("rules").into_iter().flat_map(NodeRef::items);
        let rules = rules.map(|rule| match form.counts(rule) {
            true => InternedRule::from_node(rule, &mut self.symbols),
            false => InternedRule::default(),
        });
        let rules = rules.collect();
        self.lists.add(rules)
    }

    fn add_role(
        &mut self,
        form: RbacForm,
        object: NodeRef<'_>,
        namespace: Option<&str>,
        name: &str,
        layer: ObjectSource,
    ) -> Added {
        let rules = self.read_rules(form, object);
        let selectors = object.path(&["aggregationRule", "clusterRoleSelectors"]).filter(|list| !list.is_empty());
        let is_cluster_role = namespace.is_none();
        let role = Role {
            namespace: namespace.map(|namespace| self.symbols.add(namespace)),
            name: self.symbols.add(name),
            rules,
            doubtful: None,
            aggregation: selectors
                .filter(|_| is_cluster_role)
                .map(|list| list.items().map(LabelSelector::from_node).collect()),
            // Only a ClusterRole can be gathered by its labels.
            labels: labels(object)
                .filter(|_| is_cluster_role)
                .map(|(key, value)| (self.symbols.add(key), self.symbols.add(value)))
                .collect(),
            is_kept: reconcile::is_kept(object),
            layer,
        };
        let next = internal::number(self.roles.len());
        let id = *self.role_ids.entry((role.namespace, role.name)).or_insert(next);
        match self.roles.get_mut(id as usize) {
            Some(known) => replaced(std::mem::replace(known, role).layer),
            None => {
                self.roles.push(role);
                Added::Taken
            }
        }
    }

    fn add_binding(
        &mut self,
        form: RbacForm,
        object: NodeRef<'_>,
        namespace: Option<&str>,
        name: &str,
        layer: ObjectSource,
    ) -> Added {
        let first_subject = internal::number(self.subjects.len());
        for subject in form.subjects(object) {
            let kind = match subject.kind {
                "User" => SubjectKind::User,
                "Group" => SubjectKind::Group,
                "ServiceAccount" => SubjectKind::ServiceAccount,
                _ => SubjectKind::Unknown,
            };
            let (name, namespace) = (self.symbols.add(subject.name), self.symbols.add(subject.namespace));
            self.subjects.push(Subject { kind, name, namespace });
        }
        let role_ref = form.role_ref(object);
        let binding = Binding {
            namespace: namespace.map(|namespace| self.symbols.add(namespace)),
            name: self.symbols.add(name),
            role_kind: match role_ref.kind {
                "ClusterRole" => RoleKind::ClusterRole,
                "Role" => RoleKind::Role,
                _ => RoleKind::Unknown,
            },
            role_name: self.symbols.add(role_ref.name),
            role: None,
            first_subject,
            subjects: internal::number(self.subjects.len()) - first_subject,
            is_kept: reconcile::is_kept(object),
            layer,
        };
        let next = internal::number(self.bindings.len());
        let id = *self.binding_ids.entry((binding.namespace, binding.name)).or_insert(next);
        match self.bindings.get_mut(id as usize) {
            Some(known) => replaced(std::mem::replace(known, binding).layer),
            None => {
                self.bindings.push(binding);
                Added::Taken
            }
        }
    }

    /// Returns the users and groups with a cluster-wide binding so far.
    pub fn held_cluster_wide(&self) -> BTreeSet<String> {
        let bindings = self.bindings.iter().filter(|binding| binding.namespace.is_none());
        let subjects = bindings.flat_map(|binding| binding.subjects_in(&self.subjects));
        let text = |symbol| self.symbols.text(symbol);
        subjects
            .map(|subject| match subject.kind {
                SubjectKind::ServiceAccount => account_user(text(subject.namespace), text(subject.name)),
                _ => text(subject.name).to_owned(),
            })
            .collect()
    }

    /// Returns the namespaces with a role or a binding so far.
    pub fn places(&self) -> BTreeSet<String> {
        let roles = self.roles.iter().filter_map(|role| role.namespace);
        let bindings = self.bindings.iter().filter_map(|binding| binding.namespace);
        roles.chain(bindings).map(|namespace| self.symbols.text(namespace).to_owned()).collect()
    }

    /// Adds the members of groups, by the name of the group, as subjects of each binding of their groups. Returns false and adds none
    /// if the bindings would get more than `most` subjects.
    #[must_use]
    pub fn bind_members(&mut self, members: &BTreeMap<String, BTreeSet<String>>, most: usize) -> bool {
        let mut by_group: HashMap<Symbol, Vec<Subject>> = HashMap::new();
        let namespace = self.symbols.add("");
        for (group, users) in members {
            let user = |user: &String| Subject { kind: SubjectKind::User, name: self.symbols.add(user), namespace };
            let users: Vec<Subject> = users.iter().map(user).collect();
            by_group.insert(self.symbols.add(group), users);
        }
        let members_of = |subject: &Subject| {
            let users = by_group.get(&subject.name).filter(|_| subject.kind == SubjectKind::Group);
            users.into_iter().flatten().copied()
        };
        let all = self.bindings.iter().flat_map(|binding| binding.subjects_in(&self.subjects));
        if all.flat_map(members_of).take(most + 1).count() > most {
            return false;
        }
        let mut subjects = Vec::with_capacity(self.subjects.len());
        for binding in &mut self.bindings {
            let first = subjects.len();
            let own = binding.subjects_in(&self.subjects);
            subjects.extend_from_slice(own);
            subjects.extend(own.iter().flat_map(members_of));
            binding.first_subject = internal::number(first);
            binding.subjects = internal::number(subjects.len() - first);
        }
        self.subjects = subjects;
        true
    }

    /// Settles aggregation, resolves the bindings and makes the index.
    pub fn build(mut self) -> World {
        // The world makes its own tables.
        (self.role_ids, self.binding_ids) = (HashMap::new(), HashMap::new());
        let doubts = aggregate::settle(&mut self.roles, &mut self.lists, &self.symbols, self.stated);
        self.roles.shrink_to_fit();
        self.bindings.shrink_to_fit();
        self.subjects.shrink_to_fit();
        World::from_parts(Parts {
            minor: self.minor,
            baseline: self.baseline,
            symbols: self.symbols,
            lists: self.lists,
            roles: self.roles,
            bindings: self.bindings,
            subjects: self.subjects,
            namespaces: self.namespaces,
            custom: self.custom.into_values().collect(),
            clouds: self.clouds,
            running: self.workloads.finish(),
            doubts,
            possible: self.possible,
        })
    }
}

/// A settled world before it is indexed.
pub(super) struct Parts {
    pub(super) minor: u32,
    pub(super) baseline: Option<u32>,
    pub(super) symbols: Symbols,
    pub(super) lists: RuleLists,
    pub(super) roles: Vec<Role>,
    pub(super) bindings: Vec<Binding>,
    pub(super) subjects: Vec<Subject>,
    pub(super) namespaces: LabelledNamespaces,
    pub(super) custom: Vec<Resource>,
    pub(super) clouds: Clouds,
    pub(super) running: Vec<Running>,
    pub(super) doubts: Doubts,
    pub(super) possible: Vec<PossibleBinding>,
}

fn replaced(layer: ObjectSource) -> Added {
    match layer {
        ObjectSource::Baseline | ObjectSource::Dump(_) => Added::Taken,
        ObjectSource::Input(origin) => Added::Replaced(origin),
    }
}

/// Returns the labels of an object.
fn labels(object: NodeRef<'_>) -> impl Iterator<Item = (&str, &str)> {
    let entries = object.path(&["metadata", "labels"]).into_iter().flat_map(NodeRef::entries);
    entries.map(|(key, value)| (key.as_key(), absent::text(value.as_str())))
}

/// Returns the user name of a service account.
pub fn account_user(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

impl Role {
    /// Returns the selectors of an aggregated role.
    pub(crate) fn selectors(&self) -> impl Iterator<Item = &LabelSelector> {
        self.aggregation.iter().flatten()
    }
}

/// Returns the namespace of an object: `default` without one, as kubectl applies it.
pub(super) fn or_default(namespace: Option<&str>) -> &str {
    namespace.unwrap_or("default")
}

/// Returns the namespace in which a binding looks for a Role. A ClusterRoleBinding looks in the empty one, without
/// any roles.
pub(crate) fn namespace_of_role(binding: &Binding) -> Symbol {
    binding.namespace.unwrap_or(Symbol::EMPTY)
}

impl Binding {
    pub(super) fn subjects_in<'w>(&self, all: &'w [Subject]) -> &'w [Subject] {
        let start = self.first_subject as usize;
        internal::items(all, start..start + self.subjects as usize)
    }
}

impl World {
    /// Declares missing roles: others make them, and risk rules report no binding of them. Questions about such a binding
    /// have the answer `unknown` as before.
    pub fn declare_roles(&mut self, is_declared: impl Fn(RoleKind, &str) -> bool) {
        let missing =
            self.dangling().into_iter().map(|dangling| MissingRole { bound_by: String::new(), ..dangling.role });
        self.declared = missing.filter(|role| is_declared(role.kind, &role.name)).collect();
    }

    /// Whether the missing role of a binding is declared.
    pub(crate) fn is_declared(&self, binding: &Binding) -> bool {
        let role = || MissingRole { bound_by: String::new(), ..self.missing_role(binding) };
        !self.declared.is_empty() && self.declared.contains(&role())
    }

    /// Whether the labels of a Namespace limit its pods to the level `baseline` or `restricted`: they have no access
    /// to the node.
    pub fn restricts_pods(&self, namespace: &str) -> bool {
        let labels = self.namespaces.labels_of(namespace);
        let level = labels.and_then(|labels| labels.get("pod-security.kubernetes.io/enforce"));
        level.is_some_and(|level| matches!(level, "baseline" | "restricted"))
    }

    /// Resolves the bindings and makes the index.
    pub(super) fn from_parts(mut parts: Parts) -> Self {
        let ids = |keys: &mut dyn Iterator<Item = (Option<Symbol>, Symbol)>| keys.zip(0..).collect::<HashMap<_, u32>>();
        let role_ids = ids(&mut parts.roles.iter().map(|role| (role.namespace, role.name)));
        let binding_ids = ids(&mut parts.bindings.iter().map(|binding| (binding.namespace, binding.name)));
        for binding in &mut parts.bindings {
            let namespace = match binding.role_kind {
                RoleKind::ClusterRole => None,
                RoleKind::Role => Some(namespace_of_role(binding)),
                RoleKind::Unknown => continue,
            };
            binding.role = role_ids.get(&(namespace, binding.role_name)).copied();
        }
        let index = Index::from_parts(&mut parts);
        let gathering = aggregate::sources(&parts.roles, &parts.symbols).into_iter().map(|(target, mut sources)| {
            sources.sort_unstable();
            (internal::number(target), Gathering { sources, by_rule: OnceLock::new() })
        });
        let gathering = gathering.collect();
        parts.symbols.shrink();
        parts.namespaces.shrink();
        let mut api = Api::new(parts.minor);
        api.extend(&parts.custom);
        Self {
            api,
            symbols: parts.symbols,
            lists: parts.lists,
            roles: parts.roles,
            role_ids,
            bindings: parts.bindings,
            binding_ids,
            subjects: parts.subjects,
            index,
            namespaces: parts.namespaces,
            custom: parts.custom,
            baseline: parts.baseline,
            clouds: parts.clouds,
            running: parts.running,
            doubts: parts.doubts,
            possible: parts.possible,
            gathering,
            declared: BTreeSet::new(),
        }
    }

    /// Returns the rules of an aggregated role, each with the number of the first role with it.
    pub(super) fn gathered(&self, role: &Role) -> Option<&HashMap<InternedRule, usize>> {
        let gathering = self.gathering.get(self.role_ids.get(&(role.namespace, role.name))?)?;
        Some(gathering.by_rule.get_or_init(|| {
            let mut by_rule = HashMap::new();
            for &source in &gathering.sources {
                for rule in self.roles.get(source).into_iter().flat_map(|source| self.rules_of(source)) {
                    by_rule.entry(rule.clone()).or_insert(source);
                }
            }
            by_rule
        }))
    }

    /// Returns the minor of the API server.
    pub fn minor(&self) -> u32 {
        self.api.minor()
    }

    /// Returns the served resources: of the minor, and custom resources with a definition among the objects.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Returns the minor of the default policy in the baseline.
    pub fn baseline(&self) -> Option<u32> {
        self.baseline
    }

    /// Returns the minor of the default objects: of the baseline, or of the API server without one.
    pub(crate) fn minor_of_defaults(&self) -> u32 {
        self.baseline().unwrap_or_else(|| self.minor())
    }

    /// Returns the uncertain results of the aggregation.
    pub fn doubts(&self) -> &Doubts {
        &self.doubts
    }

    /// Returns the namespaces with their labels, in the order of names.
    pub fn namespaces(&self) -> Vec<(&str, WorldLabels<'_>)> {
        self.namespaces.sorted()
    }

    /// Returns the namespaces as data, for a file.
    pub(super) fn saved_namespaces(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        BTreeMap::from(&self.namespaces)
    }

    /// Iterates over the names of the namespaces, in no order.
    pub(crate) fn namespace_names(&self) -> impl Iterator<Item = &str> {
        self.namespaces.names()
    }

    /// Returns every namespace of the objects and of every cluster; sorted.
    pub fn known_namespaces(&self) -> BTreeSet<String> {
        let of_bindings = self.bindings.iter().filter_map(|binding| binding.namespace);
        let of_roles = self.roles.iter().filter_map(|role| role.namespace);
        let named = of_bindings.chain(of_roles).collect::<HashSet<Symbol>>();
        let everywhere = ["default", "kube-node-lease", "kube-public", "kube-system"].map(str::to_owned);
        let named = named.into_iter().map(|symbol| self.symbols.text(symbol).to_owned());
        named.chain(self.namespace_names().map(str::to_owned)).chain(everywhere).collect()
    }

    /// Returns the subjects of a binding.
    pub(crate) fn subjects(&self, binding: &Binding) -> &[Subject] {
        binding.subjects_in(&self.subjects)
    }

    /// Iterates over the distinct lists of rules of the roles.
    pub fn rule_list_ids(&self) -> impl Iterator<Item = RuleListId> {
        self.lists.ids()
    }

    /// Returns the bindings of a holder, cluster-wide or in a namespace.
    pub(crate) fn bound_rules(&self, holder: Holder, namespace: Option<Symbol>) -> &[BoundRules] {
        self.index.bound_rules(holder, namespace, &self.symbols)
    }

    pub(crate) fn binding(&self, id: u32) -> Option<&Binding> {
        self.bindings.get(id as usize)
    }

    /// Returns the role of a binding, if it is present.
    pub(crate) fn role_of(&self, binding: &Binding) -> Option<&Role> {
        binding.role.and_then(|role| self.roles.get(role as usize))
    }

    /// Returns a role by its namespace (none: a ClusterRole) and name.
    pub(crate) fn role(&self, namespace: Option<&str>, name: &str) -> Option<&Role> {
        let namespace = namespace.map(|namespace| self.symbols.find(namespace));
        let id = self.role_ids.get(&(namespace, self.symbols.find(name)))?;
        self.roles.get(*id as usize)
    }

    /// Returns a binding by its namespace (none: a ClusterRoleBinding) and name.
    pub(crate) fn find_binding(&self, namespace: Option<&str>, name: &str) -> Option<&Binding> {
        let namespace = namespace.map(|namespace| self.symbols.find(namespace));
        let id = self.binding_ids.get(&(namespace, self.symbols.find(name)))?;
        self.bindings.get(*id as usize)
    }

    pub(crate) fn rules_of(&self, role: &Role) -> &[InternedRule] {
        self.lists.get(role.rules)
    }

    /// Returns the rules of a role as text; none without the role.
    pub fn policy_rules(&self, namespace: Option<&str>, name: &str) -> Option<Vec<PolicyRule>> {
        let role = self.role(namespace, name)?;
        Some(self.rules_of(role).iter().map(|rule| rule.to_policy_rule(&self.symbols)).collect())
    }

    /// Returns the ClusterRoles with an aggregation rule, with the gathered rules, by name.
    pub fn aggregated(&self) -> BTreeMap<String, Vec<PolicyRule>> {
        let gathering = self.roles.iter().filter(|role| role.aggregation.is_some());
        gathering
            .map(|role| {
                let rules = self.rules_of(role).iter().map(|rule| rule.to_policy_rule(&self.symbols));
                (self.symbols.text(role.name).to_owned(), rules.collect())
            })
            .collect()
    }

    /// Returns the size of the world.
    pub fn size(&self) -> Size {
        Size {
            roles: self.roles.len(),
            rule_lists: self.lists.len(),
            bindings: self.bindings.len(),
            holders: self.index.places().count(),
            bytes: self.symbols.bytes()
                + self.lists.bytes()
                + self.roles.capacity() * size_of::<Role>()
                + self.bindings.capacity() * size_of::<Binding>()
                + self.subjects.capacity() * size_of::<Subject>()
                + (self.role_ids.capacity() + self.binding_ids.capacity()) * (12 + 4 + 1)
                + self.index.bytes(),
        }
    }
}

/// The size of a [`World`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Roles and ClusterRoles.
    pub roles: usize,
    /// Distinct lists of rules among them.
    pub rule_lists: usize,
    /// Bindings of both kinds.
    pub bindings: usize,
    /// Pairs of a subject and a scope with a binding.
    pub holders: usize,
    /// Memory in bytes.
    pub bytes: usize,
}

#[cfg(test)]
impl World {
    /// Returns the world of YAML documents on Kubernetes 1.36, without the default policy.
    pub(crate) fn from_text(text: &str) -> Self {
        let (files, mut sink) = (bailiwick_yaml::diag::Files::new(), bailiwick_yaml::diag::Sink::new());
        let tree = bailiwick_yaml::read(text, files.add("objects.yaml", text), &mut sink);
        let mut builder = Builder::new(36);
        for object in tree.documents() {
            _ = builder.add(object, ObjectSource::Baseline);
        }
        builder.build()
    }
}
