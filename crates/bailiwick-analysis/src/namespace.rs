//! Explains the admission rules for the pods of a namespace.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::Identity;
use bailiwick_access::world::account_user;
use bailiwick_admission::labels::chain::Lift;
use bailiwick_admission::labels::declared::Settled;
use bailiwick_admission::labels::world::{SyncOutcome, SyncWorld};
use bailiwick_admission::level::Level;
use bailiwick_admission::psp::PodSecurityPolicy;
use bailiwick_admission::psp::mapping::{Reading, map};
use bailiwick_admission::psp::select::usable;
use bailiwick_admission::scc::release::Release;
use bailiwick_admission::standards::labels::PodSecurityLevels;
use bailiwick_compiler::compile;
use bailiwick_kubernetes::list;
use bailiwick_policy::model::{DeclaredProfile, Enforcement, PodSecurityProfile, Target};
use bailiwick_workspace::{Diagnostics, Error, Workspace};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Origin, Sink};

use super::loaded_world::{LoadedWorld, WorldOptions, WorldParts, each_object, load_target_seen};

/// A search for a namespace on a target.
pub struct NamespaceSearch {
    /// The diagnostics of the target.
    pub diagnostics: Diagnostics,
    /// The admission rules; none if the target has no such namespace.
    pub found: Option<NamespaceRules>,
    /// The names of the namespaces of the target.
    pub known: Vec<String>,
}

/// The admission rules for the pods of a namespace.
pub enum NamespaceRules {
    /// OpenShift computes the labels of the namespace.
    Synced(Box<SyncedRules>),
    /// PodSecurityPolicies decide.
    Policies {
        /// The position in a policy.
        place: Origin,
        /// The number of PodSecurityPolicies of the target.
        policies: usize,
        /// By service account of the namespace the policies that it may use, in the order in which admission tries them.
        accounts: Vec<(String, Vec<UsablePolicy>)>,
    },
    /// The labels of the namespace decide, and the admission policy of a profile.
    Levels {
        /// The position in a policy.
        place: Origin,
        /// The Pod Security levels.
        levels: PodSecurityLevels,
        /// The PodSecurityProfile.
        profile: Option<AppliedProfile>,
        /// The profiles of single service accounts, each with the accounts.
        by_account: Vec<(AppliedProfile, Vec<String>)>,
        /// Whether the target exempts the namespace from Pod Security admission.
        is_exempt: bool,
    },
}

/// A PodSecurityProfile of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedProfile {
    /// The name of the policy.
    pub name: String,
    /// The Pod Security level beside its admission policy.
    pub level: Option<Level>,
}

/// The labels that OpenShift computes for a namespace.
#[derive(Debug)]
pub struct SyncedRules {
    /// The release of OpenShift.
    pub release: Release,
    /// The computed levels, with their reason.
    pub outcome: SyncOutcome,
    /// The labels in the end.
    pub settled: Settled,
    /// The constraints that raise the level.
    pub lifts: Vec<Lift>,
}

/// A PodSecurityPolicy that a service account may use, with its Pod Security level by each reading of the documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsablePolicy {
    /// The name in the cluster.
    pub name: String,
    /// The level as clusters are run.
    pub practical: String,
    /// The level by the letter of the documentation.
    pub table: String,
    /// The level on nodes without SELinux.
    pub se_linux_ignored: String,
    /// The fields that decide the level as clusters are run.
    pub fields: Vec<String>,
}

/// Explains the admission rules for the pods of a namespace on a target.
///
/// # Errors
/// When the target cannot be compiled.
pub fn explain_namespace(workspace: &Workspace, target: &Target, name: &str) -> Result<NamespaceSearch, Error> {
    let mut sink = Sink::new();
    let labels = compile::labels(workspace.project(), target, workspace.compiler(), &mut sink)?;
    let Some(labels) = labels else { return explain_plain_namespace(workspace, target, name) };
    let diagnostics = workspace.diagnostics(sink).checked()?;
    let known: Vec<String> = labels.world().namespaces().map(str::to_owned).collect();
    let found = SyncedRules::new(labels.world(), name).map(|rules| NamespaceRules::Synced(Box::new(rules)));
    Ok(NamespaceSearch { diagnostics, found, known })
}

/// Returns the constraints of a target with an admission policy for further limits.
pub fn limited_constraints(workspace: &Workspace, target: &Target) -> Vec<String> {
    let declared = workspace.project().facts.on(&target.name).filter(|_| target.has_policies_beside_constraints());
    let limited = declared.filter(|declared: &&DeclaredProfile| declared.profile.is_limited_beside());
    limited.map(|declared| declared.profile.name().to_owned()).collect()
}

/// Explains a namespace whose labels no cluster computes.
fn explain_plain_namespace(workspace: &Workspace, target: &Target, name: &str) -> Result<NamespaceSearch, Error> {
    let mut objects = NamespaceObjects::new(name);
    let has_policies = target.enforcement() == Enforcement::PodSecurityPolicy;
    if has_policies {
        for document in workspace.project().analyzed_documents(target) {
            list::objects(document).into_iter().for_each(|object| objects.add_policy(object));
        }
    }
    let mut sink = Sink::new();
    let mut see = |object: NodeRef<'_>, place: Origin| {
        objects.add_namespace(object, place);
        objects.add_policy(object);
    };
    let loaded = if has_policies {
        load_target_seen(workspace, target, &WorldOptions::default(), WorldParts::seen_by(&mut see), &mut sink)?
    } else {
        each_object(workspace, target, &mut sink, &mut see)?;
        None
    };
    let diagnostics = workspace.diagnostics(sink).checked()?;
    let found = objects.namespace.take().map(|NamespaceMetadata { labels, annotations, place }| match &loaded {
        Some(loaded) => NamespaceRules::Policies {
            place,
            policies: objects.policies.len(),
            accounts: objects.usable_policies(loaded),
        },
        None => NamespaceRules::Levels {
            place,
            levels: target.pod_security.defaults.with_labels(&labels).0,
            profile: labels.get(PodSecurityProfile::LABEL).and_then(|own| applied_profile(workspace, target, own)),
            by_account: profiles_by_account(workspace, target, &annotations),
            is_exempt: target.pod_security.exemptions.has_namespace(name),
        },
    });
    Ok(NamespaceSearch { diagnostics, found, known: objects.known })
}

/// Returns a PodSecurityProfile, if the target has its admission policy.
fn applied_profile(workspace: &Workspace, target: &Target, name: &str) -> Option<AppliedProfile> {
    let mut declared = workspace.project().facts.on(&target.name);
    let found = declared.find(|declared: &&DeclaredProfile| declared.profile.name() == name)?;
    let is_enforced = target.enforcement() == Enforcement::AdmissionPolicy;
    is_enforced.then(|| AppliedProfile { name: name.to_owned(), level: found.profile.level() })
}

/// Returns the profiles of single service accounts of a namespace with these annotations, each with the accounts.
fn profiles_by_account(
    workspace: &Workspace,
    target: &Target,
    annotations: &BTreeMap<String, String>,
) -> Vec<(AppliedProfile, Vec<String>)> {
    let applied = PodSecurityProfile::of_accounts(annotations).filter_map(|(name, accounts)| {
        let accounts = accounts.into_iter().map(str::to_owned).collect();
        Some((applied_profile(workspace, target, name)?, accounts))
    });
    applied.collect()
}

/// The objects of a target that decide about the pods of a namespace.
struct NamespaceObjects<'n> {
    name: &'n str,
    /// The metadata of the namespace.
    namespace: Option<NamespaceMetadata>,
    /// The names of all namespaces.
    known: Vec<String>,
    /// The PodSecurityPolicies.
    policies: Vec<PodSecurityPolicy>,
    /// The service accounts of the namespace.
    accounts: BTreeSet<String>,
}

/// The labels and annotations of a namespace, with its place.
struct NamespaceMetadata {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    place: Origin,
}

impl<'n> NamespaceObjects<'n> {
    fn new(name: &'n str) -> Self {
        let accounts = BTreeSet::from(["default".to_owned()]);
        Self { name, namespace: None, known: Vec::new(), policies: Vec::new(), accounts }
    }

    fn add_namespace(&mut self, object: NodeRef<'_>, place: Origin) {
        if text_at(object, &["kind"]) != "Namespace" {
            return;
        }
        let name = text_at(object, &["metadata", "name"]);
        self.known.push(name.to_owned());
        if name == self.name {
            let texts = |field: &str| -> BTreeMap<String, String> {
                let entries = object.path(&["metadata", field]).into_iter().flat_map(NodeRef::entries);
                entries
                    .filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value.as_str()?.to_owned())))
                    .collect()
            };
            let (labels, annotations) = (texts("labels"), texts("annotations"));
            self.namespace = Some(NamespaceMetadata { labels, annotations, place });
        }
    }

    fn add_policy(&mut self, object: NodeRef<'_>) {
        match text_at(object, &["kind"]) {
            "PodSecurityPolicy" => self.policies.extend(PodSecurityPolicy::read(object)),
            "ServiceAccount" if text_at(object, &["metadata", "namespace"]) == self.name => {
                self.accounts.insert(text_at(object, &["metadata", "name"]).to_owned());
            }
            _ => {}
        }
    }

    /// Returns the policies that each service account may use, in the order in which admission tries them.
    fn usable_policies(&self, loaded: &LoadedWorld) -> Vec<(String, Vec<UsablePolicy>)> {
        let policies_of = |account: &String| {
            let who = Identity::from_user(&account_user(self.name, account));
            let policies = usable(&loaded.world, &who, self.name, &self.policies);
            (account.clone(), policies.into_iter().map(UsablePolicy::new).collect())
        };
        self.accounts.iter().map(policies_of).collect()
    }
}

impl SyncedRules {
    /// Returns the labels of a namespace; none for a namespace that is not there.
    fn new(world: &SyncWorld, name: &str) -> Option<Self> {
        Some(Self {
            release: world.settings().release,
            outcome: world.outcome(name)?,
            settled: world.settled(name)?,
            lifts: world.lifts(name).into_iter().flatten().collect(),
        })
    }
}

impl UsablePolicy {
    fn new(policy: &PodSecurityPolicy) -> Self {
        let [practical, table, ignored] = Reading::ALL.map(|reading| map(policy, reading));
        Self {
            name: policy.name().to_owned(),
            practical: practical.level.name().to_owned(),
            table: table.level.name().to_owned(),
            se_linux_ignored: ignored.level.name().to_owned(),
            fields: practical.deciding().map(|field| field.field.to_owned()).collect(),
        }
    }
}

fn text_at<'o>(object: NodeRef<'o>, keys: &[&str]) -> &'o str {
    object.path(keys).and_then(NodeRef::as_str).unwrap_or_default()
}
