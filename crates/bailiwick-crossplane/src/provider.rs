//! The RBAC manager, successor of the Stack Manager: roles of providers and of composite resources
//! (`internal/controller/rbac` of Crossplane v1.14 and v2.3).

use super::image::{Reader, same_organisation};
use super::object::{ObjectLabels, PackageObject, ServiceAccountName, rule, words};
use super::revision::ManagerRevision;
use bailiwick_kubernetes::rbac::PolicyRule;

/// An installed provider.
#[derive(Debug, Clone)]
pub struct Provider {
    /// The name of the ProviderRevision, part of the names of the roles.
    pub revision_name: String,
    /// The names of its definitions.
    pub definitions: Vec<String>,
    /// The accounts of its controllers.
    pub accounts: Vec<ServiceAccountName>,
    /// The declared capabilities, such as `safe-start`.
    pub capabilities: Vec<String>,
    /// Requests beyond its definitions; Crossplane v1 alone.
    pub permission_requests: Vec<PolicyRule>,
}

/// A composite resource with its claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composite {
    /// The name of the CompositeResourceDefinition.
    pub name: String,
    /// Its API group.
    pub group: String,
    /// Plural name of the composites.
    pub plural: String,
    /// Plural name of the claims, if any.
    pub claim_plural: Option<String>,
}

const READ: [&str; 3] = ["get", "list", "watch"];

/// All verbs of a controller except `delete`: it removes the external resource and its finalizer.
const RECONCILE: [&str; 6] = ["get", "list", "watch", "update", "patch", "create"];

impl Provider {
    /// Returns the roles and the binding of its controllers; none for a provider without definitions. `family` are the
    /// usable definitions of other members.
    pub fn objects(&self, revision: ManagerRevision, family: &[String]) -> Vec<PackageObject> {
        let mut resources: Vec<(&str, &str)> =
            self.definitions.iter().chain(family).filter_map(|name| name.split_once('.')).collect();
        if resources.is_empty() {
            return Vec::new();
        }
        resources.sort_by_cached_key(|(plural, group)| format!("{plural}{group}"));
        // By group, in the order of the first occurrence.
        let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
        for (plural, group) in resources {
            let both = [plural.to_owned(), format!("{plural}/status")];
            match groups.iter_mut().find(|(known, _)| *known == group) {
                Some((_, known)) => known.extend(both),
                None => groups.push((group, both.into())),
            }
        }
        let rules = |verbs: &[&str]| -> Vec<PolicyRule> {
            groups.iter().map(|(group, resources)| rule(&[group], resources.clone(), words(verbs))).collect()
        };
        let mut system = rules(&RECONCILE);
        let names: Vec<&str> = groups.iter().map(|(group, _)| *group).collect();
        system.push(rule(&names, words(&["*/finalizers"]), words(&["update"])));
        system.push(rule(
            &["", "coordination.k8s.io"],
            words(&["secrets", "configmaps", "events", "leases"]),
            words(&["*"]),
        ));
        if revision == ManagerRevision::RbacManagerV1 {
            system.extend(self.permission_requests.iter().cloned());
        } else if self.capabilities.iter().any(|capability| is_safe_start(capability)) {
            system.push(rule(&["apiextensions.k8s.io"], words(&["customresourcedefinitions"]), words(&READ)));
        }
        let name = |suffix: &str| format!("crossplane:provider:{}:{suffix}", self.revision_name);
        let system_label = ObjectLabels::from([("rbac.crossplane.io/system".to_owned(), self.revision_name.clone())]);
        vec![
            PackageObject::role(None, name("aggregate-to-edit"), rules(&["*"])).labelled(aggregated_to(&[
                "crossplane",
                "admin",
                "edit",
            ])),
            PackageObject::role(None, name("aggregate-to-view"), rules(&READ)).labelled(aggregated_to(&["view"])),
            PackageObject::role(None, name("system"), system).labelled(system_label),
            PackageObject::binding(None, name("system"), "ClusterRole", name("system"), self.accounts.clone()),
        ]
    }
}

/// Whether a provider counts another one to its family: both have the same family label and the same organisation,
/// since labels are free for every author.
pub fn is_family(revision: ManagerRevision, image: Option<&str>, other: Option<&str>) -> bool {
    let reader = if revision == ManagerRevision::RbacManagerV1 { Reader::V1 } else { Reader::V2 };
    matches!((image, other), (Some(image), Some(other)) if same_organisation(image, other, reader))
}

/// Capabilities are compared by their letters and digits alone (`CapabilitiesContainFuzzyMatch`).
fn is_safe_start(capability: &str) -> bool {
    let letters = capability.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
    letters.eq("safestart".chars())
}

impl Composite {
    /// Returns the roles: for Crossplane itself, to edit, to view, to browse.
    pub fn objects(&self, revision: ManagerRevision) -> Vec<PackageObject> {
        let is_old = revision == ManagerRevision::RbacManagerV1;
        let rule = |plural: &str, suffixes: &[&str], verbs: &[&str]| {
            let resources = suffixes.iter().map(|suffix| format!("{plural}{suffix}")).collect();
            rule(&[&self.group], resources, words(verbs))
        };
        let both = ["", "/status"];
        let for_people: &[&str] = if is_old { &[""] } else { &both };
        let plurals = || std::iter::once(&self.plural).chain(&self.claim_plural);
        let system = plurals()
            .flat_map(|plural| [rule(plural, &both, &["*"]), rule(plural, &["/finalizers"], &["update"])])
            .collect();
        let people = |verbs: &[&str]| plurals().map(|plural| rule(plural, for_people, verbs)).collect();
        let name = |suffix: &str| format!("crossplane:composite:{}:aggregate-to-{suffix}", self.name);
        let labelled = |personas: &[&str]| {
            let mut labels = aggregated_to(personas);
            if is_old {
                labels.insert("rbac.crossplane.io/xrd".to_owned(), self.name.clone());
            }
            labels
        };
        vec![
            PackageObject::role(None, name("crossplane"), system).labelled(aggregated_to(&["crossplane"])),
            PackageObject::role(None, name("edit"), people(&["*"]))
                .labelled(labelled(&["admin", "ns-admin", "edit", "ns-edit"])),
            PackageObject::role(None, name("view"), people(&READ)).labelled(labelled(&["view", "ns-view"])),
            PackageObject::role(None, name("browse"), vec![rule(&self.plural, for_people, &READ)])
                .labelled(labelled(&["browse"])),
        ]
    }
}

fn aggregated_to(personas: &[&str]) -> ObjectLabels {
    let label = |persona: &&str| (format!("rbac.crossplane.io/aggregate-to-{persona}"), "true".to_owned());
    personas.iter().map(label).collect()
}
