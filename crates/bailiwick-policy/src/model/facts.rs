//! Facts that policies register for other policies and for the analysis of the workspace.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_crossplane::object;
use bailiwick_crossplane::provider::Provider;
use bailiwick_crossplane::stack::Stack;
use bailiwick_yaml::diag::Origin;
use bailiwick_yaml::{NodeRef, Spanned, Tree};
use hashbrown::HashMap;

use super::{
    AccessCheck, Accounts, ApprovalRule, Date, MadeForAccounts, Mentions, ObjectId, PathCheck, PermissionSet,
    PodSecurityProfile, PolicyMeta, ProfileAccounts, TypeMeta,
};

/// A fact about some targets.
pub trait Fact: Any + Send + Sync {
    /// Whether the fact applies to a target.
    fn applies_to(&self, target: &str) -> bool;
}

/// The facts of the linked policies, by type. The facts of a type are in the order of linking.
#[derive(Default)]
pub struct PolicyFacts {
    by_type: BTreeMap<TypeId, Vec<Box<dyn Any + Send + Sync>>>,
}

impl PolicyFacts {
    /// Registers a fact.
    pub fn push<F: Fact>(&mut self, fact: F) {
        self.by_type.entry(TypeId::of::<F>()).or_default().push(Box::new(fact));
    }

    /// Iterates over the facts of a type.
    pub fn all<F: Fact>(&self) -> impl Iterator<Item = &F> {
        self.by_type.get(&TypeId::of::<F>()).into_iter().flatten().filter_map(|fact| fact.downcast_ref())
    }

    /// Iterates over the facts of a type, to change them.
    pub fn all_mut<F: Fact>(&mut self) -> impl Iterator<Item = &mut F> {
        self.by_type.get_mut(&TypeId::of::<F>()).into_iter().flatten().filter_map(|fact| fact.downcast_mut())
    }

    /// Iterates over the facts of a type that apply to a target.
    pub fn on<'f, F: Fact>(&'f self, target: &str) -> impl Iterator<Item = &'f F> {
        self.all().filter(move |fact: &&F| fact.applies_to(target))
    }

    /// Whether there is a fact of a type.
    pub fn has<F: Fact>(&self) -> bool {
        self.all::<F>().next().is_some()
    }
}

/// Implements [`Fact`] for types with the names of their targets in a field.
macro_rules! facts_with_targets {
    ($($fact:ty: $($field:ident).+;)+) => {
        $(impl crate::model::Fact for $fact {
            fn applies_to(&self, target: &str) -> bool {
                self.$($field).+.contains(target)
            }
        })+
    };
}

pub(super) use facts_with_targets;

facts_with_targets! {
    AccessCheck: meta.targets;
    PathCheck: meta.targets;
    ApprovalRule: policy.targets;
    Mentions: meta.targets;
    InstalledStack: targets;
    InstalledManager: targets;
    InstalledProvider: targets;
    Expiry: policy.targets;
    TenancyGrants: policy.targets;
    TermLimit: expiry.policy.targets;
    ExpandedSet: policy.targets;
    DeclaredProfile: policy.targets;
    NamespaceProfile: targets;
    UnreadAccounts: policy.targets;
    ExistingObjects: targets;
    AnalyzedManifest: targets;
    WrittenManifests: targets;
    WrittenNamespaces: targets;
    ForeignDocuments: policy.targets;
    GroupMembers: policy.targets;
}

impl Fact for MadeForAccounts {
    fn applies_to(&self, target: &str) -> bool {
        self.target == target
    }
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
    pub account: object::ServiceAccountName,
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

/// A policy with an expiry date.
#[derive(Debug, Clone)]
pub struct Expiry {
    /// The last day of its validity.
    pub until: Date,
    /// The location of the date.
    pub origin: Origin,
    /// The policy that expires.
    pub policy: PolicyMeta,
    /// The grant of a Tenancy; none for the policy as a whole.
    pub grant: Option<TenancyGrant>,
}

/// A limit of the workspace for the last day of a grant.
#[derive(Debug, Clone)]
pub struct TermLimit {
    /// The grant with its last day.
    pub expiry: Expiry,
    /// The greatest number of days to the last day.
    pub max_days: u32,
    /// The location of the requirement.
    pub requirement: Origin,
}

/// A grant of a Tenancy, for every account or for one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TenancyGrant {
    /// The name of the grant, as written.
    pub name: String,
    /// The name of the account.
    pub account: Option<String>,
}

/// The grants of a Tenancy, with the accounts.
#[derive(Debug, Clone)]
pub struct TenancyGrants {
    /// Name, place and targets of the policy.
    pub policy: PolicyMeta,
    /// The names of the grants, as written.
    pub names: BTreeSet<String>,
    /// The accounts of the policy.
    pub accounts: Arc<Accounts>,
}

impl Expiry {
    /// Returns the grant in words, such as ``the Grant `readers` ``.
    pub fn words(&self) -> String {
        grant_words(&self.policy, self.grant.as_ref())
    }
}

/// Returns a grant in words: a grant of a Tenancy, or the policy as a whole.
pub fn grant_words(policy: &PolicyMeta, grant: Option<&TenancyGrant>) -> String {
    let PolicyMeta { kind, name, .. } = policy;
    match grant {
        Some(TenancyGrant { name: grant, account: Some(account) }) => {
            format!("the grant `{grant}` of `{account}` in the {kind} `{name}`")
        }
        Some(TenancyGrant { name: grant, account: None }) => format!("the grant `{grant}` of the {kind} `{name}`"),
        None => format!("the {kind} `{name}`"),
    }
}

impl TenancyGrants {
    /// Iterates over the names of the accounts.
    pub fn account_names(&self) -> impl Iterator<Item = String> {
        self.accounts.iter().filter_map(|account| {
            let mut name = String::new();
            account.get("name")?.write_text(&mut name);
            Some(name)
        })
    }
}

/// A permission set that names what a target serves, in place of wildcards.
#[derive(Debug, Clone)]
pub struct ExpandedSet {
    /// The location of `expand`.
    pub origin: Origin,
    /// The permission set.
    pub policy: PolicyMeta,
    /// The least and the greatest number of resources in the role of a target.
    pub resources: (usize, usize),
}

impl ExpandedSet {
    /// Describes a set with `expand` at a place.
    pub fn new(set: &PermissionSet, origin: Origin, policy: PolicyMeta) -> Self {
        let least = set.resource_counts().min().map_or(0, |count| count);
        let greatest = set.resource_counts().max().map_or(0, |count| count);
        Self { origin, policy, resources: (least, greatest) }
    }
}

/// A pod security profile of a policy.
#[derive(Debug, Clone)]
pub struct DeclaredProfile {
    /// Its linked content.
    pub profile: Arc<PodSecurityProfile>,
    /// Its name, place and targets.
    pub policy: PolicyMeta,
}

/// The pod security profile of namespaces.
#[derive(Debug, Clone)]
pub struct NamespaceProfile {
    /// The location of the name of the namespaces.
    pub namespace: Origin,
    /// The name of the profile.
    pub profile: String,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
    /// The service accounts that it applies to.
    pub accounts: ProfileAccounts,
}

/// A policy with accounts that could not be read, so that the names of its tenants are incomplete.
#[derive(Debug, Clone)]
pub struct UnreadAccounts {
    /// The policy with the account list.
    pub policy: PolicyMeta,
}

/// Objects that exist in clusters without being compiled; bindings may refer to them.
#[derive(Debug, Clone)]
pub struct ExistingObjects {
    /// The identities of the objects.
    pub objects: Vec<ObjectId>,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// A manifest with objects that are in the cluster without being compiled, for the analysis of the whole workspace.
#[derive(Debug, Clone)]
pub struct AnalyzedManifest {
    /// The text with the objects.
    pub tree: Arc<Tree>,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

impl AnalyzedManifest {
    /// Iterates over the documents of the manifest.
    pub fn documents(&self) -> impl Iterator<Item = NodeRef<'_>> {
        self.tree.documents()
    }
}

/// The objects that a policy takes unchanged from manifests.
#[derive(Debug, Clone)]
pub struct WrittenManifests {
    /// The number of objects of each type.
    pub counts: HashMap<TypeMeta, usize>,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// The Namespaces that a policy takes unchanged from manifests.
#[derive(Debug, Clone)]
pub struct WrittenNamespaces {
    /// The locations of the objects.
    pub origins: BTreeSet<Origin>,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// The users of a group, as a policy or a manifest lists them.
#[derive(Debug, Clone)]
pub struct GroupMembers {
    /// The name of the group.
    pub group: String,
    /// The location of the group.
    pub origin: Origin,
    /// The names of the users.
    pub users: Vec<Spanned<String>>,
    /// Name, location and targets of the policy.
    pub policy: PolicyMeta,
}

/// Documents of other files that a policy brings in. A warning that the policy accepts is accepted there, too.
#[derive(Debug, Clone)]
pub struct ForeignDocuments {
    /// The locations of the documents.
    pub origins: Vec<Origin>,
    /// The policy that brings them in.
    pub policy: PolicyMeta,
}
