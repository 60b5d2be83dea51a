//! Live objects beside the policies: expected objects of the cluster, objects near the policies, and all others.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::reconcile::AUTOUPDATE;
use bailiwick_access::request::{ACCOUNTS, AUTHENTICATED};
use bailiwick_kubernetes::{absent, default_policy, list, rbac};
use bailiwick_policy::model::{Platform, Target};
use bailiwick_workspace::Workspace;
use bailiwick_workspace::identity_key::IdentityKey;
use bailiwick_yaml::diag::{FileId, Sink};
use bailiwick_yaml::{self as yaml, NodeRef, Tree, write};

use super::fields::{self, DecidingKeys};
use super::live;
use super::wanted::WantedObjects;

/// The place of an unmanaged object in relation to the policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnmanagedScope {
    /// It is expected, or its kind is not watched.
    Expected,
    /// It is in a namespace of the policies, names one of their subjects, or adds rules to an aggregated role.
    Near,
    /// It has no relation to the policies.
    Elsewhere,
}

/// The namespaces of the cluster itself.
const SYSTEM_NAMESPACES: [&str; 3] = ["kube-node-lease", "kube-public", "kube-system"];

/// The service accounts of OpenShift in every namespace, beside `default`.
const OPENSHIFT_ACCOUNTS: [&str; 2] = ["builder", "deployer"];

/// The kinds watched on every target, beside the kinds of the policies.
const WATCHED: [(&str, &str); 10] = [
    (rbac::GROUP, "ClusterRole"),
    (rbac::GROUP, "ClusterRoleBinding"),
    (rbac::GROUP, "Role"),
    (rbac::GROUP, "RoleBinding"),
    ("", "ServiceAccount"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("security.openshift.io", "SecurityContextConstraints"),
];

/// The prefix of labels for adding the rules of a role to a default role.
const AGGREGATE: &str = "rbac.authorization.k8s.io/aggregate-to-";

/// The objects and names for the scope of unmanaged objects.
pub(super) struct Surroundings<'w> {
    pub(super) wanted: &'w WantedObjects,
    is_openshift: bool,
    watched: BTreeSet<(String, String)>,
    /// The objects of the cluster beside the policies, by identity: the default policy, the baseline and Manifests without
    /// output.
    expected: BTreeMap<IdentityKey, String>,
    /// The keys of labels in the selectors of these objects.
    selected: DecidingKeys,
    keys: DecidingKeys,
}

impl<'w> Surroundings<'w> {
    pub(super) fn new(workspace: &Workspace, target: &Target, wanted: &'w WantedObjects) -> Self {
        let mut watched = watched_kinds(target);
        watched.extend(wanted.kinds.iter().cloned());
        let (mut expected, mut selected) = (BTreeMap::new(), DecidingKeys::default());
        let mut add = |object: NodeRef<'_>| {
            let mut text = String::new();
            write::document(object, &mut text);
            expected.insert(IdentityKey::of(object), text);
            selected.add(object);
        };
        if target.baseline.is_none() {
            default_policy::objects(target.version.minor()).for_each(&mut add);
        }
        let baseline = workspace.project().baselines.get(&target.name).into_iter().flatten().flat_map(Tree::documents);
        let analyzed = workspace.project().analyzed_documents(target);
        baseline.chain(analyzed).flat_map(list::objects).for_each(&mut add);
        let is_openshift = target.platform == Platform::Openshift;
        Self { wanted, is_openshift, watched, expected, selected, keys: DecidingKeys::default() }
    }

    /// Whether objects of a kind are compared: the policies write some, or those beside the policies are watched.
    pub(super) fn watches(&self, group: &str, kind: &str) -> bool {
        self.watched.contains(&(group.to_owned(), kind.to_owned()))
    }

    /// Returns the scope of a live object beside the policies.
    pub(super) fn scope_of(&self, object: NodeRef<'_>, key: &IdentityKey) -> UnmanagedScope {
        let (group, kind) = key.kind();
        if !self.watched.contains(&(group.to_owned(), kind.to_owned())) {
            return UnmanagedScope::Expected;
        }
        if let Some(expected) = self.expected.get(key) {
            return if self.is_as_expected(expected, object) { UnmanagedScope::Expected } else { UnmanagedScope::Near };
        }
        let is_near = self.wanted.has_namespace(key.namespace()) || self.names_subject(object) || is_aggregated(object);
        match (is_near, self.is_of_platform(key)) {
            (_, true) if kind == "ServiceAccount" => UnmanagedScope::Expected,
            (true, _) => UnmanagedScope::Near,
            (false, true) => UnmanagedScope::Expected,
            (false, false) => UnmanagedScope::Elsewhere,
        }
    }

    /// Whether a label or an annotation that is no difference of a live role or binding can change its access: a selector below the
    /// output has the key, or the API server leaves the object as it is.
    pub(super) fn changes_access(&self, key: &str) -> bool {
        self.selected.decides(key) || key == AUTOUPDATE
    }

    /// Whether an expected object has the labels and annotations of the platform, and no further ones.
    pub(super) fn is_of_new_cluster(&self, object: NodeRef<'_>, key: &IdentityKey) -> bool {
        let Some(text) = self.expected.get(key) else { return false };
        let tree = yaml::read(text, FileId::default(), &mut Sink::new());
        let expected = tree.document(0);
        ["labels", "annotations"].iter().all(|section| {
            let known = expected.and_then(|expected| expected.path(&["metadata", section]));
            let mut entries = object.path(&["metadata", section]).into_iter().flat_map(NodeRef::entries);
            entries.all(|(key, value)| known.and_then(|known| known.get(key.as_key())?.as_str()) == value.as_str())
        })
    }

    /// Whether a live object grants what the expected one does. The server adds labels and annotations to its own objects.
    fn is_as_expected(&self, expected: &str, live: NodeRef<'_>) -> bool {
        let differences = fields::differences(expected, live, &self.keys);
        let is_of_access = |path: &str| {
            ["rules", "subjects", "roleRef", "aggregationRule"].iter().any(|field| path.starts_with(field))
                || path.starts_with("metadata.labels.rbac.authorization.k8s.io/aggregate-to-")
        };
        !differences.iter().any(|difference| is_of_access(&difference.path))
    }

    /// Whether a binding names a subject of the policies, a service account of one of their namespaces, or a group of these.
    fn names_subject(&self, object: NodeRef<'_>) -> bool {
        live::subjects(object).iter().any(|subject| {
            let group = absent::text(subject.strip_prefix("Group/"));
            let namespace = match subject.strip_prefix("ServiceAccount/") {
                Some(account) => account.split_once('/').map(|(namespace, _)| namespace),
                None => group.strip_prefix(ACCOUNTS).and_then(|rest| rest.strip_prefix(':')),
            };
            self.wanted.has_subject(subject)
                || matches!(group, ACCOUNTS | AUTHENTICATED)
                || namespace.is_some_and(|namespace| self.wanted.has_namespace(namespace))
        })
    }

    /// Whether the platform itself makes such objects.
    fn is_of_platform(&self, key: &IdentityKey) -> bool {
        let (_, kind) = key.kind();
        let namespace = key.namespace();
        let is_account = kind == "ServiceAccount"
            && (key.name() == "default" || (self.is_openshift && OPENSHIFT_ACCOUNTS.contains(&key.name())));
        let is_system = |namespace: &str| {
            SYSTEM_NAMESPACES.contains(&namespace)
                || (self.is_openshift && (namespace == "openshift" || namespace.starts_with("openshift-")))
        };
        let is_namespace = kind == "Namespace"
            && (key.name() == "default" || is_system(key.name()) || self.wanted.has_namespace(key.name()));
        is_account || is_namespace || (is_system(namespace) && !self.wanted.has_namespace(namespace))
    }
}

/// Returns the watched kinds of a target, with their groups: its platform and its version serve them.
pub(super) fn watched_kinds(target: &Target) -> BTreeSet<(String, String)> {
    let is_openshift = target.platform == Platform::Openshift;
    let api = target.version.api();
    let is_served = |group: &str, kind: &str| match group {
        "security.openshift.io" => is_openshift,
        _ => api.catalogue().served(target.version.minor()).any(|known| known.group == group && known.kind == kind),
    };
    let watched = WATCHED.iter().filter(|(group, kind)| is_served(group, kind));
    watched.map(|(group, kind)| ((*group).to_owned(), (*kind).to_owned())).collect()
}

/// Whether an object is a ClusterRole whose rules become rules of another role.
fn is_aggregated(object: NodeRef<'_>) -> bool {
    let labels = object.path(&["metadata", "labels"]).into_iter().flat_map(NodeRef::entries);
    object.text_at("kind") == "ClusterRole"
        && labels.into_iter().any(|(key, value)| key.as_key().starts_with(AGGREGATE) && value.as_str() == Some("true"))
}
