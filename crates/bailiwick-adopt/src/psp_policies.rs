//! Existing cluster objects as policies: PodSecurityPolicies as PodSecurityProfiles, and namespaces as NamespaceSets
//! and Tenancies that enforce them.
//!
//! The migration is outside the pipeline: it converts objects to policies. The documents are data until [`text`] writes
//! them. Roles and bindings are left out, since profiles need no permission to use them; [`superfluous`] lists the
//! removable ones.

mod constraints;
pub mod patches;
mod profile;
pub mod stages;
pub mod superfluous;
mod tenants;

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_admission::level::Level;
use bailiwick_admission::psp::PodSecurityPolicy;
use bailiwick_admission::psp::plan::{LevelChoice, NamespacePlan, Plan};
use bailiwick_admission::standards::labels::PodSecurityMode;
use bailiwick_yaml as yaml;
use serde_json::{Map, Value, json};

use self::patches::WorkloadPatches;
use self::stages::FinalCluster;
pub use constraints::ConstraintRules;
use constraints::PolicyUses;
pub use tenants::TenancyAccounts;
use tenants::TenantLevel;

/// The metadata of a Namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namespace {
    /// Labels of the object, by key.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the object, by key.
    pub annotations: BTreeMap<String, String>,
}

/// Policies for the objects of a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Policies {
    /// The name of a file, and the documents in it.
    pub files: Vec<(&'static str, Vec<Value>)>,
    /// The namespaces as tenants.
    pub tenancies: Vec<TenancyAccounts>,
    /// The place among these by PodSecurityPolicy.
    by_policy: BTreeMap<String, usize>,
    /// The names of the profiles.
    names: ProfileNames,
    /// The Pod Security level of each namespace.
    levels: BTreeMap<String, Level>,
    /// The fields of each profile with a limit that constraints have no field for; empty for Kubernetes.
    beside_constraints: BTreeMap<String, Vec<&'static str>>,
}

impl Policies {
    /// Returns the tenants of a PodSecurityPolicy.
    pub fn tenants_of(&self, policy: &str) -> Option<&TenancyAccounts> {
        self.by_policy.get(policy).and_then(|place| self.tenancies.get(*place))
    }

    /// Returns the files of a plan, by their paths in its folder: a workspace with these policies and one target for each stage, and
    /// the patches of each namespace.
    pub fn plan_files(&self, patches: &WorkloadPatches, to: FinalCluster) -> Vec<(String, String)> {
        let mut files = vec![("bailiwick.yaml".to_owned(), text(&[stages::workspace(to)]))];
        files.extend(self.files.iter().map(|(name, documents)| (format!("policies/{name}"), text(documents))));
        let patches = patches.by_namespace.iter();
        files.extend(patches.map(|(namespace, patches)| (format!("patches/{namespace}.yaml"), text(patches))));
        files
    }

    /// Iterates over the profiles with limits that constraints have no field for, with the fields.
    pub fn beside_constraints(&self) -> impl Iterator<Item = (&str, &[&'static str])> {
        self.beside_constraints.iter().map(|(profile, fields)| (profile.as_str(), fields.as_slice()))
    }

    /// Returns the Pod Security level of a namespace of the plan.
    pub fn level_of(&self, namespace: &str) -> Option<Level> {
        self.levels.get(namespace).copied()
    }

    /// Returns the name of the profile that replaces a PodSecurityPolicy.
    pub fn profile_of<'p>(&'p self, policy: &'p str) -> &'p str {
        match self.tenants_of(policy) {
            Some(tenants) => &tenants.profile,
            None => self.names.of_namespace(policy),
        }
    }

    /// Returns the name of the profile that replaces a PodSecurityPolicy for single service accounts.
    pub fn account_profile_of<'p>(&'p self, policy: &'p str) -> &'p str {
        self.names.of_account(policy)
    }
}

/// The names of profiles that differ from the names of their PodSecurityPolicies, by policy.
#[derive(Debug, Clone, Default, PartialEq)]
struct ProfileNames {
    renamed: BTreeMap<String, String>,
    /// The names of second profiles, for single service accounts.
    second: BTreeMap<String, String>,
}

impl ProfileNames {
    fn of_namespace<'n>(&'n self, policy: &'n str) -> &'n str {
        self.renamed.get(policy).map_or(policy, String::as_str)
    }

    fn of_account<'n>(&'n self, policy: &'n str) -> &'n str {
        self.second.get(policy).map_or_else(|| self.of_namespace(policy), String::as_str)
    }
}

/// Labels and annotations reserved for the server or kubectl.
const KEPT_BY_OTHERS: [&str; 2] = ["kubernetes.io/metadata.name", "kubectl.kubernetes.io/last-applied-configuration"];

/// The longest name of a profile in the value of a label.
const LONGEST_NAME: usize = 63;

/// The longest name of a profile of single service accounts: it is a part of the key of a label.
const LONGEST_NAME_OF_ACCOUNTS: usize = 42;

/// The start of the labels of Pod Security.
const POD_SECURITY: &str = "pod-security.kubernetes.io/";

/// Builds the policies of a plan. The levels of namespaces follow from `choice`, and the profiles fit the cluster of `rules`.
pub fn policies(
    plan: &Plan,
    policies: &[PodSecurityPolicy],
    namespaces: &BTreeMap<String, Namespace>,
    choice: LevelChoice,
    rules: ConstraintRules<'_>,
) -> Policies {
    let names: BTreeSet<&str> =
        plan.policies.iter().filter(|policy| policy.is_needed).map(|policy| policy.name.as_str()).collect();
    let needed = policies.iter().filter(|policy| names.contains(policy.name()));
    let inputs = Inputs {
        plan,
        needed: needed.map(|policy| (policy.name(), policy)).collect(),
        declared: namespaces,
        nothing: Namespace::default(),
        choice,
        rules,
    };
    let mut taken: BTreeSet<String> = names.union(&rules.reserved()).map(|name| (*name).to_owned()).collect();
    let groups = tenants::collapse(inputs.candidates(), &mut taken);
    let uses = PolicyUses::new(plan);
    let names = inputs.names(&uses, &mut taken);
    let mut levels: BTreeMap<String, Level> =
        plan.namespaces.iter().map(|namespace| (namespace.name.clone(), inputs.level(namespace))).collect();
    for group in &groups {
        levels.extend(group.tenants.namespaces.iter().map(|name| (name.clone(), group.level)));
    }
    let profiles = inputs.profiles(&groups, &uses, &names);
    let beside_constraints = profiles.iter().filter_map(|profile| {
        let fields = rules.limits(profile.get("spec")?);
        let name = profile.pointer("/metadata/name")?.as_str()?;
        (!fields.is_empty()).then(|| (name.to_owned(), fields))
    });
    let beside_constraints = beside_constraints.collect();
    let files = inputs.files(&groups, profiles, &names);
    let tenancies: Vec<TenancyAccounts> = groups.into_iter().map(|group| group.tenants).collect();
    let places = tenancies.iter().enumerate();
    let by_policy = places.flat_map(|(place, tenants)| tenants.policies.iter().map(move |name| (name.clone(), place)));
    Policies { files, by_policy: by_policy.collect(), tenancies, names, levels, beside_constraints }
}

/// The inputs of the policies.
struct Inputs<'i> {
    plan: &'i Plan,
    /// The PodSecurityPolicies that become profiles, by name.
    needed: BTreeMap<&'i str, &'i PodSecurityPolicy>,
    /// The Namespaces.
    declared: &'i BTreeMap<String, Namespace>,
    /// The metadata of a namespace without a Namespace.
    nothing: Namespace,
    choice: LevelChoice,
    rules: ConstraintRules<'i>,
}

impl Inputs<'_> {
    /// Returns the Namespace of a plan.
    fn declared(&self, namespace: &NamespacePlan) -> &Namespace {
        match self.declared.get(&namespace.name) {
            Some(declared) => declared,
            None => &self.nothing,
        }
    }

    /// Returns the level for a namespace. Its own `enforce` label is not loosened.
    fn level(&self, namespace: &NamespacePlan) -> Level {
        let chosen = namespace.levels.chosen(self.choice);
        enforced_level(self.declared(namespace)).map_or(chosen, |own| own.min(chosen))
    }

    /// Returns the namespaces with a policy that no other namespace has.
    fn candidates(&self) -> Vec<tenants::Candidate> {
        let mut users: BTreeMap<&str, usize> = BTreeMap::new();
        for namespace in &self.plan.namespaces {
            let disputed = namespace.needs.disputed().iter().map(String::as_str);
            namespace.needs.all().chain(disputed).for_each(|policy| *users.entry(policy).or_default() += 1);
        }
        let reserved = self.rules.reserved();
        let single = self.plan.namespaces.iter().filter(|namespace| namespace.needs.accounts.is_empty());
        let candidates = single.filter_map(|namespace| {
            let policy = namespace.needs.common.policy().filter(|policy| users.get(policy) == Some(&1))?;
            // Each tenant has constraints with the name of its policy.
            let is_fit =
                !reserved.contains(policy) && self.rules.fits_tenants(&profile::spec(self.needed.get(policy)?));
            if !is_fit {
                return None;
            }
            let (declared, level) = (self.declared(namespace), self.level(namespace));
            let is_known = namespace.levels.observed.is_some() || enforced_level(declared).is_some();
            let of_tenant = if is_known { TenantLevel::Known(level) } else { TenantLevel::Otherwise(level) };
            let own = own_metadata(declared, level);
            tenants::Candidate::new(&namespace.name, own, of_tenant, self.needed.get(policy)?)
        });
        candidates.collect()
    }

    /// Returns the profiles.
    fn profiles(&self, groups: &[tenants::Group], uses: &PolicyUses<'_>, names: &ProfileNames) -> Vec<Value> {
        let tenants = groups.iter().map(|group| &group.tenants);
        let collapsed: BTreeSet<&str> = tenants.flat_map(|tenants| &tenants.policies).map(String::as_str).collect();
        let profile = |name: &str, policy: &PodSecurityPolicy, priority: i32| {
            let mut profile = document("PodSecurityProfile", name, profile::spec(policy));
            self.rules.add_priority(&mut profile, priority);
            profile
        };
        let own = self.needed.iter().filter(|(name, _)| !collapsed.contains(*name)).flat_map(|(name, policy)| {
            let first = profile(names.of_namespace(name), policy, uses.priority(name));
            let second = names.second.get(*name).map(|name| profile(name, policy, constraints::OF_ACCOUNTS));
            [Some(first), second].into_iter().flatten()
        });
        let of_groups = groups.iter().map(|group| {
            let mut profile = group.profile.clone();
            // No account of a tenant has a policy of its own.
            self.rules.add_priority(&mut profile, constraints::OF_NAMESPACES);
            profile
        });
        own.chain(of_groups).collect()
    }

    /// Returns the names of profiles whose policies have names that are too long or reserved, and of second profiles.
    fn names(&self, uses: &PolicyUses<'_>, taken: &mut BTreeSet<String>) -> ProfileNames {
        let reserved = self.rules.reserved();
        let mut names = ProfileNames::default();
        for policy in self.needed.keys().copied() {
            let longest = if uses.of_accounts.contains(policy) { LONGEST_NAME_OF_ACCOUNTS } else { LONGEST_NAME };
            if policy.len() > longest || reserved.contains(policy) {
                names.renamed.insert(policy.to_owned(), numbered(policy, longest, taken));
            }
        }
        if self.rules.to.release().is_some() {
            let second =
                uses.of_both().map(|policy| (policy.to_owned(), numbered(policy, LONGEST_NAME_OF_ACCOUNTS, taken)));
            names.second = second.collect();
        }
        names
    }

    /// Returns the files of the policies.
    fn files(
        &self,
        groups: &[tenants::Group],
        profiles: Vec<Value>,
        names: &ProfileNames,
    ) -> Vec<(&'static str, Vec<Value>)> {
        let tenants = groups.iter().map(|group| &group.tenants);
        let of_tenants: BTreeSet<&String> = tenants.flat_map(|tenants| &tenants.namespaces).collect();
        let others = self.plan.namespaces.iter().filter(|namespace| !of_tenants.contains(&namespace.name));
        let items: Vec<Value> = others
            .map(|namespace| {
                let level = self.level(namespace);
                let own = own_metadata(self.declared(namespace), level);
                item(&namespace.name, &own, pod_security(namespace, level, names))
            })
            .collect();
        let mut sets = Vec::new();
        if !items.is_empty() {
            sets.push(document("NamespaceSet", "namespaces", json!({ "namespaces": items })));
        }
        let tenancies = groups.iter().map(|group| group.tenancy.clone()).collect();
        let files = vec![("profiles.yaml", profiles), ("namespaces.yaml", sets), ("tenancies.yaml", tenancies)];
        files.into_iter().filter(|(_, documents)| !documents.is_empty()).collect()
    }
}

/// Returns the level that the `enforce` label of a Namespace sets.
pub fn enforced_level(namespace: &Namespace) -> Option<Level> {
    let label = namespace.labels.get(&PodSecurityMode::Enforce.label());
    label.map(|level| Level::parse_enforced(level))
}

/// Returns an unused name of at most so many letters: a name with a number.
fn numbered(name: &str, longest: usize, taken: &mut BTreeSet<String>) -> String {
    let mut number = 1;
    loop {
        let end = format!("-{number}");
        // Names of objects are ASCII.
        let start: String = name.chars().take(longest - end.len()).collect();
        let name = format!("{}{end}", start.trim_end_matches(['-', '.']));
        if taken.insert(name.clone()) {
            return name;
        }
        number += 1;
    }
}

/// Formats documents as the text of a file.
pub fn text(documents: &[Value]) -> String {
    let mut text = String::new();
    for document in documents {
        if !text.is_empty() {
            text.push_str("---\n");
        }
        let tree = yaml::from_json(document);
        if let Some(root) = tree.document(0) {
            yaml::write::document(root, &mut text);
        }
    }
    text
}

fn document(kind: &str, name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "bailiwick.dev/v1alpha1", "kind": kind, "metadata": { "name": name }, "spec": spec })
}

/// Returns the labels and annotations of a Namespace for its policy. Labels of Pod Security are left out, except the label that
/// enforces the level: the first stage removes nothing.
fn own_metadata(namespace: &Namespace, level: Level) -> Namespace {
    let keeps_level = enforced_level(namespace) == Some(level);
    let enforce = PodSecurityMode::Enforce;
    let is_own = |key: &String| {
        let is_of_level = key.starts_with(POD_SECURITY);
        let is_kept = keeps_level && (*key == enforce.label() || *key == enforce.version_label());
        !KEPT_BY_OTHERS.contains(&key.as_str()) && (!is_of_level || is_kept)
    };
    let own = |entries: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        entries.iter().filter(|(key, _)| is_own(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    Namespace { labels: own(&namespace.labels), annotations: own(&namespace.annotations) }
}

/// Builds the Pod Security settings of a namespace. A namespace whose pods no single policy admits has a level alone.
fn pod_security(namespace: &NamespacePlan, level: Level, names: &ProfileNames) -> Value {
    let mut settings = Map::new();
    if let Some(policy) = namespace.needs.common.policy() {
        settings.insert("profile".to_owned(), names.of_namespace(policy).into());
    }
    settings.insert("level".to_owned(), level.name().into());
    let mut by_profile: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for own in &namespace.needs.accounts {
        if let Some(policy) = own.need.policy() {
            by_profile.entry(names.of_account(policy)).or_default().push(&own.account);
        }
    }
    let accounts = by_profile.into_iter().map(|(profile, names)| json!({ "names": names, "profile": profile }));
    let accounts: Vec<Value> = accounts.collect();
    if !accounts.is_empty() {
        settings.insert("serviceAccounts".to_owned(), accounts.into());
    }
    Value::Object(settings)
}

fn item(name: &str, namespace: &Namespace, stance: Value) -> Value {
    let mut item = Map::new();
    item.insert("name".to_owned(), escaped(name).into());
    for (key, entries) in [("labels", &namespace.labels), ("annotations", &namespace.annotations)] {
        if !entries.is_empty() {
            let entries: Map<String, Value> =
                entries.iter().map(|(key, value)| (key.clone(), escaped(value).into())).collect();
            item.insert(key.to_owned(), entries.into());
        }
    }
    item.insert("podSecurity".to_owned(), stance);
    Value::Object(item)
}

/// Escapes braces, so that they start no variable.
fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
