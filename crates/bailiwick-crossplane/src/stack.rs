//! The objects of one stack, by revision (`pkg/stacks/unpack.go` and `pkg/controller/stacks/stack` of Crossplane
//! v0.9).

use crate::codes;
use bailiwick_kubernetes::absent;
use std::sync::Arc;

use super::install::Install;
use super::names::{Dots, LABEL, cut, owner_label};
use super::object::{ObjectLabels, PackageObject, rule, words};
use super::package::{CORE_RESOURCES, Package, StackScope};
use super::revision::{ManagerRevision, Verbs};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::diag::{Diagnostic, Sink};

/// An installed package.
#[derive(Debug, Clone)]
pub struct Stack {
    /// Its contents and requests.
    pub package: Arc<Package>,
    /// The namespace and the name.
    pub install: Install,
    /// The rules for it.
    pub revision: ManagerRevision,
    /// The verbs of full access.
    pub verbs: Verbs,
}

/// The permissions of people on a stack's own definitions.
const PERSONAS: [(&str, &[&str]); 3] = [("admin", WRITE), ("edit", WRITE), ("view", &["get", "list", "watch"])];

const WRITE: &[&str] = &["get", "list", "watch", "create", "delete", "deletecollection", "patch", "update"];

/// How the two names of the manager call things.
struct Vocabulary {
    /// Prefix of the names of its roles.
    role: &'static str,
    group: &'static str,
    kind: &'static str,
    manager: &'static str,
    /// The requests for a namespace and for the cluster.
    installs: [&'static str; 2],
    /// Prefix of the label of an owner.
    owner: &'static str,
    dots: Dots,
    /// Further subresources of its own definitions for a controller, declared or not: `finalizers` is needed to set an
    /// owner with blocked deletion.
    further: &'static [&'static str],
}

const STACKS: Vocabulary = Vocabulary {
    role: "stack",
    group: "stacks.crossplane.io",
    kind: "Stack",
    manager: "stack-manager",
    installs: ["StackInstall", "ClusterStackInstall"],
    owner: "parent.stacks.crossplane.io/",
    dots: Dots::Kept,
    further: &[],
};

const PACKAGES: Vocabulary = Vocabulary {
    role: "package",
    group: "packages.crossplane.io",
    kind: "Package",
    manager: "package-manager",
    installs: ["PackageInstall", "ClusterPackageInstall"],
    owner: "parent.packages.crossplane.io/",
    dots: Dots::Trimmed,
    further: &["finalizers"],
};

impl Stack {
    /// Whether it works in the whole cluster.
    pub fn is_cluster(&self) -> bool {
        self.package.scope == StackScope::Cluster
    }

    /// Rejects an install with a conflict to the package or the revision.
    pub fn check(&self, sink: &mut Sink) {
        let Self { package, install, .. } = self;
        if install.kind.is_cluster() != self.is_cluster() {
            let message =
                format!("a {} cannot install a package of scope `{}`", install.kind.name(), package.scope.name());
            let [namespaced, cluster] = self.vocabulary().installs;
            let wanted = if self.is_cluster() { cluster } else { namespaced };
            sink.push(
                Diagnostic::error(codes::SCOPE_MISMATCH, message)
                    .at(install.origin)
                    .and(package.scope_origin, "declared here")
                    .help(format!("request it as a {wanted}, with the permission for that kind")),
            );
        }
        // Their objects are outside every namespace, so a Role reaches none of them.
        let may_own_cluster_scoped = self.revision != ManagerRevision::Seed && self.is_cluster();
        for definition in package.definitions.iter().filter(|own| !own.is_namespaced && !may_own_cluster_scoped) {
            let help = match package.scope {
                StackScope::Cluster => {
                    "set `revision: \"1.1\"` to allow it to cluster stacks: revision 1.0 grants no cluster-scoped definition"
                }
                StackScope::Namespaced => {
                    "change the scope of the definition to `Namespaced`, or move it to a cluster stack"
                }
            };
            sink.push(
                Diagnostic::error(codes::CLUSTER_SCOPED_CRD, format!("`{}` is cluster-scoped", definition.name))
                    .at(definition.scope_origin)
                    .and(install.origin, "installed here")
                    .help(help),
            );
        }
        if self.revision.has_personas() && package.version.is_none() {
            sink.push(
                Diagnostic::error(
                    bailiwick_yaml::diag::codes::MISSING_FIELD,
                    "the package has no version, but the names of its roles contain it",
                )
                .at(package.scope_origin)
                .and(install.origin, "installed here")
                .help("add `version` to `app.yaml`, or `image` with a tag to the Stack"),
            );
        }
    }

    /// Returns the service account with its role and its binding, then the roles for people.
    pub fn objects(&self) -> Vec<PackageObject> {
        let install = &self.install;
        let account = install.account();
        let is_cluster = self.is_cluster();
        let own = Some(install.namespace.as_str()).filter(|_| !is_cluster);
        let mut objects = vec![PackageObject::account(&account)];
        if !self.revision.has_personas() {
            let kind = if is_cluster { "ClusterRole" } else { "Role" };
            objects.push(PackageObject::role(own, &install.name, self.rules()));
            objects.push(PackageObject::binding(own, &install.name, kind, &install.name, vec![account]));
            return objects;
        }
        let labels = self.parent_labels();
        let system = self.role_name("system");
        let binding = PackageObject::binding(own, &install.name, "ClusterRole", &system, vec![account]);
        objects.push(PackageObject::role(None, system, self.rules()).labelled(labels.clone()));
        // A RoleBinding belongs to the stack by its owner reference, and this needs a uid.
        objects.push(if is_cluster { binding.labelled(labels.clone()) } else { binding });
        for (persona, verbs) in PERSONAS {
            let mut labels = labels.clone();
            let scope = if is_cluster { "environment" } else { "namespace" };
            labels.insert(format!("rbac.crossplane.io/aggregate-to-{scope}-{persona}"), "true".to_owned());
            if !is_cluster {
                labels.insert(format!("namespace.crossplane.io/{}", install.namespace), "true".to_owned());
            }
            let owned = self.package.definitions.iter();
            let rules = owned.map(|own| rule(&[&own.group], own.resources(), words(verbs))).collect();
            objects.push(PackageObject::role(None, self.role_name(persona), rules).labelled(labels));
        }
        objects
    }

    /// Returns the rules of the stack's controller, in the order of the Stack Manager: the core kinds, its
    /// definitions, its dependencies.
    pub fn rules(&self) -> Vec<PolicyRule> {
        let mut rules = vec![rule(&[""], words(&CORE_RESOURCES), self.verbs.list())];
        let mut owned: Vec<_> = self.package.definitions.iter().collect();
        owned.sort_by_cached_key(|definition| std::cmp::Reverse(definition.order_key()));
        let further = self.vocabulary().further.iter();
        rules.extend(owned.iter().map(|own| {
            let mut resources = own.resources();
            resources.extend(further.clone().map(|name| format!("{}/{name}", own.plural)));
            rule(&[&own.group], resources, self.verbs.list())
        }));
        rules.extend(self.package.dependencies.iter().map(|wanted| wanted.rule(self.verbs.list())));
        rules
    }

    /// Returns the labels of its definitions; none before v0.9.
    pub fn definition_labels(&self) -> ObjectLabels {
        if !self.revision.has_personas() {
            return ObjectLabels::new();
        }
        let words = self.vocabulary();
        let scope = if self.is_cluster() { "environment" } else { "namespace" };
        let label = |key: String, value: &str| (key, value.to_owned());
        ObjectLabels::from([
            label("app.kubernetes.io/managed-by".to_owned(), words.manager),
            label("crossplane.io/scope".to_owned(), scope),
            label(format!("namespace.crossplane.io/{}", self.install.namespace), "true"),
            label(owner_label(words.owner, &self.install.namespace, &self.install.name, words.dots), "true"),
        ])
    }

    /// Returns the name of its ClusterRole for a persona, with the version.
    fn role_name(&self, whose: &str) -> String {
        let Install { namespace, name, .. } = &self.install;
        let version = absent::text(self.package.version.as_deref());
        format!("{}:{namespace}:{name}:{version}:{whose}", self.vocabulary().role)
    }

    /// Returns the labels on its objects for the manager; the uid is known to the cluster alone.
    fn parent_labels(&self) -> ObjectLabels {
        let words = self.vocabulary();
        let Install { namespace, name, .. } = &self.install;
        parent_labels([words.group, "v1alpha1", words.kind, namespace, name], words.dots)
    }

    fn vocabulary(&self) -> &'static Vocabulary {
        if self.revision == ManagerRevision::PackageManager { &PACKAGES } else { &STACKS }
    }
}

/// Returns the labels about the parent of an object: group, version, kind, namespace and name.
pub(super) fn parent_labels(parent: [&str; 5], dots: Dots) -> ObjectLabels {
    let keys = ["group", "version", "kind", "namespace", "name"];
    let label = |(key, value)| (format!("core.crossplane.io/parent-{key}"), cut(value, LABEL, dots));
    keys.into_iter().zip(parent).map(label).collect()
}
